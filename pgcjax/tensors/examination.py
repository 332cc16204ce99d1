"""Orders of examination: the order in which users look at the images of a grid.

An order gives each image of a grid a distance; users look at images by ascending
distance. `ORDERS["snake"] = Order(lambda c: …, "…", "…")` adds one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pgcjax.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd


ROW = 2**21
"""Distance of a row from the next, where no place within a row is as far."""


@dataclass(frozen=True)
class Cells:
    """The places of images of one or several grids, int64 `[images]` each.

    Attributes:
        row: Row from 0, downwards.
        column: Column from 0, to the right.
        index: Place in the order of reading: number of images in rows above, and to the
            left in its row.
        width: Columns of the image's row: the last image's column, plus one.
        rows: Rows of the image's grid.
        columns: Columns of the longest row of the image's grid.
    """

    row: np.ndarray
    column: np.ndarray
    index: np.ndarray
    width: np.ndarray
    rows: np.ndarray
    columns: np.ndarray


class ExaminationOrder(NamedTuple):
    """An order of examination.

    Attributes:
        distance: Function of `Cells` that returns distances, float64 `[images]`.
        meaning: Meaning in one line.
        source: Paper and section.
    """

    distance: Callable[[Cells], np.ndarray]
    meaning: str
    source: str


ORDERS: dict[str, ExaminationOrder] = {
    "default": ExaminationOrder(
        lambda c: c.index,
        "left to right, top to bottom",
        "Xie et al. 2020, 4.1; Luo 2021, 5.4.4",
    ),
    "reverse": ExaminationOrder(
        lambda c: -c.index, "right to left, bottom to top", "Luo 2021, 5.4.4"
    ),
    "manhattan": ExaminationOrder(
        lambda c: c.row + c.column, "row + column, from the top left", "Luo 2021, 5.4.4"
    ),
    "euclidean": ExaminationOrder(
        lambda c: np.sqrt(c.row**2 + c.column**2),
        "as the crow flies, from the top left",
        "Luo 2021, 5.2 and 5.4.4",
    ),
    "middle": ExaminationOrder(
        lambda c: c.row + np.abs(c.width // 2 - c.column),
        "row + distance in columns from the middle (the right one of two) of the "
        "image's row",
        "Luo 2021, 5.4.4",
    ),
    "middle-rows": ExaminationOrder(
        lambda c: c.row * ROW + np.abs(c.column - (c.width - 1) / 2),
        "row by row, from the middle of each outwards",
        "Xie et al. 2020, 4.1",
    ),
    "weighted": ExaminationOrder(
        lambda c: np.log2(c.index + 2),
        "1 / weight by rank, log2(rank + 1): the same visits as default",
        "Xie et al. 2020, 4.1; Luo 2021, 5.4.4",
    ),
    "weight-as-distance": ExaminationOrder(
        lambda c: 1 / np.log2(c.index + 2),
        "the weight by rank itself, so that the last image is nearest: the same visits "
        "as reverse. A bug of the published 'weighted default' numbers",
        "Luo 2021, Figures 5.8 (b) and 5.9 (b)",
    ),
}


class Codes(NamedTuple):
    """The queries, systems (both ascending) and grids of a table, as numbers.

    Attributes:
        query_ids: the queries.
        run_ids: the systems.
        query: number of each image's query.
        run: number of each image's system.
        grid: number of each image's grid.
    """

    query_ids: list[str]
    run_ids: list[str]
    query: np.ndarray
    run: np.ndarray
    grid: np.ndarray

    @classmethod
    def of(cls, grids: "pd.DataFrame") -> "Codes":
        """Number a canonical table."""
        import pandas as pd

        query, query_ids = pd.factorize(grids["query_id"], sort=True)
        run, run_ids = pd.factorize(grids["run_id"], sort=True)
        _, grid = np.unique(query * len(run_ids) + run, return_inverse=True)
        return cls(query_ids.tolist(), run_ids.tolist(), query, run, grid)


def cells(grids: "pd.DataFrame", codes: Codes | None = None) -> Cells:
    """Measure grids: the size of rows and grids, and the order of reading.

    Args:
        grids: canonical.
        codes: of the table, if they are known.
    """
    frame = grids[["row", "column"]].astype(np.int64).reset_index(drop=True)
    frame = frame.assign(grid=(codes or Codes.of(grids)).grid)
    by_grid = frame.groupby("grid")
    sizes = (
        frame.groupby(["grid", "row"])["column"].transform("max") + 1,
        by_grid["row"].transform("max") + 1,
        by_grid["column"].transform("max") + 1,
    )
    index = _turns(frame, "row", "column")
    arrays = (column.to_numpy() for column in sizes)
    return Cells(frame["row"].to_numpy(), frame["column"].to_numpy(), index, *arrays)


def _turns(frame: "pd.DataFrame", *by: str) -> np.ndarray:
    """Number the images of each grid from 0, ordered by some columns."""
    ordered = frame.sort_values(["grid", *by], kind="stable").groupby("grid")
    return ordered.cumcount().sort_index().to_numpy()


def distances(where: Cells, order: str) -> np.ndarray:
    """Return the distance of each image by an order: float64 `[images]`.

    Raises:
        UsageError: the order is unknown, or a distance is not a finite number.
    """
    if order not in ORDERS:
        raise UsageError(f"no order {order!r}; there are {', '.join(ORDERS)}")
    distance = np.asarray(ORDERS[order].distance(where), np.float64)
    if distance.shape != where.row.shape or not np.isfinite(distance).all():
        raise UsageError(f"order {order!r} must give a finite number for each image")
    return distance


def as_runs(grids: "pd.DataFrame", order: str = "default") -> "pd.DataFrame":
    """Convert grids to runs, for measures of lists: distance ascending, ties as read.

    Returns:
        Table of run_id, query_id, doc_id, score (-rank) and rank (from 0).
    """
    import pandas as pd

    codes = Codes.of(grids)
    where = cells(grids, codes)
    distance = distances(where, order)
    frame = pd.DataFrame(
        {"grid": codes.grid, "distance": distance, "index": where.index}
    )
    rank = _turns(frame, "distance", "index").astype(np.float64)
    ids = {name: grids[name].to_numpy() for name in ("run_id", "query_id", "doc_id")}
    return pd.DataFrame({**ids, "score": -rank, "rank": rank})
