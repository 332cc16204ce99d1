"""Names that arguments of statistics may have. Imports nothing.

The command line shows them in its help, for which it loads no library.
"""

TESTS = ("max-t", "tukey", "bootstrap", "permutation", "t", "wilcoxon", "anova")
"""Tests of differences between runs."""

RESAMPLES = {"max-t": 2000, "tukey": 5000, "bootstrap": 1000, "permutation": 10_000}
"""Default numbers of resamples, by test: as Sakai 2012; signs cost least."""

CORRECTIONS = ("none", "holm", "bh")
"""Corrections of p for many tests: Holm; Benjamini and Hochberg."""

REPLICATED = ("centred", "basic", "percentile", "bc")
"""Intervals of means by replicates of the judgments; the first is the default."""

REPLICATED_SINGLY = REPLICATED[:3]
"""Those of single scores: they follow from two percentiles and a mean."""

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Shares of the judgments, for how many are enough."""

INCOMPLETE = ("error", "drop", "zero")
"""Treatments of a query that a run lacks: it is left out for all, or scores 0."""

LACKING = ("shared", *INCOMPLETE)
"""The same, of several measures. `shared` leaves out what a whole measure lacks."""

EACH_LACKING = ("own", *LACKING)
"""The same, where measures need no queries in common: `own` are all that each has."""

RANK_INTERVALS = ("simex", "none")
"""Intervals of Kendall's τ of two orders of runs, by a bootstrap over queries."""

COEFFICIENTS = (
    "tau",
    "tau_ap",
    "tau_ap_symmetric",
    "tau_ap_a",
    "tau_ap_b",
    "pearson",
    "spearman",
)
"""Coefficients of two orders of runs."""

AGGREGATIONS = ("mean", "borda", "mc4")
"""Methods that make one order of the preferences between all pairs of runs."""

PAIR_TESTS = ("bootstrap", "permutation", "t", "wilcoxon")
"""Tests of the preferences of a pair of runs, query by query."""

RANKS = ("pairs", "windows")
"""Methods for bounds of ranks: significant pairs; for max-t also windows of runs."""

CLAIMS = ("not-worse", "better", "equivalent")
"""On a new run against another, by the smallest difference that matters."""
