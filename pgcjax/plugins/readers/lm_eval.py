"""lm-evaluation-harness: samples of one model, which hold no preference.

`samples_TASK_TIME.jsonl` of `--log_samples`
(github.com/EleutherAI/lm-evaluation-harness, lm_eval/loggers/evaluation_tracker.py,
`save_results_samples`): scores of one model, which no line names, on each document of a
task. Such a file is a table of scores of one run.
"""

from pgcjax.io.plugin_readers import Content, Reader, Rows, keys


def _read(content: Content) -> Rows:
    content.refuse(
        "holds scores of one model, and no preferences",
        "Make a table run_id (the model), query_id (doc_id), measure, value of the "
        "files of all models, and give it to pgcjax compare.",
    )
    yield {}


_CLAIM = keys("doc_id doc arguments resps filtered_resps")
READER = Reader("lm-eval", "preferences", _CLAIM, _read)
