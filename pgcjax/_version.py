"""The version, which every room may import."""

__version__ = "0.1.0"
