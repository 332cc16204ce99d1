"""Plain Python twins of the measures, written from the papers; slow on purpose.

They share no code with the kernels, read like the papers' pseudocode, and take lists
and dicts, so that you can check a score by hand.
"""
