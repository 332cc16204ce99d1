"""LMArena: votes of its visitors between the answers of two models.

Dumps of battles as JSON or Parquet: `clean_battle_*.json` of the leaderboard's notebook
(github.com/lm-sys/FastChat, docs/dataset_release.md), chatbot_arena_conversations, and
arena-human-preference-100k and -140k (huggingface.co/lmarena-ai). Each battle is a
query, with question_id or id as its name; without both, all battles are one set of
comparisons. `tie (bothbad)` and `both_bad` are ties between bad answers. Model A was
shown left. Lengths are tokens of all answers of a model, from conv_metadata; rows also
have columns for language and the counts of style control. The flat table of
arena-human-preference-55k is read without this reader.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pgcjax.io.plugin_readers import Content, Reader, Rows, keys

_BATTLE = "model_a model_b winner language"
_MARKS = ("anony", "conv_metadata", "evaluation_session_id")


def _style(about: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Read the counts of headers, lists and bold words in the answers of each side."""
    for name in (f"{what}_count" for what in ("header", "list", "bold")):
        for side in "ab":
            count = about.get(f"{name}_{side}") or 0
            count = sum(count.values()) if isinstance(count, dict) else count
            yield f"{name}_{side}", count


def _read(content: Content) -> Rows:
    for battle in content.rows():
        about = battle.get("conv_metadata") or {}
        ids = [battle[key] for key in ("question_id", "id") if key in battle]
        query = {"query_id": ids[0]} if ids else {}
        yield query | {
            "model_a": battle["model_a"],
            "model_b": battle["model_b"],
            "winner": battle["winner"],
            "time": battle.get("tstamp") or battle.get("timestamp"),
            "length_a": about.get("sum_assistant_a_tokens"),
            "length_b": about.get("sum_assistant_b_tokens"),
            **{key: battle[key] for key in ("judge", "language") if key in battle},
            **dict(_style(about)),
        }


_CLAIM = keys(*(f"{_BATTLE} {mark}" for mark in _MARKS))
READER = Reader("lmarena", "preferences", _CLAIM, _read)
