"""Pictures of docs/gallery.md, drawn by the code that the page shows.

A link `![alt](gallery/name.svg)` is to the figure that the block of Python above it
returns in its last line.
"""

import ast
import re
import shutil
import tempfile
import warnings
from contextlib import chdir
from pathlib import Path
from typing import Any

from pgcjax.datasets.files import demo_folder
from pgcjax.errors import DataWarning
from pgcjax.reporting import canvas

PAGE = Path(__file__).parents[2] / "docs/gallery.md"
_PART = re.compile(r"^```python\n(.+?)^```$|\]\(gallery/([\w-]+)\.svg\)", re.M | re.S)


def pictures(page: str) -> dict[str, str]:
    """Run the blocks of a page in a copy of the demo collection.

    Returns:
        SVG texts by name, of all links of the page to `gallery/`.
    """
    drawn: dict[str, str] = {}
    names: dict[str, Any] = {"__name__": "gallery"}
    figure: Any = None
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        shutil.copytree(demo_folder(), folder, dirs_exist_ok=True)
        with chdir(folder):
            for part in _PART.finditer(page):
                if part[1]:
                    figure = _last(part[1], names)
                else:
                    drawn[part[2]] = canvas.svg(figure)
    return drawn


def _last(code: str, names: dict[str, Any]) -> Any:
    """Run a block, and return the value of the expression that it ends with."""
    tree, value = ast.parse(code), None
    if isinstance(last := tree.body[-1], ast.Expr):
        tree.body.pop()
        value = ast.Expression(last.value)
    exec(compile(tree, PAGE.name, "exec"), names)
    return value and eval(compile(value, PAGE.name, "eval"), names)
