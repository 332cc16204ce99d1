"""Damaged files: found, harmless, or another file that says what is scored.

What must be noticed, and what can only be judged:

- **Compressed files** (.gz .bz2 .xz .zst) have checksums: what the libraries of these
  formats, as `rereading` calls them, do not read to the last byte must be refused, or
  give the scores of the intact file.
- **What pgcjax writes** (packed runs, checkpoints, scores, logs of `ask`) must be
  refused or give the scores of the intact file; of a log, the answers before the
  damage. If damage takes from a file of scores the mark of pgcjax, it is a file like
  any other.
- **Text and foreign Parquet** have no checksum: a flipped digit is another digit. Such
  a file must be refused, or give the scores of what a second reader, which shares no
  code with pgcjax, finds in it. What that reader cannot make out must be refused.
- Formats that nobody reads a second time (topics in XML, positions in JSON, levels of
  trec_eval) may give other scores once they are damaged as plain text.

A refusal is one line without control characters. Nothing else may happen: no other
exception, no warning of overflow, no hang.
"""

import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import pgcjax
from pgcjax.asking import log
from pgcjax.errors import DataWarning, PgcjaxError
from scripts.campaigns.campaign import Campaign, controls, pick
from scripts.campaigns.corruptible import (
    NUMERIC,
    Job,
    Target,
    Values,
    asked_log,
    checkpoint,
    targets,
)
from scripts.campaigns.damage import BYTES, LINES
from scripts.campaigns.forms import COMPRESS
from scripts.campaigns.rereading import reread, unpacked

_intact: dict[str, Values] = {}


def attack(rng: np.random.Generator, folder: Path, kinds: Counter) -> str | None:
    """Damage one file in one way, and read it."""
    sealed = [name for name, target in targets().items() if target.sealed]
    # A third of the attacks: nothing but pgcjax itself finds such damage.
    ours = ["runs packed", "checkpoint", "log"] * 6
    name = pick(rng, [*targets(), *sealed, *ours])
    if name == "checkpoint":
        return _checkpoint(rng, folder, kinds)
    if name == "log":
        return _log(rng, folder, kinds)
    target = targets()[name]
    packing = "" if target.sealed else pick(rng, [*COMPRESS])
    text = target.suffix != ".parquet"
    kind = pick(rng, [*BYTES, *(LINES if text else ()), "another file"])
    data = target.data
    if kind == "another file":
        # Of another kind: a table of the same is no damage.
        own = name.split()[0]
        data = pick(rng, [t.data for n, t in targets().items() if n.split()[0] != own])
    elif kind in LINES:
        data = LINES[kind](rng, data)
    # Files of several streams, as pbzip2 and pigz make them, are whole files, too.
    half = len(data) // 2 if rng.random() < 0.5 else len(data)
    streams = [part for part in (data[:half], data[half:]) if part]
    data = b"".join(map(COMPRESS[packing], streams))
    if kind in BYTES:
        data = BYTES[kind](rng, data)
    kinds[kind] += 1
    path = folder / f"file{target.suffix}{packing}"
    path.write_bytes(data)
    if name not in _intact:
        intact = folder / f"intact{target.suffix}"
        intact.write_bytes(target.data)
        _intact[name] = _scores(target.job, intact)
    found = outcome(target.job, path, _intact[name])
    if found is None or isinstance(found, str):
        return found and f"{found} ({name}{packing}, {kind})"
    if _may_differ(target, data):
        return None
    expected = _second_reading(target, data)
    if expected is not None and _same(found, expected):
        return None
    about = "another" if expected is None else "neither that nor the second reader's"
    return (
        f"scores, but not those of the intact file: {about} ({name}{packing}, {kind})"
    )


def outcome(job: Job, source: Path, intact: Values) -> Values | str | None:
    """Read a damaged file.

    Returns:
        None if it is refused or as good as intact, what went wrong in a line, or the
        scores if they are others.
    """
    try:
        found = _scores(job, source)
    except PgcjaxError as error:
        text = str(error)
        return "a message of two lines" if "\n" in text else controls(text)
    return None if _same(found, intact) else found


def _scores(job: Job, source) -> Values:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", DataWarning)
        return job(source)


def _same(a: Values, b: Values) -> bool:
    return a.keys() == b.keys() and all(
        abs(a[key] - b[key]) <= 1e-12 * max(1, abs(b[key])) for key in a
    )


def _may_differ(target: Target, data: bytes) -> bool:
    """Say whether nobody can tell damage from another file."""
    plain = unpacked(data)
    if target.sealed:
        return target.suffix != ".parquet" and b"pgcjax" not in data[:40]
    return not target.columns and plain is not None


def _second_reading(target: Target, data: bytes) -> Values | None:
    if not target.columns:
        return None
    frame = reread(data, target.form, target.columns, NUMERIC)
    if frame is not None and target.table:
        frame = target.table(frame)
    if frame is None:
        return None
    try:
        return _scores(target.job, frame)
    except PgcjaxError:
        return None


def _checkpoint(rng: np.random.Generator, folder: Path, kinds: Counter) -> str | None:
    job = checkpoint(folder)
    journal = folder / "journal"
    whole = _scores(job, journal)
    path = pick(rng, sorted(journal.iterdir()))
    kind = pick(rng, [*BYTES])
    kinds[kind] += 1
    path.write_bytes(BYTES[kind](rng, path.read_bytes()))
    found = outcome(job, journal, whole)
    if isinstance(found, dict):
        found = "scores of damaged work"
    return found and f"{found} (checkpoint {path.suffix}, {kind})"


def _log(rng: np.random.Generator, folder: Path, kinds: Counter) -> str | None:
    """Damage the log of a tournament: the answers before the damage, or a refusal."""
    data = asked_log()
    kind = pick(rng, [*BYTES, *LINES])
    kinds[kind] += 1
    path = folder / "state" / log.NAME
    path.parent.mkdir()
    path.write_bytes(data)
    whole = _answers(path)
    path.write_bytes({**BYTES, **LINES}[kind](rng, data))
    try:
        answers = _answers(path)
    except PgcjaxError as error:
        problem = controls(str(error))
    else:
        last = answers == whole[: len(answers)]
        problem = None if last else "another vote, or one that is lost in the middle"
    return problem and f"{problem} (log, {kind})"


def _answers(path: Path) -> list[log.Record]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return pgcjax.ask.Tournament(path.parent).state.answers


CORRUPTIONS = Campaign(
    "corruptions", "damaged files of every format", 2000, attack, limit=60.0
)
