"""TREC AutoJudge: answers of its judge of preferences between the responses of runs.

Lines of `PrefJudgeData`, as `pref_judge` of github.com/trec-auto-judge makes them:
run_id, run_id2, query_id, passage_1, passage_2, better_passage (1, 2, or 0 where the
answer could not be read), confidence, reasoning. The documents are runs. The tool
judges each pair in one order, and adds a copy with the passages exchanged. A copy is no
second judgment, and cannot be distinguished from the original, so the document shown
first is unknown.
"""

from collections import Counter
from typing import Any

from pgcjax.io.plugin_readers import Content, Reader, Rows, keys

_SIGNS = {1: 1, 2: -1, 0: None, None: None}
_PASSAGES = ("run_id", "passage_1"), ("run_id2", "passage_2")


def _read(content: Content) -> Rows:
    copies: Counter[tuple[Any, ...]] = Counter()
    for number, row in enumerate(content.rows(), 1):
        better = row["better_passage"]
        if better not in _SIGNS:
            content.refuse(
                f"expected better_passage 1 or 2, found {better!r}",
                "Mend the row.",
                number,
            )
        sign = _SIGNS[better]
        one, other = (tuple(row.get(key) for key in keys) for keys in _PASSAGES)
        same = row["query_id"], row.get("confidence"), row.get("reasoning")
        copied = other, one, sign and -sign, *same
        if copies[copied]:
            copies[copied] -= 1
            continue
        copies[one, other, sign, *same] += 1
        yield {
            "query_id": row["query_id"],
            "doc_id": row["run_id"],
            "other_doc_id": row["run_id2"],
            "preference": sign,
        }


READER = Reader("autojudge", "preferences", keys("run_id2 better_passage"), _read)
