"""HH-RLHF: which of two continuations of a dialogue people chose.

Lines of `chosen` and `rejected` transcripts (github.com/anthropics/hh-rlhf), which are
equal up to some `Assistant:`. The equal part is the query, and the different parts are
the documents. Short texts are their own ids; the id of a longer text is its beginning
and a hash. Lengths are characters. The document shown first is unknown; equal
transcripts are no answer.
"""

from os.path import commonprefix

from pgcjax.io.plugin_readers import Content, Reader, Rows, keys, text_id

_PAIRS = keys("chosen rejected")
_TURN = "\n\nAssistant:"


def _claims(content: Content) -> bool:
    head = content.head
    return _PAIRS(content) and '"role"' not in head and r'"\n\nHuman:' in head


def _read(content: Content) -> Rows:
    for number, row in enumerate(content.rows(), 1):
        texts = row["chosen"], row["rejected"]
        end = commonprefix(texts).rfind(_TURN)
        if end < 0:
            content.refuse(
                "expected transcripts that are equal up to an answer of the Assistant",
                "Remove the pair.",
                number,
            )
        one, other = (text[end + len(_TURN) :].strip() for text in texts)
        yield {
            "query_id": text_id(texts[0][:end].strip()),
            "doc_id": text_id(one),
            "other_doc_id": text_id(other),
            "preference": None if one == other else 1,
            "length": len(one),
            "other_length": len(other),
        }


READER = Reader("hh-rlhf", "preferences", _claims, _read)
