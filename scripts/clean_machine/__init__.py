"""Runs every command that README and CONTRIBUTING name, as on a new machine."""
