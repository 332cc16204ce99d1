"""MT-Bench: judgments of pairs by people and by GPT-4, turn by turn.

mt_bench_human_judgments (huggingface.co/datasets/lmsys/mt_bench_human_judgments:
model_a, model_b, winner, judge, turn) and `gpt-4_pair.jsonl`
(github.com/lm-sys/FastChat, fastchat/llm_judge/common.py, `play_a_match_pair`: model_1,
model_2, and a winner of each of two games, the second with model_2 shown first). Both
are also read without this reader, with the turn as an aspect, `turn 1`; the reader adds
GPT-4 as the judge.
"""

from pgcjax.io.plugin_readers import Content, Reader, Rows, keys


def _read(content: Content) -> Rows:
    for row in content.rows():
        judge = row["judge"]
        shared = {
            "query_id": row["question_id"],
            "judge": judge[0] if isinstance(judge, list) else judge,
            "aspect": f"turn {row['turn']}",
            "time": row.get("tstamp"),
        }
        ends = "12" if "model_1" in row else "ab"
        names = {f"model_{end}": row[f"model_{end}"] for end in ends}
        if "winner" in row:
            yield shared | names | {"winner": row["winner"]}
            continue
        first = [*names.values()]
        for shown_first, game in zip(first, ("g1_winner", "g2_winner"), strict=True):
            yield shared | names | {"winner": row[game], "first": shown_first}


# Used only if the user names it: the table of layouts reads all files of the tool.
READER = Reader("mt-bench", "preferences", keys(), _read)
