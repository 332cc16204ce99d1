"""A program that judges: requests as JSON lines to its input, answers from its output.

It is started again when it ends or is silent too long. Each answer is on disk before
the next one is read, so that whatever is killed loses no answer that was paid for.
"""

import json
import math
import queue
import shlex
import subprocess
import threading
import warnings
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pgcjax.asking.log import Record
from pgcjax.asking.query import Answer, Request
from pgcjax.asking.rounds import pair_of
from pgcjax.asking.state import answer_record, aside
from pgcjax.asking.tournament import Tournament
from pgcjax.errors import DataError, DataWarning, Progress, UsageError, counted, outside
from pgcjax.io.schema import shorten

_USELESS = 20  # answers in a row, at least, none of which counts
_LONGEST = 2000  # characters of a line that is no answer
_GRACE = 5.0  # seconds that a process has to end
_NUMBERS = {  # what else an answer may say, and from where to where it may be
    "cost": (0.0, math.inf),
    "probability": (0.0, 1.0),
    "seconds": (0.0, math.inf),
    "time": (-math.inf, math.inf),
}


@dataclass
class Judged:
    """What a program did.

    Attributes:
        sent: requests, those that were sent again too.
        counted: answers that count.
        aside: answers that do not, and why.
        cost: what it says that its answers cost.
        failures: what went wrong, in its order.
        given_up: requests that got no answer, however often they were sent.
        stopped: whether `most` or `most_cost` was reached.
    """

    sent: int = 0
    counted: int = 0
    aside: list[str] = field(default_factory=list)
    cost: float = 0.0
    failures: list[str] = field(default_factory=list)
    given_up: list[Request] = field(default_factory=list)
    stopped: bool = False


class Unreadable(Exception):
    """A line is no answer."""


class Process:
    """A process that reads lines and writes lines, neither of which makes us wait.

    Attributes:
        lines: what it has written, a line each; None after the last.
    """

    def __init__(self, command: str):
        try:
            if not (words := shlex.split(command)):
                raise ValueError("it names no program")
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # an interrupt is ours: we stop it
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise DataError(
                f"cannot be started: {reason}",
                where=command,
                mend="Give a program and its arguments: 'python judge.py'.",
            ) from None
        self.lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        threading.Thread(target=self._write, daemon=True).start()

    def send(self, request: dict[str, Any]) -> None:
        """Write a line, once the process reads it."""
        line = json.dumps(request, ensure_ascii=False) + "\n"
        self._requests.put(line.encode(errors="backslashreplace"))

    def wait(self) -> int | str:
        """Return the status that it ended with."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(_GRACE)
        return "unknown"

    def stop(self, gently: bool) -> Iterator[bytes]:
        """End it, and yield what it has still written.

        Args:
            gently: whether it gets the time to end by itself.
        """
        self._requests.put(None)
        if gently:
            self.wait()
        for end in (self._process.terminate, self._process.kill):
            if self._process.poll() is None:
                end()
                self.wait()
        self._reader.join(_GRACE)  # longer, if something else holds the output open
        while not self.lines.empty():
            if (line := self.lines.get()) is not None:
                yield line

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as output:
            for line in output:
                self.lines.put(line)
        self.lines.put(None)

    def _write(self) -> None:
        assert self._process.stdin
        with suppress(OSError):  # it has ended, which its output tells
            while (line := self._requests.get()) is not None:
                self._process.stdin.write(line)
                self._process.stdin.flush()
        with suppress(OSError):
            self._process.stdin.close()


@dataclass
class Judging:
    """One call of `Tournament.judge`: a program judges what is open.

    A request is a line such as `{"id": "7", "query_id": "q", "doc_id": "a",
    "other_doc_id": "b", "round": 1, "number": 1}`; a is to be shown first. What is
    known of `query_text`, `doc_text` and `other_doc_text` follows. The answer
    has the same id and `preference` (above 0: doc_id is better; below 0: the other; 0:
    a tie) or `winner` (one of the two, or "tie"). It may have `cost`, `judge`,
    `probability` (that doc_id is better), `seconds`, `time`, and `bad` (documents).
    With inference, one pair of a query is asked at a time.
    """

    tournament: Tournament
    command: str
    name: str | None
    seconds: float
    retries: int
    window: int
    most: int | None
    most_cost: float | None
    progress: Progress | None
    given: dict[str, Any]
    _done: Judged = field(default_factory=Judged)
    _useless: int = 0
    _failed: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    _pending: deque[Request] = field(default_factory=deque)
    _waiting: dict[str, Request] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("seconds", "window", "most", "most_cost"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise UsageError(f"{name}: expected more than 0, found {value}")
        if self.retries < 0:
            raise UsageError(f"retries: expected 0 or more, found {self.retries}")

    def run(self) -> Judged:
        """Start the program, again and again, until nothing is left to ask."""
        silent = 0
        self._texts = self.tournament.texts_by_id(**self.given, progress=self.progress)
        with self.tournament.adding() as self._appender:
            while self._refill():
                before = self._done.counted
                why = self._one_process()
                if not why:
                    continue
                self._done.failures.append(why)
                for request in self._waiting.values():
                    self._fail(request)
                self._waiting = {}
                silent = silent + 1 if self._done.counted == before else 0
                if silent > self.retries:
                    raise self._useless_program(f"{why}, {counted(silent, 'time')}")
        return self._done

    def _one_process(self) -> str:
        """Let one process of the program judge; return what it failed at, or ""."""
        sent = self._done.sent
        process = Process(self.command)
        why = ""
        try:
            while self._send(process):
                try:
                    line = process.lines.get(timeout=self.seconds)
                except queue.Empty:
                    why = f"gave no answer for {self.seconds:g} s"
                    break
                if line is None:
                    left = counted(len(self._waiting), "request")
                    why = f"ended with status {process.wait()}, {left} unanswered"
                    break
                self._take(line)
                if self._useless > max(_USELESS, self.window):
                    raise self._useless_program(
                        f"{self._useless} answers in a row do not count; the last: "
                        f"{self._done.aside[-1]}"
                    )
        finally:
            for line in process.stop(gently=not why):
                self._take(line)
            record = {"what": "calls", "command": self.command, "judge": self.name}
            record |= {"sent": self._done.sent - sent, "failed": why}
            record |= _paths(self.given)
            self.tournament.state.take_call(record)
            self._appender.append([record])
        return why

    def _send(self, process: Process) -> bool:
        """Send requests until enough wait; return whether one does."""
        while len(self._waiting) < self.window and self._refill():
            request = self._pending.popleft()
            self._done.sent += 1
            name = str(self._done.sent)
            self._waiting[name] = request
            fields = "query_id", "doc_id", "other_doc_id", "round", "number"
            about: dict[str, Any] = dict(zip(fields, request, strict=False))
            texts = {
                name.replace("_id", "_text"): saying[about[name]]
                for name, saying in self._texts.items()
                if about[name] in saying
            }
            process.send({"id": name, **about, **texts})
        if self.progress is not None:
            left = len(self._pending) + len(self._waiting)
            self.progress("answers", self._done.counted, self._done.counted + left)
        return bool(self._waiting)

    def _refill(self) -> bool:
        """List what is open and waits for no answer; return whether anything is."""
        done = self._done
        if (self.most is not None and done.sent >= self.most) or (
            self.most_cost is not None and done.cost >= self.most_cost
        ):
            done.stopped = True
            return False
        if self._pending:
            return True
        state = self.tournament.state
        fewer = state.settings.infer != "none" or state.settings.bad
        at_once = 1 + len(done.given_up) if fewer else None
        held = Counter(map(self._key, (*self._waiting.values(), *done.given_up)))
        for request in state.requests(at_once, self.name):
            if held[self._key(request)]:
                held[self._key(request)] -= 1
            else:
                self._pending.append(request)
        return bool(self._pending)

    def _key(self, request: Request) -> tuple[str, str, str]:
        """Name a request, whatever other votes there are on its pair."""
        if self.tournament.settings.sides == "both":
            return request.query, request.first, request.second
        return request.query, *pair_of(request.first, request.second)

    def _take(self, line: bytes) -> None:
        """Count an answer, and keep it on disk."""
        text = line.decode(errors="backslashreplace").strip()
        if not text:
            return
        request = None
        more: Record = {"from": self.command}
        try:
            fields = _fields_of(text)
            request = self._waiting.pop(str(fields.get("id")), None)
            if request is None:
                name = fields.get("id")
                raise Unreadable(f"no request waits for an answer with the id {name!r}")
            more |= {
                name: _number(fields, name, *_NUMBERS[name])
                for name in _NUMBERS
                if fields.get(name) is not None
            }
            self._done.cost += more.get("cost", 0.0)
            self._count(request, fields, more)
        except Unreadable as error:
            if not (self._done.counted or self._done.aside):
                warnings.warn(
                    f"{self.command}: its first answer does not count: {error}, found "
                    f"{shorten(text)}; an answer is such as "
                    '{"id": "1", "preference": 1}',
                    DataWarning,
                    stacklevel=outside(),
                )
            record = {"what": "aside", "why": str(error), "said": text[:_LONGEST]}
            self._keep([record | more])
            if request is not None:
                self._fail(request)

    def _count(self, request: Request, fields: Record, more: Record) -> None:
        """Count the answer to a request."""
        judge = fields.get("judge", self.name)
        if judge is not None and not (isinstance(judge, str) and judge.isprintable()):
            raise Unreadable(f"expected a name as judge, found {judge!r}")
        two, bad = (request.first, request.second), fields.get("bad", [])
        if not isinstance(bad, list) or not all(d in two for d in bad):
            raise Unreadable(f"expected documents of the request as bad, found {bad!r}")
        sign = _sign_of(fields, two, bad)
        if bad:
            more["bad"] = bad
        state = self.tournament.state
        answers = [Answer(request.query, *two, sign, two[0], judge)]
        answers += [Answer(request.query, d, None, -1, None, judge) for d in bad]
        records = []
        for answer in answers:
            rest = more if answer.other else {"from": self.command}
            record = answer_record(answer, round=request.round, **rest)
            if not (why := state.count(record)):
                records.append(record)
            elif answer.other or not state.settings.bad:
                records.append(aside(record, why))
            # Else its round is over, which is fine.
        self._keep(records)
        if not any(r["what"] == "answer" for r in records):  # nor would the same again
            self._done.given_up.append(request)

    def _keep(self, records: list[Record]) -> None:
        """Write records that were counted, or are to be kept aside."""
        for record in records:
            if record["what"] == "answer":
                self._done.counted, self._useless = self._done.counted + 1, 0
            else:
                self.tournament.state.keep_aside(record)
                self._done.aside.append(record["why"])
                self._useless += 1
        self._appender.append(records)

    def _fail(self, request: Request) -> None:
        """Send a request again later, if not too often."""
        self._failed[self._key(request)] += 1
        if self._failed[self._key(request)] > self.retries:
            self._done.given_up.append(request)

    def _useless_program(self, problem: str) -> DataError:
        return DataError(
            problem,
            where=self.command,
            mend="Try it on a line of pgcjax ask requests -o FILE.jsonl. It has to "
            "write out each answer at once (in Python print(…, flush=True)).",
        )


def _paths(given: dict[str, Any]) -> Record:
    """Name the files among sources, so that the next call can be told."""
    sources = {k: [v] if isinstance(v, str) else v for k, v in given.items()}
    named = {k: [*v] for k, v in sources.items() if isinstance(v, (list, tuple)) and v}
    return {k: v for k, v in named.items() if all(isinstance(x, str) for x in v)}


def _fields_of(line: str) -> Record:
    """Read the fields of an answer."""
    with suppress(ValueError):
        fields = json.loads(line)
        if isinstance(fields, dict):
            return fields
    raise Unreadable("expected an object in JSON")


def _number(fields: Record, name: str, least: float, most: float) -> float:
    """Read a number of an answer."""
    value = fields[name]
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not least <= value <= most:
        raise Unreadable(f"expected a number as {name}, found {value!r}")
    return float(value)


def _sign_of(fields: Record, two: tuple[str, str], bad: list[str]) -> int:
    """Read which of the two documents is better: 1, -1, or 0 for neither."""
    if "preference" in fields:
        value = _number(fields, "preference", -math.inf, math.inf)
        return (value > 0) - (value < 0)
    if bad and "winner" not in fields:
        return (two[1] in bad) - (two[0] in bad)
    winner = fields.get("winner")
    if winner in two:
        return 1 if winner == two[0] else -1
    if winner == "tie":
        return 0
    raise Unreadable(f"expected preference, or a document or tie as winner: {winner!r}")
