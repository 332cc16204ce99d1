"""RankLLM: rerankings as runs.

Results as JSON or JSONL (github.com/castorini/rank_llm, src/rank_llm/data.py,
`DataWriter`): `{query: {text, qid}, candidates: [{docid, score, doc}]}`, best first.
"""

from pgcjax.io.plugin_readers import Content, Reader, Rows, keys


def _read(content: Content) -> Rows:
    for result in content.rows():
        for rank, candidate in enumerate(result["candidates"], 1):
            query, document = result["query"]["qid"], candidate["docid"]
            yield {"query_id": query, "doc_id": document, "rank": rank}


READER = Reader("rank-llm", "runs", keys("qid candidates docid"), _read)
