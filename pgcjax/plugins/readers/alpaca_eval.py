"""AlpacaEval: preferences between the outputs of two models for an instruction.

`annotations.json` (github.com/tatsu-lab/alpaca_eval, results/MODEL/ANNOTATOR/):
instruction, generator_1, generator_2, output_1, output_2, annotator, preference: 1 if
output 1 is better, 2 if output 2 is, 1 + the probability that output 2 is better
(weighted annotators), 1.5 or 0 for a tie. Documents are generators; lengths are
characters of outputs. The tool draws the order of outputs and does not store it. A
comparison of the baseline with itself is no answer.
"""

from pgcjax.io.plugin_readers import Content, Reader, Rows, keys, text_id


def _read(content: Content) -> Rows:
    for number, row in enumerate(content.rows(), 1):
        preference = row["preference"]
        if preference is not None and preference != 0 and not 1 <= preference <= 2:
            content.refuse(
                f"expected a preference from 1 to 2, found {preference!r}",
                "Mend the annotation, or remove it.",
                number,
            )
        second = 0.5 if preference == 0 else (preference or 0) - 1
        sign = (second < 0.5) - (second > 0.5)
        itself = row["generator_1"] == row["generator_2"]
        yield {
            "query_id": text_id(row["instruction"]),
            "doc_id": row["generator_1"],
            "other_doc_id": row["generator_2"],
            "preference": None if preference is None or itself else sign,
            "probability": 1 - second if second not in (0, 0.5, 1) else None,
            "judge": row.get("annotator"),
            "length": len(row["output_1"]),
            "other_length": len(row["output_2"]),
        }


_CLAIM = keys("instruction generator_1 generator_2 preference")
READER = Reader("alpaca-eval", "preferences", _CLAIM, _read)
