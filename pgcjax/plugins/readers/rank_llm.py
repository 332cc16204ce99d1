"""RankLLM: rerankings as runs; its histories of prompts are refused.

Results as JSON or JSONL (github.com/castorini/rank_llm, src/rank_llm/data.py,
`DataWriter`): `{query: {text, qid}, candidates: [{docid, score, doc}]}`, best first.
Invocation histories (`write_inference_invocations_history`) name passages by numbers,
and the pairwise reranker writes none, so the compared documents are unknown.
"""

from pgcjax.io.plugin_readers import Content, Reader, Rows, keys


def _read_run(content: Content) -> Rows:
    for result in content.rows():
        for rank, candidate in enumerate(result["candidates"], 1):
            query, document = result["query"]["qid"], candidate["docid"]
            yield {"query_id": query, "doc_id": document, "rank": rank}


def _read_history(content: Content) -> Rows:
    content.refuse(
        "holds prompts whose passages have numbers and no ids: the documents that "
        "were compared are unknown",
        "The results that RankLLM writes are a run: pgcjax evaluate RUN.",
    )
    yield {}


_HISTORY = keys("qid invocations_history")
READER = (
    Reader("rank-llm", "runs", keys("qid candidates docid"), _read_run),
    Reader("rank-llm-history", "preferences", _HISTORY, _read_history),
)
