"""Progress and messages on stderr, on a terminal and elsewhere."""

import io
import sys

from pgcjax.reporting.progress import ProgressDisplay, say


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_on_a_terminal_with_messages_above_it(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with ProgressDisplay() as shown:
        shown.update("reading", 1, 2)
        say("warning: [bold] stays as it is")
        shown.update("reading", 2, 2)
        shown.update("scoring", 10, 10)
    say("done")
    lines = sys.stderr.getvalue().splitlines()  # type: ignore[attr-defined]
    assert any("reading" in line and "100%" in line for line in lines)
    assert any("scoring" in line for line in lines)
    message = next(line for line in lines if "warning" in line)
    assert message.endswith("pgcjax: warning: [bold] stays as it is")
    assert lines[-1].endswith("pgcjax: done")


def test_lines_now_and_then_elsewhere(capsys):
    with ProgressDisplay() as shown:
        shown.update("reading", 1, 2)
    assert capsys.readouterr() == ("", "")
    with ProgressDisplay(every=-1.0) as shown:
        shown.update("reading", 2, 2)
    assert capsys.readouterr() == ("", "pgcjax: reading 2/2\n")
