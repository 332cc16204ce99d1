"""All tests of judgments fit strengths in the same shapes."""

from helpers.fits import fits_alike

__all__ = ["fits_alike"]
