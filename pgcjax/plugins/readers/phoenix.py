"""Phoenix: labels of an experiment whose inputs or outputs are two answers.

Experiments as JSON (github.com/Arize-ai/phoenix, src/phoenix/server/api/routers/v1/
experiments.py, `get_experiment_json`): a list of runs with example_id, input, output,
reference_output and annotations. A label names the better answer. The annotation's
metadata, the output or the input names the compared documents, such as model_a and
model_b, and is read like a table of votes. The judge is the name of the annotation.
Tables of `phoenix.evals` are read without this reader.
"""

from pgcjax.io.plugin_readers import Content, Reader, Rows, keys
from pgcjax.io.reading import chosen
from pgcjax.io.votes.header import of_votes


def _read(content: Content) -> Rows:
    for number, run in enumerate(content.rows(), 1):
        parts = [run[key] for key in ("input", "output") if isinstance(run[key], dict)]
        shown = {key: cell for part in parts for key, cell in part.items()}
        for annotation in run["annotations"]:
            row = {"query_id": run["example_id"], "judge": annotation["name"]}
            row |= shown | (annotation.get("metadata") or {})
            row["winner"] = annotation["label"]
            if not of_votes(row) and not chosen().columns:
                content.refuse(
                    "holds labels of one answer, and names no two that were compared",
                    "Name them in inputs, outputs or the metadata of annotations, as "
                    "model_a and model_b.",
                    number,
                )
            yield row


_CLAIM = keys("example_id repetition_number reference_output")
READER = Reader("phoenix", "preferences", _CLAIM, _read)
