"""DeepEval: winners among the contestants of an arena, as `ArenaGEval` chooses them.

Objects with `contestants` (names, or objects with a `name`, as `ArenaTestCase` has
them), `winner` and the query as `query_id`, `name` or `input`
(github.com/confident-ai/deepeval, deepeval/test_case/arena_test_case.py). ArenaGEval
hides names and draws the order, so the document shown first is unknown.
"""

from pgcjax.io.plugin_readers import Content, Reader, Rows, keys, text_id, wins

_QUERY = ("query_id", "name", "input")
_MEND = (
    'Write an object {"name": query, "contestants": [names], "winner": name} for each '
    "test case: contestant.name and metric.winner."
)


def _read(content: Content) -> Rows:
    for number, case in enumerate(content.rows(), 1):
        names = [c["name"] if isinstance(c, dict) else c for c in case["contestants"]]
        first = case["contestants"][0]
        shown = (first.get("test_case") or {}) if isinstance(first, dict) else {}
        query = next((of[k] for of in (case, shown) for k in _QUERY if k in of), None)
        winner = case.get("winner")
        if query is None or len(names) < 2 or winner not in (*names, None, ""):
            content.refuse(
                f"expected a query, and a winner among two contestants or more, found "
                f"{query!r}, {winner!r} and {names!r}",
                _MEND,
                number,
            )
        best = winner or names[0]
        yield from wins(text_id(str(query)), best, names, answered=bool(winner))


_CLAIM = keys("contestants winner")
READER = Reader("deepeval", "preferences", _CLAIM, _read)
