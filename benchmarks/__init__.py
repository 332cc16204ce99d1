"""Ratios of pgcjax to other ways of doing the same, measured side by side in one run.

`python -m benchmarks --help`; benchmarks/README.md says what each row means.
"""
