"""Names that arguments about judges may have, and a limit. Imports nothing.

The command line shows them in its help, for which it loads no library.
"""

SIDES = ("any", "given")
"""Whether it means something which document of a pair stands first."""

SPLITS = ("drop", "tie")
"""Treatments, for transitivity, of a pair without a majority."""

FEATURES = ("grades", "labels")
"""Features of two documents: grades as numbers, or an indicator for each grade."""

GROUPS = ("query", "pair")
"""Units that are kept in one fold of a cross-validation."""

RESAMPLED = ("judgments", "judges", "queries", "both")
"""Units that a replicate resamples; both: queries, and the judgments of each."""

STATES = 20_000
"""Most sets of documents that a search for the optimal orders of a query looks at."""

LEFT_OUT = ("judges", "runs")
"""Owners of judgments to leave out: judges, or runs that contributed documents."""

STRENGTHS = ("bt", "copeland", "borda", "rank-centrality")
"""Models of strengths of a query's documents from comparisons in pairs."""

MODELS = ("bt", "davidson", *STRENGTHS[1:])
"""Models of judgments: Davidson's is that of Bradley and Terry with ties as answers."""

BY = ("query", "aspect", "all")
"""Units that are fitted separately: judgments of a query, of each aspect, or none:
one strength of each document over all queries, as in an arena."""

SWAYS = ("first", "longer")
"""Effects that may sway judges: of the document shown first, and of length."""

PANELS = ("dawid-skene", "bt-sigma")
"""Models of several judges without labels: true answers, or strengths."""

SELF = "self_preference"
"""The covariate of documents of the judge's own family."""

CHANGES = "remove", "reverse"
"""Changes of judgments that test whether an order holds: `fragile`."""

OVERTURNED = "order", "significance"
"""Conclusions to overturn: who is ahead, or whether a test shows it."""
