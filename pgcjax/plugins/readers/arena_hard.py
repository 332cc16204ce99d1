"""Arena-Hard-Auto: verdicts on a model and the baseline, shown in both orders.

`model_judgment/JUDGE/MODEL.jsonl` (github.com/lmarena/arena-hard-auto, gen_judgment.py
and show_result.py): question_id or uid, model, judge, games. In the first game, A is
the baseline and B the model; in the second, the reverse. A baseline without a name is
called `baseline`, or in version 2, which has one per category, `baseline of CATEGORY`.
A>>B counts as A>B; with `--reader arena-hard-weighted` it counts as three votes, as in
show_result.py. A game without a verdict is no answer; show_result.py leaves out the
other game as well.
"""

from functools import partial

from pgcjax.io.plugin_readers import Content, Reader, Rows, keys

_SIGNS = {"A>>B": 2, "A>B": 1, "A=B": 0, "B=A": 0, "A<B": -1, "A<<B": -2}
_SIGNS |= {"B>>A": -2, "B>A": -1, "B<A": 1, "B<<A": 2}


def _read(content: Content, strong: int) -> Rows:
    for number, row in enumerate(content.rows(), 1):
        category = row.get("category")
        unnamed = f"baseline of {category}" if category else "baseline"
        shown = [row.get("baseline") or unnamed, row["model"]]
        for game in row["games"]:
            verdict = (game or {}).get("score")
            if verdict is not None and verdict not in _SIGNS:
                content.refuse(
                    f"expected a score such as A>>B, found {verdict!r}",
                    "Judge the question again.",
                    number,
                )
            sign = None if verdict is None else _SIGNS[verdict]
            yield {
                "query_id": row["uid" if "uid" in row else "question_id"],
                "doc_id": shown[0],
                "other_doc_id": shown[1],
                "preference": None if sign is None else (sign > 0) - (sign < 0),
                "weight": strong if sign in (-2, 2) else 1,
                "first": shown[0],
                "judge": row["judge"],
            }
            shown = shown[::-1]


_CLAIM = keys("model judge games score")
READER = (
    Reader("arena-hard", "preferences", _CLAIM, partial(_read, strong=1)),
    # This reader of the same files is used only if the user names it.
    Reader("arena-hard-weighted", "preferences", keys(), partial(_read, strong=3)),
)
