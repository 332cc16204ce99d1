"""Names of before the redesign, and what stands for them: see docs/migration.md."""

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
"""Old verbs, and what to type in their place."""

_JOB = "give job=pgcjax.Job({}=…)"
_DRAWN = "call pgcjax.uncertainty(…, {}=…)"
ARGUMENTS = {
    **{name: _JOB.format(name) for name in ("memory", "journal", "part", "progress")},
    "distributed": _JOB.format("processes"),
    **{
        name: _DRAWN.format(name)
        for name in ("replicates", "resample", "seed", "score_intervals", "leave_out")
    },
    "pool_depth": _DRAWN.format("leave_out='runs', pool_depth"),
}
"""Old arguments of `evaluate`, and what to give or call in their place."""

OPTIONS = {
    ("evaluate", f"--{option}"): f"pgcjax uncertainty --{option}"
    for option in """
        replicates resample seed interval leave-out pool-depth pairs-output
        score-intervals replicates-output
    """.split()
}
"""Old options of verbs, and what to type in their place."""
