"""Times that people took, in seconds."""

import numpy as np
import pandas as pd

from pgcjax.errors import DataError
from pgcjax.io.schema import Origin, lenient_numbers


def times(column: pd.Series, origin: Origin) -> np.ndarray:
    """Read times in seconds; those that are not known are NaN.

    Raises:
        DataError: a cell is neither empty nor a number of 0 or more.
    """
    values = lenient_numbers(column)
    cells = column.tolist()
    void = column.isna().to_numpy() | np.array([cell == "" for cell in cells], bool)
    bad = ~void & ~((values >= 0) & np.isfinite(values))
    if bad.any():
        i = int(bad.argmax())
        raise DataError(
            f"expected seconds, 0 or more, found {cells[i]!r}",
            where=origin.at(i),
            mend="Leave a time that is not known empty.",
        )
    return values
