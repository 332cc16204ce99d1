"""UltraFeedback: pairs of completions, which GPT-4 rated.

Pairs (HuggingFaceH4/ultrafeedback_binarized,
argilla/ultrafeedback-binarized-preferences-cleaned) and files of their form have
`chosen` and `rejected`, lists of messages. Documents are the models, if they are named,
or else the texts of the last messages; equal scores are a tie. Lengths are characters
of last messages.
"""

from pgcjax.io.plugin_readers import Content, Reader, Rows, keys, text_id

_SCORES = ("score_chosen", "score_rejected"), ("chosen-rating", "rejected-rating")


def _read(content: Content) -> Rows:
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


READER = Reader("ultrafeedback", "preferences", keys("chosen rejected role"), _read)
