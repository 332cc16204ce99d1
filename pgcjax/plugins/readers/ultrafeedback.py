"""UltraFeedback: ratings of completions by GPT-4, and pairs that were made of them.

The original (huggingface.co/datasets/openbmb/UltraFeedback) has four completions of
each instruction. It is read as qrels of models; the grade is `fine-grained_score`, the
mean of four ratings, because some values of `overall_score` are known to be wrong.
Pairs made of it (HuggingFaceH4/ultrafeedback_binarized,
argilla/ultrafeedback-binarized-preferences-cleaned) and files of their form have
`chosen` and `rejected`, lists of messages. Documents are the models, if they are named,
or else the texts of the last messages; equal scores are a tie. Lengths are characters
of last messages.
"""

from pgcjax.io.plugin_readers import Content, Reader, Rows, keys, text_id

_SCORES = ("score_chosen", "score_rejected"), ("chosen-rating", "rejected-rating")


def _read_pairs(content: Content) -> Rows:
    for row in content.rows():
        texts = [row[key][-1]["content"] for key in ("chosen", "rejected")]
        models = [row.get(f"{key}-model") for key in ("chosen", "rejected")]
        one, other = models if all(models) else map(text_id, texts)
        scores = [[row.get(key) for key in keys] for keys in _SCORES]
        tie = any(a is not None and a == b for a, b in scores)
        prompt = row.get("prompt") or row["chosen"][0]["content"]
        yield {
            "query_id": row.get("prompt_id") or text_id(prompt),
            "doc_id": one,
            "other_doc_id": other,
            "preference": None if one == other else 1 - tie,
            "length": len(texts[0]),
            "other_length": len(texts[1]),
        }


def _read_ratings(content: Content) -> Rows:
    for row in content.rows():
        for completion in row["completions"]:
            yield {
                "query_id": text_id(row["instruction"]),
                "doc_id": completion["model"],
                "grade": completion["fine-grained_score"],
            }


_PAIRS = keys("chosen rejected role")
_RATINGS = keys("instruction completions fine-grained_score")
READER = (
    Reader("ultrafeedback", "preferences", _PAIRS, _read_pairs),
    Reader("ultrafeedback-ratings", "qrels", _RATINGS, _read_ratings),
)
