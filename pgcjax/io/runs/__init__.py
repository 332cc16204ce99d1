"""Search runs: one entry point, and a few sources that are read unit by unit.

`open_runs` (`door`) recognises the source once: files (`files`, and `text` for text in
columns), packed runs (`packed`), tables in memory (`memory`), or image grids.
`contract` has the interface of sources; `Runs` (`collection`) reads units of any.
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
