"""LangSmith: scores that pairwise evaluators gave to the runs of experiments.

Feedback as JSON (github.com/langchain-ai/langsmith-sdk, python/langsmith/schemas.py,
`Feedback`, from `client.list_feedback`): key, score, run_id, session_id and, for
comparisons, feedback_group_id, which is equal for compared runs; or results of pairwise
evaluators, `{key, scores: {run: score}}` with an example_id
(`ComparisonEvaluationResult`). The higher score is preferred, equal scores are a tie. A
document is the experiment (session_id), or else the run; the query is example_id, or
else the group, which has one example; the judge is the key of the evaluator. The
document shown first is unknown.
"""

from collections import defaultdict
from itertools import combinations
from typing import Any

from pgcjax.io.plugin_readers import Content, Reader, Rows, keys

_EXAMPLES = ("example_id", "reference_example_id")


def _read(content: Content) -> Rows:
    groups: dict[tuple[str, str], dict[Any, float | None]] = defaultdict(dict)
    for number, row in enumerate(content.rows(), 1):
        group = row.get("feedback_group_id") or row.get("example_id")
        if not group:
            continue  # feedback on one run
        query = next((row[key] for key in _EXAMPLES if row.get(key)), group)
        document = row.get("session_id") or row.get("run_id")
        scores = row.get("scores") or {document: row.get("score")}
        if {*scores} & {*groups[query, row["key"]]}:
            content.refuse(
                f"gives {row['key']} of {document!r} in {query!r} twice",
                "Keep the newer one.",
                number,
            )
        groups[query, row["key"]] |= scores
    if not any(len(scores) > 1 for scores in groups.values()):
        content.refuse(
            "has no feedback that compares runs (feedback_group_id)",
            "Export the feedback of a pairwise experiment.",
        )
    for (query, key), scores in groups.items():
        for one, other in combinations(scores, 2):
            of_one, of_other = scores[one], scores[other]
            sign = None
            if of_one is not None and of_other is not None:
                sign = (of_one > of_other) - (of_one < of_other)
            documents = {"doc_id": one, "other_doc_id": other}
            yield {"query_id": query, **documents, "preference": sign, "judge": key}


_CLAIM = keys("key feedback_group_id", "key scores example_id")
READER = Reader("langsmith", "preferences", _CLAIM, _read)
