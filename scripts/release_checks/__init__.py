"""Checks what is released: distributions, metadata, licences, dependencies."""
