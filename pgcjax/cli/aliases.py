"""Options that verbs had, and what to type in their place."""

_DRAWS = ("--replicates", "--resample", "--seed", "--interval", "--leave-out")
_FILES = ("--pool-depth", "--pairs-output", "--score-intervals", "--replicates-output")

OPTIONS = {
    ("evaluate", option): f"pgcjax uncertainty {option}" for option in _DRAWS + _FILES
}
