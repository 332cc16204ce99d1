"""What can be read off a figure: its letters and where they are."""

from itertools import combinations

from matplotlib.figure import Figure
from matplotlib.text import Text

from pgcjax.reporting import canvas


def laid_out(figure: Figure, _: str) -> bytes:
    """Lay a figure out in place of `canvas.rendered`, where nobody reads the file."""
    with canvas.drawing():
        figure.draw_without_rendering()
    return b""


def letters(figure: Figure) -> list[Text]:
    """All texts that are drawn; ticks outside of the axes are not."""
    with canvas.drawing():
        for _ in range(2):  # as when it is saved
            figure.draw_without_rendering()
        shown, ticks = set(), set()
        for axes, axis in ((a, x) for a in figure.axes for x in (a.xaxis, a.yaxis)):
            drawn = {id(tick) for tick in axis._update_ticks() if axes.axison}
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                ticks |= {id(tick.label1), id(tick.label2)}
                shown |= {id(tick.label1)} if id(tick) in drawn else set()
        texts = figure.findobj(Text)
    return [
        text
        for text in texts
        if text.get_text().strip()
        and text.get_visible()
        and (id(text) in shown or id(text) not in ticks)
    ]


def words(figure: Figure) -> list[str]:
    return [text.get_text() for text in letters(figure)]


def check_legible(figure: Figure) -> None:
    """A column wide, letters of 7 points or more, all inside, none on another."""
    assert figure.get_figwidth() == 3.3
    boxes = []
    for text in letters(figure):
        said, box = text.get_text(), text.get_window_extent()
        assert text.get_fontsize() >= 7, said
        assert box.x0 >= -0.5 and box.x1 <= figure.bbox.x1 + 0.5, said
        assert box.y0 >= -0.5 and box.y1 <= figure.bbox.y1 + 0.5, said
        boxes.append((said, box))
    assert boxes
    for (one, a), (other, b) in combinations(boxes, 2):
        width = min(a.x1, b.x1) - max(a.x0, b.x0)
        height = min(a.y1, b.y1) - max(a.y0, b.y0)
        # Boxes are as high as the highest letter: neighbours may touch.
        assert width <= 1 or height <= 2.5, (one, other)
