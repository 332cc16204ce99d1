"""Seeded mistakes, each of which `verify=1` has to catch: `scripts/mutants`."""
