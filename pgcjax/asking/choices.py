"""Names that arguments of this room may have. Imports nothing.

The command line shows them in its help, for which it loads no library.
"""

SIDES = ("random", "both")
"""Orders in which a pair is shown: a random one, or both to each judge."""

INFER = ("none", "majority", "judge")
"""Sources of inferred answers: none, the majority, or each judge's own answers."""

LEVELS = ("top", "wins")
"""Grades at the end: the top above the old grades, or the wins of all rounds."""

VOTE_LINES = ("clarke", "luo", "jelsas")
"""Formats of votes without a header; jelsas alone has ties and bad documents."""

BY = ("effect", "utility", "chance")
"""Orders of the next pairs to ask for; `effect` is that of `engine.next_judgments`."""

EXPECTED = ("even", "bt")
"""Chances of an answer: 1/2, or from a Bradley-Terry model of the answers so far."""

DESIGNS = (
    "all pairs",
    "all pairs, bad",
    "merge sort",
    "merge sort, bad",
    "quick sort",
    "tournament",
    "inference",
    "inference, bad",
    "random, stop",
    "utility, stop",
    "utility, inference, stop",
    "utility, inference, bad, stop",
)
"""Questions asked. `bad`: documents that are called bad are not asked for again;
`inference`: pairs that chains of answers imply are not asked for; `stop`: nothing is
asked once it is clear which run is better; `utility`: the most useful pair first."""

OVER = ("query", "mean")
"""Ways in which simulated designs separate runs."""
