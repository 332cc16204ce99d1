"""promptfoo: the output that a `select-best` assertion chose among those of a test.

`promptfoo eval --output results.json` (github.com/promptfoo/promptfoo,
src/types/index.ts, `EvaluateResult` and `GradingResult`): `results.results[]` with
testIdx, promptIdx, provider and `gradingResult.componentResults[]`, in which the
component `select-best` passes for one output of a test. That output is preferred to all
others. A document is the label or id of a provider, or `provider#promptIdx` if the
provider has several prompts. The query is the number of the test, testIdx; the aspect
is the criterion. The document shown first is unknown.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from pgcjax.io.plugin_readers import Content, Reader, Rows, keys, wins

_CHOICE = "select-best"


def _name(provider: Any) -> str:
    return (
        provider.get("label") or provider["id"]
        if isinstance(provider, Mapping)
        else provider
    )


def _read(content: Content) -> Rows:
    results = content.json()["results"]["results"]
    columns: dict[str, set[int]] = defaultdict(set)
    for result in results:
        columns[_name(result["provider"])].add(result["promptIdx"])
    choices: dict[tuple[int, str], dict[str, bool]] = defaultdict(dict)
    for result in results:
        name, place = _name(result["provider"]), result["promptIdx"]
        document = name if len(columns[name]) == 1 else f"{name}#{place}"
        for part in (result.get("gradingResult") or {}).get("componentResults") or ():
            assertion = part.get("assertion") or {}
            if assertion.get("type") == _CHOICE:
                key = result["testIdx"], str(assertion.get("value", ""))
                choices[key][document] = part["pass"]
    if not choices:
        content.refuse(
            "has no select-best assertion, so nothing says which output is better",
            "Add `type: select-best` to the tests, and evaluate again.",
        )
    for (test, criterion), chosen in choices.items():
        best = [document for document, is_best in chosen.items() if is_best]
        answered = len(best) == 1  # no output passes if the comparison failed
        first = best[0] if answered else next(iter(chosen))
        for row in wins(test, first, chosen, answered=answered):
            yield row | {"aspect": criterion}


_CLAIM = keys("evalId results", "promptIdx testIdx")
READER = Reader("promptfoo", "preferences", _CLAIM, _read)
