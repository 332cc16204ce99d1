"""Scores of runs by queries and measures: files, and one interface to all scores.

`source` is the interface: groups of runs, laid out as blocks, rows or a matrix.
`parquet` reads and writes them one block at a time, `parts` the folders of a job.
`door` reads all other files, and writes lines in the formats of other tools; `text`
names the columns of lines without a header.
"""
