"""Scores of runs by queries and measures: files, and one source for all that has them.

`source` is the contract: groups of runs, laid out as blocks, rows or a matrix.
`parquet` reads and writes them a block at a time, `parts` the folders of a job. `door`
reads all other files, and writes lines as other tools do; `text` names what is in lines
without a header.
"""
