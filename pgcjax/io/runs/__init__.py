"""Search runs: one door, and behind it few sources that are read unit by unit.

`open_runs` (`door`) decides once what holds runs: files (`files`, of text in columns by
`text`), packed runs (`packed`), tables in memory (`memory`), or image grids. What each
source answers is in `contract`; `Runs` (`collection`) reads units of any of them.
"""

from pgcjax.io.runs.collection import Read, Runs
from pgcjax.io.runs.contract import Need, Options, PackedBlock, RunTable, Unit
from pgcjax.io.runs.door import open_runs, read_runs

__all__ = [
    "PackedBlock",
    "Need",
    "Options",
    "Read",
    "RunTable",
    "Runs",
    "Unit",
    "open_runs",
    "read_runs",
]
