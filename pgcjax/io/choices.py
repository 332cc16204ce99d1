"""Names that arguments about files may have. Imports nothing.

The command line shows them in its help, for which it loads no library.
"""

ORDERS = ("trec", "clarke", "rank")
"""Orders of a run: by score with ties by doc id, descending or ascending; by rank."""

MISSING = ("zero", "skip", "error")
"""Treatments of a query that a run lacks, in the mean of its scores."""

SHARED = (
    "shared leaves queries out of existing scores: compare, report and the "
    "other verbs about scores take it; evaluate scores each measure on all of "
    "its queries"
)
"""Message if `shared` is requested where only `MISSING` is allowed."""

NAME_BY = ("tag", "file", "filename")
"""Sources of a run's name: `filename` is the name of its file with the suffix."""

FLIPS = ("keep", "tie", "drop", "half")
"""Treatments of a judge's contradicting votes on a pair in both orders."""

FILE_KINDS = ("runs", "prefs", "qrels", "grids")
"""Kinds of files."""

SCORE_SUFFIXES = (".trec", ".tsv", ".csv", ".jsonl", ".parquet")
"""Suffixes of files of scores."""

SCORE_FORMATS = ("trec_eval", "tot", "ir_measures", "ranking", "jsonl")
"""Formats of files of scores, as other tools write them."""

TABLE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")
"""Suffixes of tables of results."""

PAGE_SUFFIXES = (".html", ".md")
"""Suffixes of pages about scores."""

EXPLAINED = 100
"""Scores by each measure that a page explains by default."""

FIGURE_KINDS = ("pdf", "svg", "png")
"""Suffixes of figures."""

MEANS = ("arithmetic", "geometric", "sum")
"""Means of the scores of queries."""

LEVELS = ("doc_level", "other_doc_level", "subgroups")
"""Additional columns of preferences in TREC formats: the levels of both documents, and
the number of subgroups in their group."""

SUMMED = ("NumQ", "NumRet", "NumRel", "NumRelRet", "NumNonRelRet")
SUMMED += ("prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret")
"""Measures that count; their scores are added up over queries."""
