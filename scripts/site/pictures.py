"""The drawn pictures of docs/: `python -m scripts.site.pictures` writes them.

`pipeline` shows what pgcjax does; the others the example of Luo 2021, Figure 3.5.
Colours are those of Okabe and Ito, which can be told apart with any colour vision, and
follow the reader's light or dark system.
"""

from collections.abc import Iterable, Sequence
from math import hypot
from pathlib import Path

from pgcjax.reference.pgc import greedy_steps

FOLDER = Path(__file__).parents[2] / "docs/pictures"
EDGES = [(pair[0], pair[1]) for pair in "AB AF AG HB BC CB BD".split()]
RUN = list("BAxDGyz")
PLACES = {
    "H": (45, 75),
    "A": (155, 75),
    "B": (95, 145),
    "F": (185, 145),
    "G": (250, 145),
    "C": (45, 215),
    "D": (145, 215),
}
STAGES = (
    (("runs", "evaluate"), ("judgments", "files check"), ("judges", "ask")),
    (("graph", "of each query"), ("ideal ranking", "nearest to the run")),
    (("scores", "run × query"),),
    (("which is best", "compare"), ("how sure", "uncertainty"), ("why", "explain")),
    (("tables, figures", "--format"), ("a page", "report"), ("a gate", "gate")),
)
"""Columns of the picture of what pgcjax does: a name, and the verb or a remark."""
SINKS, MOST = "beats nobody", "most wins over losses"
STYLE = """\
<style>
  .ink { stroke: #24292f; fill: none; stroke-width: 1.5 }
  .head { fill: #24292f }
  text { fill: #24292f; font: 15px system-ui, sans-serif; text-anchor: middle }
  .left { text-anchor: start }
  .small { font-size: 12px }
  .now { fill: #e69f00; stroke: #24292f; stroke-width: 1.5 }
  .now + text { fill: #000 }
  .share { fill: #56b4e9; stroke: none }
  .absent { stroke-dasharray: 4 3 }
  .gone { opacity: 0.2 }
  @media (prefers-color-scheme: dark) {
    .ink, .now { stroke: #d0d7de }
    .head, text { fill: #d0d7de }
    .share { fill: #0072b2 }
  }
</style>
<defs>
  <marker id="head" viewBox="0 0 10 10" refX="10" refY="5" markerWidth="7"
    markerHeight="7" orient="auto"><path class="head" d="M0 0L10 5L0 10z"/></marker>
</defs>
"""


def steps(
    edges: Sequence[tuple[str, str]], run: list[str]
) -> list[tuple[str, list[str], list[str]]]:
    """Peel a graph: the rule of each step, what it takes, and first and last so far.

    Documents that one rule takes in a row are a step. The ideal ranking has a place for
    each vertex, `_` where none is known yet.
    """
    peeled = greedy_steps(list(edges), run)
    first, last, made = [], [], []
    for number, (doc, rule, _) in enumerate(peeled, 1):
        (last if rule == SINKS else first).append(doc)
        ideal = [*first, *"_" * (len(peeled) - number), *reversed(last)]
        again = bool(made) and made[-1][0] == rule and rule != MOST
        made.append((rule, [*made.pop()[1], doc] if again else [doc], ideal))
    return made


def graph() -> str:
    """Draw the judgments as a graph."""
    about = "Arrows from A to B, F and G, from H to B, from B to C and D, from C to B."
    shapes = _graph(taken=(), gone=())
    return _svg(300, 210, "Judgments as a graph", about, _at(0, -40, shapes))


def peel() -> str:
    """Draw the graph at each step of the peel, with the ideal ranking so far."""
    shapes, gone, said = [], [], []
    for i, (rule, taken, ideal) in enumerate(steps(EDGES, RUN)):
        rule += ": goes last" if rule == SINKS else ": goes first"
        panel = _text(15, 25, f"{i + 1}. {rule}", "left")
        panel += _graph(taken, gone) + _boxes(15, 250, ideal, taken)
        shapes.append(_at(i % 2 * 320, i // 2 * 310, panel))
        gone += taken
        said.append(f"{i + 1}. {rule}: {', '.join(taken)}; {' '.join(ideal)}.")
    height = (len(shapes) + 1) // 2 * 310
    return _svg(620, height, "The peel, step by step", " ".join(said), "".join(shapes))


def rbo(p: float = 0.95) -> str:
    """Draw the overlap of the run and its ideal ranking at each depth, and weights."""
    ideal = steps(EDGES, RUN)[-1][2]
    shapes = _text(10, 30, "run", "left") + _text(10, 68, "ideal ranking", "left")
    shapes += _boxes(120, 10, RUN, [d for d in RUN if d in ideal], 60)
    shapes += _boxes(120, 48, ideal, [d for d in ideal if d in RUN], 60)
    said, x = [], 120.0
    for depth in range(1, len(RUN) + 1):
        common = len(set(RUN[:depth]) & set(ideal[:depth]))
        width, height = 60 * p ** (depth - 1), 120 * common / depth
        low = 225 - height
        box = f'width="{width:.2f}" height="{height:.2f}"'
        shapes += f'<rect class="share" x="{x:.2f}" y="{low:.2f}" {box}/>\n'
        box = f'width="{width:.2f}" height="120"'
        shapes += f'<rect class="ink" x="{x:.2f}" y="105" {box}/>\n'
        shapes += _text(x + width / 2, 245, f"{common}/{depth}")
        said.append(f"{common} of {depth}")
        x += width
    shapes += _text(10, 170, "in common", "left") + _text(10, 245, "by depth", "left")
    about = f"Documents in common by depth: {', '.join(said)}."
    return _svg(560, 260, "Overlap of two rankings at each depth", about, shapes)


def pipeline() -> str:
    """Draw the way from runs and judgments to findings, a column for each stage."""
    shapes, said = "", []
    for i, stage in enumerate(STAGES):
        x, top = 10 + 150 * i, 110 - 35 * len(stage)
        for j, (name, remark) in enumerate(stage):
            y = top + 70 * j
            box = f'class="ink" x="{x}" y="{y}" width="120" height="54" rx="6"'
            shapes += f"<rect {box}/>\n" + _text(x + 60, y + 24, name)
            shapes += _text(x + 60, y + 43, remark, "small")
        if i:
            path = f"M{x - 27} 102L{x - 3} 102"
            shapes += f'<path class="ink" d="{path}" marker-end="url(#head)"/>\n'
        said.append(", ".join(name for name, _ in stage))
    about = f"From left to right: {'; then '.join(said)}."
    return _svg(740, 212, "From runs and judgments to findings", about, shapes)


def _graph(taken: Iterable[str], gone: Iterable[str]) -> str:
    taken, gone = list(taken), set(gone)
    shapes = ""
    for a, b in EDGES:
        (x, y), (u, v) = PLACES[a], PLACES[b]
        length = hypot(u - x, v - y)
        dx, dy = (u - x) / length, (v - y) / length
        bend = 14 if (b, a) in EDGES else 0  # two arrows must not be one
        mx, my = (x + u) / 2 - dy * bend, (y + v) / 2 + dx * bend
        path = (
            f"M{x + 17 * dx - bend * dy / 2:.1f} {y + 17 * dy + bend * dx / 2:.1f}"
            f"Q{mx:.1f} {my:.1f} "
            f"{u - 18 * dx - bend * dy / 2:.1f} {v - 18 * dy + bend * dx / 2:.1f}"
        )
        faded = ' class="gone"' if {a, b} & gone else ""
        shapes += (
            f'<g{faded}><path class="ink" d="{path}" marker-end="url(#head)"/></g>\n'
        )
    for doc, (x, y) in PLACES.items():
        kind = "now" if doc in taken else "ink"
        kind += "" if doc in RUN else " absent"
        faded = ' class="gone"' if doc in gone else ""
        shapes += f'<g{faded}><circle class="{kind}" cx="{x}" cy="{y}" r="16"/>'
        shapes += _text(x, y + 5, doc).rstrip() + "</g>\n"
    return shapes


def _boxes(
    x: float, y: float, docs: Sequence[str], marked: Iterable[str], width: int = 38
) -> str:
    marked, shapes = set(marked), ""
    for i, doc in enumerate(docs):
        kind = "now" if doc in marked else "ink"
        shapes += f'<rect class="{kind}" x="{x + i * width}" y="{y}" '
        shapes += f'width="{width}" height="30"/>'
        shapes += _text(x + (i + 0.5) * width, y + 20, "" if doc == "_" else doc)
    return shapes


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    of = f' class="{kind}"' if kind else ""
    return f'<text{of} x="{x:g}" y="{y:g}">{text}</text>\n'


def _at(x: float, y: float, shapes: str) -> str:
    return f'<g transform="translate({x} {y})">\n{shapes}</g>\n'


def _svg(width: int, height: int, title: str, about: str, shapes: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-labelledby="title about">\n'
        f'<title id="title">{title}</title>\n<desc id="about">{about}</desc>\n'
        f"{STYLE}{shapes}</svg>\n"
    )


PICTURES = {"graph": graph, "peel": peel, "rbo": rbo, "pipeline": pipeline}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(draw(), encoding="utf-8")
