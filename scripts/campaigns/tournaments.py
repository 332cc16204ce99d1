"""Tournaments that are killed at random moments, again and again, until they end.

The log only grows, what a call has said it counted stays counted, and of what a program
was paid for, no more is lost than what it had not handed over. The end is that of a
tournament that nobody disturbed.
"""

import signal
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from pgcjax.asking import log
from pgcjax.asking.choices import INFER, SIDES
from pgcjax.asking.query import Answer, Query, TournamentSettings
from pgcjax.asking.rounds import Rules
from pgcjax.asking.state import State, first_record
from scripts.campaigns.campaign import Campaign, pick
from scripts.campaigns.child import Done, command

_KILLS = 8  # then the calls are left alone
_PROGRAM = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    better = min(asked["doc_id"], asked["other_doc_id"])
    with open("paid.txt", "a") as paid:
        paid.write("1\\n")
    print(json.dumps({"id": asked["id"], "winner": better, "cost": 1}), flush=True)
"""


def attack(rng: np.random.Generator, folder: Path, kinds: Counter) -> str | None:
    """Play a tournament whose calls are killed; judges prefer the smaller id."""
    settings = TournamentSettings(
        Rules(*pick(rng, [(1, 2, 3), (2, 3, 5), (5, 7, 9)])),
        int(rng.integers(1, 3)),
        pick(rng, SIDES),
        pick(rng, INFER),
        bool(rng.random() < 0.3),
        int(rng.integers(100)),
    )
    grades = {
        f"q{i}": {f"d{j:02}": 1.0 for j in range(int(rng.integers(2, 13)))}
        for i in range(int(rng.integers(1, 4)))
    }
    records = [
        {"what": "grades", "query_id": query, "grades": of}
        for query, of in grades.items()
    ]
    log.create(folder / "state", [first_record(settings, "torture"), *records])
    (folder / "judge.py").write_text(_PROGRAM)
    program = bool(rng.random() < 0.4)
    kinds["program" if program else "files"] += 1
    about = f"{'program' if program else 'files'}, {settings}"
    seconds, kills, before = 0.3, 0, b""
    for _ in range(200):
        state, data, problem = _look(folder, before)
        if problem:
            return f"{problem} ({about})"
        if not (requests := state.requests()):
            break
        before = data
        if not program:
            said = "".join(
                f"{r.query} {r.first} {r.second} {min(r.first, r.second)}\n"
                for r in requests
            )
            with (folder / "answers.txt").open("a") as answers:
                answers.write(said)
        kill = None
        if kills < _KILLS:
            kill = float(rng.uniform(0, seconds)), int(signal.SIGKILL)
        done = _call(folder, program, kill)
        kinds["killed"] += bool(done.signal)
        kills += bool(done.signal)
        if not done.signal:
            if done.code != 0:
                return f"exit status {done.code}: {done.err[-300:]!r} ({about})"
            seconds = min(seconds, done.seconds)
            each = settings.infer == "none" and not program
            least = len(requests) if each else 1
            if _counted(folder) < len(state.answers) + least:
                return f"a call that ended well lost answers ({about})"
    else:
        return f"does not end ({about})"
    if program and (lost := _paid(folder) - len(state.answers)) > kills:
        return f"{lost} answers that were paid for are lost, in {kills} kills ({about})"
    problem = _ends(state, grades, settings)
    return problem and f"{problem} ({about})"


def _call(folder: Path, program: bool, kill: tuple[float, int] | None) -> Done:
    if program:
        judge = f"{sys.executable} -S judge.py"
        line = ["ask", "judge", "state", judge, "--window", "1"]
    else:
        line = ["ask", "add", "state", "answers.txt"]
    return command([*line, "--quiet"], folder, kill=kill)


def _look(folder: Path, before: bytes) -> tuple[State, bytes, str | None]:
    """Load a tournament as the next call would."""
    data = (folder / "state" / log.NAME).read_bytes()
    records, rest = log.read(folder / "state")
    state = State(records, "state")
    whole = before[: before.rfind(b"\n") + 1]
    problem = None if data.startswith(whole) else "the log was changed"
    return state, data[: len(data) - len(rest)], problem


def _counted(folder: Path) -> int:
    return len(State(log.read(folder / "state")[0], "state").answers)


def _paid(folder: Path) -> int:
    paid = folder / "paid.txt"
    return len(paid.read_text().splitlines()) if paid.exists() else 0


def _ends(state: State, grades: dict, settings: TournamentSettings) -> str | None:
    """Say which query ends otherwise than one that nobody disturbed."""
    for name, of in grades.items():
        calm = Query(name, of, settings)
        while requests := calm.requests(1):
            for r in requests:
                sign = 1 if r.first < r.second else -1
                calm.apply(Answer(name, r.first, r.second, sign, r.first))
        if calm.top != state.queries[name].top:
            return f"{name} ends with {state.queries[name].top}, not {calm.top}"
    return None


TOURNAMENTS = Campaign(
    "tournaments", "tournaments whose calls are killed, until they end", 300, attack
)
