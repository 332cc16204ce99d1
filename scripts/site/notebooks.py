"""Notebooks as pages: executed while the site is built, and shown with their output."""

import html
import re
import tempfile
from pathlib import Path
from typing import Any

_PICTURES = ("image/svg+xml", "image/png")
# A warning, with the file and the line of the kernel, which are others each time.
_WHERE = re.compile(r"^/\S+/ipykernel_\d+/\d+\.py:\d+: (.*)\n  .*$", re.MULTILINE)


def execute(path: Path) -> Any:
    """Run all cells in a kernel of their own, in a folder that is removed afterwards.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed.
    """
    import nbformat
    from nbclient import NotebookClient
    from traitlets.config import Config

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        # By sockets in that folder: no port is opened.
        socket = {"transport": "ipc", "ip": f"{folder}/kernel"}
        how = Config(KernelManager=socket)
        client = NotebookClient(notebook, timeout=120, resources=resources, config=how)
        client.execute()
    return notebook


def markdown(notebook: Any, name: str) -> str:
    """Write an executed notebook as Markdown.

    Args:
        notebook: cells with their outputs. A cell with a picture says in its metadata
            `alt` what there is to see.
        name: of its file, which the page offers.
    """
    parts = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            parts.append(cell["source"])
        elif cell["cell_type"] == "code":
            parts.append(f"```python\n{cell['source']}\n```")
            alt = cell["metadata"].get("alt", "")
            parts += [_shown(output, alt) for output in cell["outputs"]]
    title, *rest = parts
    offer = f"[This page as a notebook]({name}), executed while the site was built."
    return "\n\n".join([title, offer, *filter(None, rest)]) + "\n"


def _shown(output: Any, alt: str) -> str:
    if output["output_type"] == "stream":
        return _text(_WHERE.sub(r"\1", output["text"]))
    data = output.get("data", {})
    for kind in _PICTURES:
        if kind in data:
            if not alt:
                raise ValueError("a cell that draws needs `alt` in its metadata")
            return _picture(kind, data[kind], alt)
    if "text/html" in data:
        # Without the style of pandas, which hides that of the site.
        table = re.search("<table.*</table>", data["text/html"], re.DOTALL)
        if table:
            return re.sub("<table[^>]*>", "<table>", table[0])
    return _text(data.get("text/plain", ""))


def _text(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```" if text.strip() else ""


def _picture(kind: str, data: str, alt: str) -> str:
    import base64

    code = data if kind == "image/png" else base64.b64encode(data.encode()).decode()
    source = f"data:{kind};base64,{''.join(code.split())}"
    return f'<img src="{source}" alt="{html.escape(alt)}">'
