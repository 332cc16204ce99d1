"""Choices for arguments of statistics. Imports nothing.

The command line shows them in its help without loading a library.
"""

TESTS = ("max-t", "tukey", "bootstrap", "permutation", "t", "wilcoxon", "anova")
"""Tests of differences between runs."""

RESAMPLES = {"max-t": 2000, "tukey": 5000, "bootstrap": 1000, "permutation": 10_000}
"""Default numbers of resamples, by test, from Sakai 2012; sign flips cost least."""

CORRECTIONS = ("none", "holm", "bh")
"""Corrections of p for many tests: Holm; Benjamini and Hochberg."""

REPLICATED = ("centred", "basic", "percentile", "bc")
"""Intervals of means from replicates of the judgments; the first is the default."""

REPLICATED_SINGLY = REPLICATED[:3]
"""Intervals of single scores, which two percentiles and a mean determine."""

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Shares of the judgments at which their sufficiency is estimated."""

INCOMPLETE = ("error", "drop", "zero")
"""Treatments of a query that a run lacks: error, left out for all runs, or score 0."""

LACKING = ("shared", *INCOMPLETE)
"""Treatments with several measures. `shared` leaves out queries a measure lacks."""

EACH_LACKING = ("own", *LACKING)
"""Treatments if measures may differ in queries: `own` takes all that each has."""

RANK_INTERVALS = ("simex", "none")
"""Bootstrap intervals, over queries, of Kendall's τ between two orders of runs."""

COEFFICIENTS = (
    "tau",
    "tau_ap",
    "tau_ap_symmetric",
    "tau_ap_a",
    "tau_ap_b",
    "pearson",
    "spearman",
)
"""Coefficients of correlation between two orders of runs."""

AGGREGATIONS = ("mean", "borda", "mc4")
"""Methods that make one order from the preferences between all pairs of runs."""

PAIR_TESTS = ("bootstrap", "permutation", "t", "wilcoxon")
"""Tests of the preferences of a pair of runs, query by query."""

RANKS = ("pairs", "windows")
"""Bounds of ranks from significant pairs; for max-t also from windows of runs."""

CLAIMS = ("not-worse", "better", "equivalent")
"""Claims on a new run against another, by the smallest difference that matters."""
