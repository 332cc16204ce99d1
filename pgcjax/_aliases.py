"""Names from before the redesign, and their replacements: see docs/migration.md."""

_SAME = {
    "ask": "Added Finished Judged SimulatedAsking Tournament",
    "errors": "DataError DataWarning PgcjaxError UsageError",
    "files": """
        merge pack read_context read_grids read_intent_qrels read_intents
        read_judge_orders read_preferences read_qrels read_runs read_scores
        read_uncertainty read_xie_votes reading
    """,
    "judgments": """
        aspect_correlation aspect_coverage aspect_distribution aspect_prediction
        aspect_table Audit audit compare_agreement Contradictions contradictions
        DrawnAnswers enough Fit fit grade_agreement grade_changes
        judge_agreement JudgeOrders LeftOut majority next_by_chance
        next_by_utility NextAnswers NextJudgments predict_context
        preferences_from_grades share_ties Stability transitivity Uncertainty
    """,
    "meta": """
        agree agree_measures click_counts click_labels click_scores
        correlate_leaderboards correlate_queries discriminate intuitiveness
        required_difference sensitivity
    """,
    "rankings": "prefer Preferences rbo",
}
_RENAMED = {
    "simulate_asking": "ask.simulate",
    "compare_judges": "judgments.compare_orders",
    "judgment_strength": "judgments.strength",
    "judgment_times": "judgments.times",
    "next_judgments": "judgments.next",
    "resample_judgments": "judgments.resample",
    "subsample_judgments": "judgments.subsample",
}
NAMES = _RENAMED | {
    name: f"{module}.{name}"
    for module, names in _SAME.items()
    for name in names.split()
}
"""Old names of `pgcjax`, and their places below it."""

VERBS = {
    "agree": "measures agree",
    "check": "files check",
    "discriminate": "measures discriminate",
    "enough": "judgments enough",
    "judges": "judgments compare",
    "merge": "files merge",
    "next": "judgments next",
    "pack": "files pack",
    "predict": "judgments predict",
    "prefer": "rankings prefer",
    "rbo": "rankings rbo",
    "simulate": "files simulate",
}
"""Old verbs, and their replacements."""

_CALL = "call pgcjax.uncertainty(…, {}=…)"
_MOVED = [
    ("memory journal part progress", "give job=pgcjax.Job({}=…)"),
    ("distributed", "give job=pgcjax.Job(processes=…)"),
    ("replicates resample seed score_intervals leave_out", _CALL),
    ("pool_depth", "call pgcjax.uncertainty(…, leave_out='runs', pool_depth=…)"),
]
ARGUMENTS = {n: new.format(n) for names, new in _MOVED for n in names.split()}
"""Old arguments of `evaluate`, and their replacements."""

_DRAWN = "replicates resample seed interval leave-out pairs-output score-intervals"
_SCORED = "evaluate, uncertainty"
_JUDGED = f"{_SCORED}, explain, files check, files pack, gate, rankings prefer"
_REMOVED = [
    ("evaluate", f"{_DRAWN} replicates-output", "pgcjax uncertainty {}"),
    (_SCORED, "pool-depth", "pgcjax uncertainty --leave-out runs@K"),
    (_JUDGED, "intents", "--intent-qrels FILE, which may hold intents, too"),
    (_SCORED, "grids", "--run-format grids"),
    (_SCORED, "distributed-timeout", "--distributed HOW,SECONDS"),
    (f"{_SCORED}, judgments compare", "float32", "--order trec-float32"),
    ("ask finish", "votes-format", "--votes FILE.clarke, FILE.luo or FILE.jelsas"),
    ("ask judge", "judge-command", "the argument COMMAND, behind the folder"),
    ("ask simulate", "error ties bias", "--errors error=0.1,ties=0.1,bias=0.1"),
    ("ask simulate", "figure", "-o FILE.svg, beside -o FILE.csv"),
    ("ask start", "final", "--pairings P,F"),
    ("ask status", "aside contradictions", "--show aside or contradictions"),
    ("files simulate", "rows columns", "--grid ROWS,COLUMNS"),
    ("gate", "page", "-o FILE.html, beside -o FILE.json"),
    ("judgments compare", "lengths", "columns length_a and length_b of VOTES"),
    ("measures agree", "tie-share", "--threshold 20%"),
    ("measures show", "as", "pgcjax measures ir_measures"),
    ("rankings prefer", "by per-query q", "--show borda, mc4 or queries"),
    ("rankings rbo", "p variant ties depth", "-m 'RBO(p=0.9,ties=a)'"),
    ("report", "judgments", "--prefs FILE, without SCORES"),
    ("report", "figure-format", "--figures svg=DIR"),
]
OPTIONS = {
    (verb, option): new.format(option)
    for verbs, names, new in _REMOVED
    for verb in verbs.split(", ")
    for name in names.split()
    for option in [f"-{name}" if len(name) == 1 else f"--{name}"]
}
"""Old options of verbs, and their replacements."""
