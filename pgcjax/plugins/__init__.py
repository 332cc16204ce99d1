"""Measures and readers as plug-ins of other packages; each needs its package."""
