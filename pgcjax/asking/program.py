"""A program that judges: requests as JSON lines to its input, answers from its output.

It is started again when it ends or is silent too long. Each answer is on disk before
the next one is read, so that whatever is killed loses no answer that was paid for.
"""

import math
import queue
import warnings
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from pgcjax.asking.asked import Answer, Request
from pgcjax.asking.process import Process
from pgcjax.asking.replies import Unreadable, fields_of, has_sign, numbers_of, sign_of
from pgcjax.asking.rounds import pair_of
from pgcjax.asking.session import Tournament
from pgcjax.asking.state import record_of
from pgcjax.errors import DataError, DataWarning, Progress, UsageError, counted
from pgcjax.io.schema import shorten

_USELESS = 20  # answers in a row, at least, none of which counts
_LONGEST = 2000  # characters of a line that is no answer
Key = tuple[str, str, str]


@dataclass(frozen=True)
class ProgramLimits:
    """What a program may take.

    Attributes:
        seconds: without an answer, after which it is stopped and started again.
        retries: how often a request is sent again, and a program started again that
            gave no answer.
        window: requests that wait for an answer at a time.
        most: requests in all; None for any number.
        most_cost: after which nothing more is asked; None for any.
    """

    seconds: float = 60.0
    retries: int = 2
    window: int = 16
    most: int | None = None
    most_cost: float | None = None

    def __post_init__(self) -> None:
        for name in ("seconds", "window", "most", "most_cost"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise UsageError(f"{name}: expected more than 0, found {value}")
        if self.retries < 0:
            raise UsageError(f"retries: expected 0 or more, found {self.retries}")


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


def judge(
    tournament: Tournament,
    command: str,
    name: str | None,
    limits: ProgramLimits,
    progress: Progress | None,
) -> Judged:
    """Let a program judge what is open, as `Tournament.judge` says.

    A request is a line such as `{"id": "7", "query_id": "q", "doc_id": "a",
    "other_doc_id": "b", "round": 1, "number": 1}`; a is to be shown first. The answer
    has the same id and `preference` (above 0: doc_id is better; below 0: the other; 0:
    a tie) or `winner` (one of the two, or "tie"). It may have `cost`, `judge`,
    `probability` (that doc_id is better), `seconds`, `time`, and `bad` (documents).
    With inference, one pair of a query is asked at a time.
    """
    return _Judging(tournament, command, name, limits, progress).run()


class _Judging:
    """One call of `judge`."""

    def __init__(
        self,
        tournament: Tournament,
        command: str,
        name: str | None,
        limits: ProgramLimits,
        progress: Progress | None,
    ):
        self._tournament, self._command, self._name = tournament, command, name
        self._limits, self._progress = limits, progress
        self._done = Judged()
        self._useless, self._from = 0, {"from": command}
        self._failed: Counter[Key] = Counter()
        self._pending: deque[Request] = deque()
        self._waiting: dict[str, Request] = {}

    def run(self) -> Judged:
        """Start the program, again and again, until nothing is left to ask."""
        silent = 0
        with self._tournament.adding() as self._appender:
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
                if silent > self._limits.retries:
                    raise self._useless_program(f"{why}, {counted(silent, 'time')}")
        return self._done

    def _one_process(self) -> str:
        """Let one process of the program judge; say what it failed at, or ""."""
        sent = self._done.sent
        process = Process(self._command)
        why = ""
        try:
            while self._send(process):
                try:
                    line = process.lines.get(timeout=self._limits.seconds)
                except queue.Empty:
                    why = f"gave no answer for {self._limits.seconds:g} s"
                    break
                if line is None:
                    left = counted(len(self._waiting), "request")
                    why = f"ended with status {process.wait()}, {left} unanswered"
                    break
                self._take(line)
                if self._useless > max(_USELESS, self._limits.window):
                    raise self._useless_program(
                        f"{self._useless} answers in a row do not count; the last: "
                        f"{self._done.aside[-1]}"
                    )
        finally:
            for line in process.stop(gently=not why):
                self._take(line)
            sent = self._done.sent - sent
            record = {"what": "calls", "command": self._command, "judge": self._name}
            record = {**record, "sent": sent, "failed": why}
            self._tournament.state.called(record)
            self._appender.append([record])
        return why

    def _send(self, process: Process) -> bool:
        """Send requests until enough wait; say whether one does."""
        while len(self._waiting) < self._limits.window and self._refill():
            request = self._pending.popleft()
            self._done.sent += 1
            name = str(self._done.sent)
            self._waiting[name] = request
            process.send(
                {
                    "id": name,
                    "query_id": request.query,
                    "doc_id": request.first,
                    "other_doc_id": request.second,
                    "round": request.round,
                    "number": request.number,
                }
            )
        if self._progress is not None:
            left = len(self._pending) + len(self._waiting)
            self._progress("answers", self._done.counted, self._done.counted + left)
        return bool(self._waiting)

    def _refill(self) -> bool:
        """List what is open and waits for no answer; say whether there is anything."""
        done, limits = self._done, self._limits
        if (limits.most is not None and done.sent >= limits.most) or (
            limits.most_cost is not None and done.cost >= limits.most_cost
        ):
            done.stopped = True
            return False
        if self._pending:
            return True
        state = self._tournament.state
        fewer = state.settings.infer != "none" or state.settings.bad
        at_once = 1 + len(done.given_up) if fewer else None
        held = Counter(map(self._key, (*self._waiting.values(), *done.given_up)))
        for request in state.requests(at_once, self._name):
            if held[self._key(request)]:
                held[self._key(request)] -= 1
            else:
                self._pending.append(request)
        return bool(self._pending)

    def _key(self, request: Request) -> Key:
        """Name a request, whatever other votes there are on its pair."""
        if self._tournament.settings.sides == "both":
            return request.query, request.first, request.second
        return request.query, *pair_of(request.first, request.second)

    def _take(self, line: bytes) -> None:
        """Count an answer, and keep it on disk."""
        text = line.decode(errors="backslashreplace").strip()
        if not text:
            return
        request, why = None, ""
        more: dict[str, Any] = {**self._from}
        try:
            fields = fields_of(text)
            request = self._waiting.pop(str(fields.get("id")), None)
            if request is None:
                why = f"no request waits for an answer with the id {fields.get('id')!r}"
            else:
                more |= numbers_of(fields)
                self._done.cost += more.get("cost", 0.0)
                self._count(request, fields, more)
                return
        except Unreadable as error:
            why = str(error)
        if not (self._done.counted or self._done.aside):
            warnings.warn(
                f"{self._command}: its first answer does not count: {why}, found "
                f"{shorten(text)}; an answer is such as "
                '{"id": "1", "preference": 1}',
                DataWarning,
                stacklevel=6,
            )
        record = {"what": "aside", "why": why, "said": text[:_LONGEST], **more}
        self._keep(record)
        self._appender.append([record])
        if request is not None:
            self._fail(request)

    def _count(self, request: Request, fields: dict[str, Any], more: Any) -> None:
        """Count the answer to a request."""
        judge = fields.get("judge", self._name)
        if judge is not None and not (isinstance(judge, str) and judge.isprintable()):
            raise Unreadable(f"expected a name as judge, found {judge!r}")
        two, state = (request.first, request.second), self._tournament.state
        bad = fields.get("bad", [])
        if not isinstance(bad, list) or not all(d in two for d in bad):
            raise Unreadable(f"expected documents of the request as bad, found {bad!r}")
        if bad and not has_sign(fields):
            sign = (two[1] in bad) - (two[0] in bad)
        else:
            sign = sign_of(fields, two)
        pair = Answer(request.query, *two, sign, two[0], judge)
        if bad:
            more["bad"] = bad
        records = [record_of(pair, state.give(pair), round=request.round, **more)]
        for document in bad:
            answer = Answer(request.query, document, None, -1, None, judge)
            why = state.give(answer)
            if (
                not why or not state.settings.bad
            ):  # else its round is over, which is fine
                record = record_of(answer, why, round=request.round, **self._from)
                records.append(record)
        counts = [record["what"] == "answer" for record in records]
        for record in records:
            self._keep(record)
        self._appender.append(records)
        if not any(counts):  # nor would the same answer again
            self._done.given_up.append(request)

    def _keep(self, record: dict[str, Any]) -> None:
        """Count an answer, or keep it aside."""
        self._tournament.state.keep(record)
        if record["what"] == "answer":
            self._done.counted, self._useless = self._done.counted + 1, 0
        else:
            self._done.aside.append(record["why"])
            self._useless += 1

    def _fail(self, request: Request) -> None:
        """Send a request again later, if not too often."""
        self._failed[self._key(request)] += 1
        if self._failed[self._key(request)] > self._limits.retries:
            self._done.given_up.append(request)

    def _useless_program(self, problem: str) -> DataError:
        return DataError(
            problem,
            where=self._command,
            mend="Try it on a line of pgcjax ask requests -o FILE.jsonl. It has to "
            "write out each answer at once (in Python print(…, flush=True)).",
        )
