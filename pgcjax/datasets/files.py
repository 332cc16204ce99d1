"""The files of a simulated collection, and the folder of the shipped one."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgcjax.io.write import written_beside
from pgcjax.later import pd

if TYPE_CHECKING:
    from pgcjax.datasets.simulator import Collection

README = """\
# A made-up collection

Simulated documents, judgments and runs, whose true order of runs is known. Nothing in
it comes from real queries, documents, people or systems. With the settings in
`truth.json`, `pgcjax files simulate` writes the same bytes again.

{queries} queries, {documents} judged documents each;
{runs} runs of {depth} documents per query, some of which nobody judged.

| file | what |
|---|---|
| `runs/*.txt` | one TREC run per file: query, Q0, document, rank, score, run. Some scores tie; one run lacks one query. |
| `qrels.txt` | query, 0, document, grade 0-3 |
| `preferences.csv` | {pairs} pairs per query by each judge ({judges}): preference 1 is for `doc_id`, -1 for `other_doc_id`, 0 a tie. Judges overlap, err and contradict each other. |
| `judgments.txt` | the same without ties, in Clarke's format: query, document, document, the better one |
| `diversity.qrels.txt` | query, intent, document, grade |
| `intents.csv` | probability and kind of each intent: `inf`ormational or `nav`igational |
| `grid.csv` | where each run shows its top documents as images, {rows} rows of {columns}, counted from 0 |
| `truth.json` | settings, the runs from best to worst with their quality, the judges with their reliability |

The quality of a run is the weight of the documents' true utility against noise in its
scores, so a measure is good if it orders the runs as `truth.json` does. The docstrings
of `pgcjax.datasets.simulator` define the model.

Licence: CC0-1.0 (public domain).
"""  # noqa: E501 - rows of a table cannot be wrapped


def demo_folder() -> Path:
    """Return the folder of the shipped collection, made with the default settings."""
    return Path(__file__).parent / "collection"


def write_collection(collection: "Collection", folder: str | os.PathLike) -> None:
    """Write a collection to a new folder, whole or not at all.

    The files are UTF-8 text with Unix line ends, the same bytes for the same settings
    on every system; the README.md among them describes each file.

    Raises:
        DataError: the folder exists, or cannot be made there.
    """
    with written_beside(folder) as place:
        place.mkdir()
        (place / "runs").mkdir()
        for path, text in _texts(collection).items():
            (place / path).write_text(text, encoding="utf-8", newline="\n")


def _texts(collection: "Collection") -> dict[str, str]:
    from pgcjax.datasets.simulator import MODEL

    runs = collection.runs.assign(q0="Q0")
    trec = ["query_id", "q0", "doc_id", "rank", "score", "run_id"]
    files = {
        f"runs/{name}.txt": _columns(runs.loc[rows, trec])
        for name, rows in runs.groupby("run_id", sort=False).groups.items()
    }
    qrels = collection.qrels.assign(zero="0")
    qrels = qrels.loc[:, ["query_id", "zero", "doc_id", "relevance"]]
    judged = collection.preferences
    first, second = judged["doc_id"], judged["other_doc_id"]
    clarke = judged.assign(best=first.where(judged["preference"] > 0, second))
    clarke = clarke.loc[
        judged["preference"] != 0, ["query_id", "doc_id", "other_doc_id", "best"]
    ]
    truth = {
        "model": MODEL,
        "settings": asdict(collection.settings),
        "runs": collection.truth.to_dict("records"),
        "judges": collection.judges.to_dict("records"),
    }
    return files | {
        "qrels.txt": _columns(qrels, 0),
        "preferences.csv": _csv(judged),
        "judgments.txt": _columns(clarke),
        "diversity.qrels.txt": _columns(collection.intent_qrels, 0),
        "intents.csv": _csv(collection.intents, 3),
        "grid.csv": _csv(collection.grid),
        "truth.json": json.dumps(truth, indent=2) + "\n",
        "README.md": README.format(**asdict(collection.settings)),
    }


def _columns(table: "pd.DataFrame", decimals: int = 2) -> str:
    return _csv(table, decimals, sep=" ", header=False)


def _csv(table: "pd.DataFrame", decimals: int = 2, **form: Any) -> str:
    digits = f"%.{decimals}f"
    return table.to_csv(
        None, index=False, float_format=digits, lineterminator="\n", **form
    )
