"""A program that judges: requests as JSON lines to its input, answers from its output.

The program is restarted when it ends or is silent too long. Each answer is on disk
before the next one is read, so a killed process loses no answer that was paid for.
"""

import json
import math
import queue
import shlex
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pgcjax.asking.log import Record
from pgcjax.asking.query import Answer, Request
from pgcjax.asking.rounds import pair_of
from pgcjax.asking.state import answer_record, aside
from pgcjax.asking.tournament import Tournament
from pgcjax.errors import DataError, Progress, UsageError, counted
from pgcjax.io.schema import shorten

_USELESS = 20  # fewest successive answers, none of which counts, to give up
_LONGEST = 2000  # most characters of an invalid line to report
_GRACE = 5.0  # seconds that a process has to end
_WINDOWS = sys.platform == "win32"
_SHOWN = 300  # most characters of an answer in a message
_PAID = ("cost", "tokens", "seconds")  # fields that an answer of the cache lacks
CACHE = "answers.jsonl"
"""File beside the log: answers by prompt."""
_NUMBERS = {  # optional fields of an answer, and the range of each
    "cost": (0.0, math.inf),
    "tokens": (0.0, math.inf),
    "probability": (0.0, 1.0),
    "seconds": (0.0, math.inf),
    "time": (-math.inf, math.inf),
}


@dataclass
class Judged:
    """Results of a program as a judge.

    Attributes:
        sent: Number of requests sent, repeated ones included.
        counted: Number of answers that count.
        aside: Answers that do not count, and why.
        cost: Cost of its answers, as the program reports it.
        tokens: Tokens of its answers, as the program reports them.
        cached: Number of answers taken from the cache.
        failures: Failures of the program, in order.
        given_up: Requests without an answer after all retries.
        stopped: Whether `most` or `most_cost` was reached.
    """

    sent: int = 0
    counted: int = 0
    aside: list[str] = field(default_factory=list)
    cost: float = 0.0
    tokens: float = 0.0
    cached: int = 0
    failures: list[str] = field(default_factory=list)
    given_up: list[Request] = field(default_factory=list)
    stopped: bool = False


class Unreadable(Exception):
    """A line is no answer."""


class Unknown(Unreadable):
    """A line answers no open request."""


class Process:
    """A process that reads and writes lines in the background.

    Attributes:
        lines: Queue of the lines it has written; None after the last.
    """

    def __init__(self, command: str):
        try:
            # Windows splits the command itself: there a backslash is part of a path.
            words = command.strip() if _WINDOWS else shlex.split(command)
            if not words:
                raise ValueError("it names no program")
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C reaches this process, which stops it
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
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
        """Queue a request, which is written when the process reads."""
        line = json.dumps(request, ensure_ascii=False) + "\n"
        self._requests.put(line.encode(errors="backslashreplace"))

    def wait(self) -> int | str:
        """Return its exit status."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(_GRACE)
        return "unknown"

    def stop(self, gently: bool) -> Iterator[bytes]:
        """End the process, and yield its remaining output.

        Args:
            gently: Whether the process gets time to end by itself.
        """
        self._requests.put(None)
        if gently:
            self.wait()
        for end in (self._process.terminate, self._process.kill):
            if self._process.poll() is None:
                end()
                self.wait()
        self._reader.join(_GRACE)  # another process may hold the output open
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
        with suppress(OSError):  # it has ended, which the reader detects
            while (line := self._requests.get()) is not None:
                self._process.stdin.write(line)
                self._process.stdin.flush()
        with suppress(OSError):
            self._process.stdin.close()


@dataclass
class Judging:
    """One call of `Tournament.judge`: a program judges the open pairs.

    A request is a line such as `{"id": "7", "query_id": "q", "doc_id": "a",
    "other_doc_id": "b", "round": 1, "number": 1}`; a is to be shown first. Available
    texts follow as `query_text`, `doc_text` and `other_doc_text`. The answer
    has the same id and `preference` (above 0: doc_id is better; below 0: the other; 0:
    a tie) or `winner` (one of the two, or "tie"). It may have `cost`, `tokens`,
    `judge`, `probability` (that doc_id is better), `seconds`, `time`, and `bad`
    (documents). With inference, one pair of a query is asked at a time.
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
    _unreadable: DataError | None = None
    _prompts: dict[str, Record] = field(default_factory=dict)
    _outbox: deque[Record] = field(default_factory=deque)

    def __post_init__(self) -> None:
        for name in ("seconds", "window", "most", "most_cost"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise UsageError(f"{name}: expected more than 0, found {value}")
        if self.retries < 0:
            raise UsageError(f"retries: expected 0 or more, found {self.retries}")

    def run(self) -> Judged:
        """Run the program, and restart it, until nothing is left to ask."""
        silent, self._began = 0, time.monotonic()
        self._cache = _Cache(self.tournament.folder / CACHE, self.command, self.name)
        self._texts = self.tournament.texts_by_id(**self.given, progress=self.progress)
        with self.tournament.adding() as self._appender:
            while self._refill():
                before = self._done.counted
                why = self._one_process()
                if self._unreadable:
                    raise self._unreadable
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
        """Let one process of the program judge; return its failure, or ""."""
        sent = self._done.sent
        process, why = None, ""
        try:
            while self._ask():
                process = process or Process(self.command)
                while self._outbox:
                    process.send(self._outbox.popleft())
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
                if self._unreadable:
                    why = "gave an answer that cannot be read"
                    break
                if self._useless > max(_USELESS, self.window):
                    raise self._useless_program(
                        f"{self._useless} answers in a row were invalid; the last: "
                        f"{self._done.aside[-1]}"
                    )
        finally:
            if process:
                self._end(process, sent, why)
        return why

    def _end(self, process: Process, sent: int, why: str) -> None:
        """End a process; store its last answers, and a record of the call."""
        for line in process.stop(gently=not why):
            self._take(line)
        record = {"what": "calls", "command": self.command, "judge": self.name}
        record |= {"sent": self._done.sent - sent, "failed": why}
        record |= _paths(self.given)
        self.tournament.state.take_call(record)
        self._appender.append([record])

    def _ask(self) -> bool:
        """Queue requests up to the window; return whether any waits for its answer."""
        while len(self._waiting) < self.window and self._refill():
            self._request(self._pending.popleft())
        if self.progress is not None:
            done, calls = self._done.counted, len(self._pending) + len(self._waiting)
            self.progress(self._stage(calls), done, done + calls)
        return bool(self._waiting)

    def _request(self, request: Request) -> None:
        """Queue a request, unless the cache has its answer."""
        done = self._done
        name = str(done.sent + done.cached + 1)
        self._waiting[name] = request
        fields = "query_id", "doc_id", "other_doc_id", "round", "number"
        about: dict[str, Any] = dict(zip(fields, request, strict=False))
        prompt = about | {
            key.replace("_id", "_text"): saying[about[key]]
            for key, saying in self._texts.items()
            if about[key] in saying
        }
        if answer := self._cache.get(prompt):
            done.cached += 1
            self._take(json.dumps({"id": name, **answer}).encode())
            return
        done.sent += 1
        self._prompts[name] = prompt
        self._outbox.append({"id": name, **prompt})

    def _stage(self, calls: int) -> str:
        """Describe the cost so far, and the time left for the open requests."""
        done = self._done
        words = [counted(done.sent, "call")]
        words += [f"{done.cached} known"] if done.cached else []
        words += [f"cost {done.cost:.4g}"] if done.cost else []
        words += [f"{done.tokens:,.0f} tokens"] if done.tokens else []
        if answered := done.sent - len(self._waiting):
            seconds = (time.monotonic() - self._began) / answered * calls
            words.append(f"about {_duration(seconds)} left for the open requests")
        return f"answers: {', '.join(words)}"

    def _refill(self) -> bool:
        """List open requests that were not sent yet; return whether there are any."""
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
        """Identify a request independently of other votes on its pair."""
        if self.tournament.settings.sides == "both":
            return request.query, request.first, request.second
        return request.query, *pair_of(request.first, request.second)

    def _take(self, line: bytes) -> None:
        """Count an answer, and store it on disk."""
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
                raise Unknown(f"no request waits for an answer with the id {name!r}")
            more |= {
                name: _number(fields, name, *_NUMBERS[name])
                for name in _NUMBERS
                if fields.get(name) is not None
            }
            self._done.cost += more.get("cost", 0.0)
            self._done.tokens += more.get("tokens", 0.0)
            prompt = self._prompts.pop(str(fields["id"]), None)
            if self._count(request, fields, more) and prompt:
                self._cache.add(prompt, fields)
        except Unreadable as error:
            record = {"what": "aside", "why": str(error), "said": text[:_LONGEST]}
            self._keep([record | more])
            if request is not None:
                self._fail(request)
            if isinstance(error, Unknown):
                return
            self._unreadable = DataError(
                f"an answer cannot be read: {error}, found {shorten(text, _SHOWN)}",
                where=self.command,
                mend='An answer is such as {"id": "1", "preference": 1}. Mend the '
                "program; the same call goes on.",
            )

    def _count(self, request: Request, fields: Record, more: Record) -> bool:
        """Count an answer; return whether it counts."""
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
        answers = [Answer(request.query, *two, sign, request.first, judge)]
        answers += [Answer(request.query, d, None, -1, None, judge) for d in bad]
        records = []
        for answer in answers:
            rest = more if answer.other else {"from": self.command}
            record = answer_record(answer, round=request.round, **rest)
            if not (why := state.count(record)):
                records.append(record)
            elif answer.other or not state.settings.bad:
                records.append(aside(record, why))
            # Else the round is over, and the bad document needs no record.
        self._keep(records)
        if any(r["what"] == "answer" for r in records):
            return True
        self._done.given_up.append(request)  # a repeated answer would not count either
        return False

    def _keep(self, records: list[Record]) -> None:
        """Write records of answers that count, or that are set aside."""
        for record in records:
            if record["what"] == "answer":
                self._done.counted, self._useless = self._done.counted + 1, 0
            else:
                self.tournament.state.keep_aside(record)
                self._done.aside.append(record["why"])
                self._useless += 1
        self._appender.append(records)

    def _fail(self, request: Request) -> None:
        """Note a failed request, and give it up after the last retry."""
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
    """Return the files among sources, for the command line of the next call."""
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


def _duration(seconds: float) -> str:
    """Write a duration in its largest unit."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


class _Cache:
    """Answers of a program by prompt, in an append-only file.

    The prompt holds the content of the request, the number of the judge among several,
    the command, and the name of the judge.
    """

    def __init__(self, path: Path, command: str, name: str | None):
        self._path, self._of, self._known, self._cut = path, [command, name], {}, ""
        if path.exists():
            lines = path.read_bytes().splitlines(keepends=True)
            self._cut = "" if lines and lines[-1].endswith(b"\n") else "\n"
            for line in lines:
                with suppress(ValueError, KeyError, TypeError):  # a line cut short
                    record = json.loads(line)
                    self._known[record["prompt"]] = record["answer"]

    def _name(self, prompt: Record) -> str:
        shown = {name: value for name, value in prompt.items() if name != "round"}
        text = json.dumps([*self._of, shown], sort_keys=True)
        return blake2b(text.encode(), digest_size=16).hexdigest()

    def get(self, prompt: Record) -> Record | None:
        """Return the answer, which costs nothing now."""
        return self._known.get(self._name(prompt))

    def add(self, prompt: Record, fields: Record) -> None:
        """Keep an answer."""
        answer = {k: v for k, v in fields.items() if k not in ("id", *_PAID)}
        name = self._name(prompt)
        self._known[name] = answer
        line = json.dumps({"prompt": name, "answer": answer})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{self._cut}{line}\n")
        self._cut = ""
