"""From a score table to findings: tests, intervals, agreement, discriminative power."""
