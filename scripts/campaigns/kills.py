"""Verbs that are killed at a random moment, and then finished.

A file with its final name is whole, or what it was before, at any moment. The same
command, made again, leaves the files and prints the lines of one that nobody disturbed,
and nothing else: no temporary file, no kept work.
"""

import signal
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from scripts.campaigns.campaign import Campaign, pick
from scripts.campaigns.child import Done, Files, changed, forked, snapshot
from scripts.campaigns.verbs import VERBS, cut_small, workplace

OLD = b"of an earlier job\n"
SIGNALS = [signal.SIGKILL] * 8 + [signal.SIGTERM, signal.SIGINT]
_undisturbed: dict[str, tuple[Files, Done]] = {}


def attack(rng: np.random.Generator, folder: Path, kinds: Counter) -> str | None:
    """Kill a verb, look at what is there, finish it, and compare."""
    name = pick(rng, [*VERBS])
    verb, place = VERBS[name], workplace(folder)
    expected, calm = _expected(name, folder)
    old = not verb.fresh and rng.random() < 0.5
    if old:
        _put_old(place / verb.target)
    before = snapshot(place)
    # Half of them near the end, when files are written.
    when = rng.uniform(0.8, 1) if rng.random() < 0.5 else rng.uniform(0, 1)
    moment, what = float(when * calm.seconds), pick(rng, SIGNALS)
    killed = _run(verb.line(), place, (moment, what))
    for turn in range(3):
        if killed.signal or killed.code == 130:
            break
        # It is faster than when it was timed: a new one, earlier.
        moment *= 0.8
        place = workplace(folder, f"work{turn}")
        if old:
            _put_old(place / verb.target)
        killed = _run(verb.line(), place, (moment, what))
    died = killed.signal or killed.code == 130
    kinds[f"{what.name} died" if died else "finished before"] += 1
    about = f"{name}, {what.name} after {moment:.3f} s"
    if what is signal.SIGINT and "Traceback" in killed.err:
        return f"traceback at an interrupt ({about}): {killed.err[-300:]!r}"
    if problem := halves(before, snapshot(place), expected, verb.target):
        return f"{problem} ({about})"
    if verb.fresh and (place / verb.target).exists():
        kinds["whole already"] += 1
        return None
    resume = verb.resumes and rng.random() < 0.5
    kinds["resumed"] += resume
    done = _run(verb.line(resume), place)
    if done.code != 0:
        return f"cannot be finished: {done.err[-300:]!r} ({about})"
    if done.out != calm.out:
        return f"prints something else when it is finished ({about})"
    after = snapshot(place)
    if resume:  # what is done stays, and the same call reads no run again
        again = _run(verb.line(resume), place)
        if (again.code, again.out) != (0, calm.out):
            return f"the same call once more fails: {again.err[-300:]!r} ({about})"
        after = {k: v for k, v in after.items() if ".partial" not in k}
    if problem := changed(expected, after):
        return f"once it is finished, {problem} ({about})"
    return None


def _put_old(target: Path) -> None:
    """Put the file of an earlier job where a verb will write."""
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(OLD)


def halves(before: Files, after: Files, expected: Files, target: str) -> str | None:
    """Say which file is neither what it was nor whole.

    Hidden files, and work that is kept beside the target, may be there.
    """
    for name, content in after.items():
        own = name.split("/")
        hidden = any(part.startswith(".") for part in own)
        if hidden or own[0].startswith(f"{target}.partial"):
            continue
        if content not in (before.get(name), expected.get(name)):
            return f"{name} is neither what it was nor whole"
    return changed({k: v for k, v in before.items() if k not in after}, {})


def _run(args: list[str], place: Path, kill: tuple[float, int] | None = None) -> Done:
    from pgcjax.cli import main

    def work() -> None:
        cut_small()
        main(args)

    done = forked(work, place, kill=kill)
    return replace(done, out=done.out.replace(str(place), "."))


def _expected(name: str, folder: Path) -> tuple[Files, Done]:
    """Run a verb undisturbed, once in a process: its files, output and seconds."""
    if name not in _undisturbed:
        for turn in ("compiled", "calm"):  # the first may have programs to compile
            place = workplace(folder, turn)
            done = _run(VERBS[name].line(), place)
            if done.code != 0:
                raise RuntimeError(f"{name}: exit status {done.code}: {done.err}")
        _undisturbed[name] = snapshot(place), done
    return _undisturbed[name]


KILLS = Campaign(
    "kills", "verbs that write, killed at a random moment", 1000, attack, limit=240.0
)
