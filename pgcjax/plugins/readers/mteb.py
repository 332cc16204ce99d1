"""MTEB: rankings of a retrieval task, as `prediction_folder=` saves them.

`TASK_predictions.json` of `AbsTask._save_task_predictions`
(github.com/embeddings-benchmark/mteb, mteb/abstasks/abstask.py): `{"mteb_model_meta":
{model_name, revision}, SUBSET: {SPLIT: {query: {document: score}}}}`. The run is named
after the model. Subsets and splits are read together if no query is in two of them.
"""

from pgcjax.io.plugin_readers import Content, Reader, Rows, keys

_META = "mteb_model_meta"


def _read(content: Content) -> Rows:
    predictions = content.json()
    model = predictions[_META]["model_name"]
    name = {"run_id": model} if model else {}  # else the name of the file
    places: dict[str, str] = {}
    for subset, splits in predictions.items():
        for split, queries in splits.items() if subset != _META else ():
            place = f"{subset}/{split}"
            scores = [*queries.values()] if isinstance(queries, dict) else [None]
            if not all(isinstance(of_query, dict) for of_query in scores):
                content.refuse(
                    f"{place} ranks no documents: it is no task of retrieval",
                    "Give the predictions of a task of retrieval or reranking.",
                )
            for query, documents in queries.items():
                if places.setdefault(query, place) != place:
                    content.refuse(
                        f"query {query!r} is in {places[query]} and in {place}",
                        "Save the predictions of one subset and split in a file of "
                        "their own.",
                    )
                for document, score in documents.items():
                    row = {"query_id": query, "doc_id": document, "score": score}
                    yield row | name


READER = Reader("mteb", "runs", keys(_META), _read)
