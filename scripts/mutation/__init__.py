"""Mutants by lot, and the share of them that the tests catch: `scripts/mutate`."""
