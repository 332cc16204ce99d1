"""OpenAI evals: which of several models a model-graded eval chose, sample by sample.

Logs of `oaieval` (github.com/openai/evals, evals/record.py): a line `spec`, events of
type `metrics` with the grader's `choice`, a line `final_report`. The choices of
modelgraded_spec `best` number the completions (choice_strings: from_n): 2 is the second
of `completion_fns`. Choices of other evals (fact, closedqa, diversity, battle) grade
answers, or compare prompts of one model, and are refused.
"""

from typing import Any

from pgcjax.io.plugin_readers import Content, Reader, Rows, keys, wins

_BEST, _INVALID = "best", "__invalid__"


def _read(content: Content) -> Rows:
    models: list[str] = []
    for event in content.rows():
        if "spec" in event:
            models = _models(event["spec"], content)
        elif event.get("type") == "metrics":
            choice = event["data"]["choice"]
            invalid = choice == _INVALID
            best = models[0 if invalid else int(choice) - 1]
            yield from wins(event["sample_id"], best, models, answered=not invalid)


def _models(spec: dict[str, Any], content: Content) -> list[str]:
    """Read the models that were compared; refuse an eval that compares none."""
    models = spec["completion_fns"]
    evaluated = spec["run_config"].get("eval_spec") or {}
    graded = (evaluated.get("args") or {}).get("modelgraded_spec")
    if graded != _BEST or len({*models}) < max(len(models), 2):
        content.refuse(
            f"expected modelgraded_spec best of two models or more, found {graded} of "
            f"{', '.join(models)}: its choices do not say which model is better",
            "oaieval gpt-4,gpt-3.5-turbo EVAL compares models, by an EVAL with "
            "modelgraded_spec: best.",
            1,
        )
    return models


_CLAIM = keys("spec completion_fns run_id")
READER = Reader("openai-evals", "preferences", _CLAIM, _read)
