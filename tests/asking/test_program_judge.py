"""Programs that judge: what they may say, and how they may fail."""

import json
import queue
import sys

import pytest

import pgcjax
from pgcjax.asking import log, program
from pgcjax.asking.state import status_lines as lines
from pgcjax.errors import DataError, UsageError

QRELS = {"q": dict.fromkeys("abcd", 1), "r": dict.fromkeys("xyz", 2)}
PAIRS = 9


def start(folder, qrels=QRELS, **how) -> pgcjax.ask.Tournament:
    return pgcjax.ask.Tournament.start(folder / "state", qrels, **how)


class Stub:
    """A process in this one; `answer(request)` gives lines; None ends it."""

    answer = staticmethod(lambda request: [])
    started = 0

    def __init__(self, command):
        type(self).started += 1
        self.lines, self.dead = queue.SimpleQueue(), False

    def send(self, request):
        if self.dead:
            return
        for line in self.answer(request):
            self.lines.put(line if line is None else json.dumps(line).encode())
            self.dead = self.dead or line is None

    def wait(self):
        return 7

    def stop(self, gently):
        while not self.lines.empty():
            if (line := self.lines.get()) is not None:
                yield line


@pytest.fixture
def stub(monkeypatch):
    """Give the function that judges; limits are small."""

    def judge_by(tournament, answer, **limits):
        kind = type("Kind", (Stub,), {"answer": staticmethod(answer), "started": 0})
        monkeypatch.setattr(program, "Process", kind)
        limits = {"seconds": 0.01, "window": 3, "retries": 1} | limits
        return tournament.judge("judge.py", **limits), kind.started

    return judge_by


def first_id(request, **more):
    return {
        "id": request["id"],
        "winner": min(request["doc_id"], request["other_doc_id"]),
    } | more


@pytest.mark.parametrize("infer", ["none", "judge", "majority"])
@pytest.mark.parametrize("sides", ["random", "both"])
def test_a_program_judges_to_the_end(tmp_path, stub, sides, infer):
    qrels = QRELS | {"q": dict.fromkeys("abcdefgh", 1)}
    tournament = start(tmp_path, qrels, sides=sides, infer=infer, judges=2)
    requests = []

    def answer(request):
        requests.append(request)
        return [
            first_id(
                request,
                cost=0.25,
                probability=0.5,
                seconds=1,
                judge=f"j{request['number']}",
            )
        ]

    done, started = stub(tournament, answer)
    assert (done.sent, done.counted, done.given_up) == (len(requests),) * 2 + ([],)
    assert (started, done.cost) == (1, len(requests) / 4)
    full = (28 + 3) * 2 * (2 if sides == "both" else 1)
    assert len(requests) == full if infer == "none" else len(requests) < full
    found = pgcjax.ask.Tournament(tournament.folder).finish()
    tops = {q: of["doc_id"].tolist() for q, of in found.top.groupby("query_id")}
    assert tops == {"q": [*"abcde"], "r": ["x", "y"]}
    shown = {
        (r["query_id"], r["doc_id"], r["other_doc_id"], r["number"]) for r in requests
    }
    assert len(shown) == len(requests)
    assert tournament.state.calls == len(requests)
    assert tournament.state.saved().total() == full - len(requests)
    assert found.votes["first"].tolist() == found.votes["doc_id"].tolist()


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ([], "expected an object in JSON"),
        ({}, "expected preference, or a document or tie as winner: None"),
        ({"winner": "z"}, "expected preference, or a document or tie as winner: 'z'"),
        ({"preference": "1"}, "expected a number as preference, found '1'"),
        ({"preference": True}, "expected a number as preference, found True"),
        ({"preference": float("nan")}, "expected a number as preference, found nan"),
        ({"preference": 1, "cost": -1}, "expected a number as cost, found -1"),
        (
            {"preference": 1, "probability": 2},
            "expected a number as probability, found 2",
        ),
        ({"preference": 1, "judge": 3}, "expected a name as judge, found 3"),
        ({"bad": "a"}, "expected documents of the request as bad, found 'a'"),
        ({"bad": ["z"]}, "expected documents of the request as bad, found ['z']"),
    ],
)
def test_an_answer_that_cannot_be_read_stops_it_at_once(tmp_path, stub, reply, why):
    """It is shown, and kept as it is; the same call goes on."""
    tournament, asked = start(tmp_path), []

    def answer(request):
        asked.append(request)
        if len(asked) < 3:
            return [first_id(request)]
        own = {"id": request["id"]} | reply if isinstance(reply, dict) else reply
        return [own]

    with pytest.raises(DataError) as error:
        stub(tournament, answer, window=1)
    assert len(asked) == 3
    again = pgcjax.ask.Tournament(tournament.folder)
    (aside,) = again.state.asides
    assert aside["why"] == why and aside["from"] == "judge.py"
    assert str(error.value) == (
        f"judge.py: an answer cannot be read: {why}, found {aside['said']!r}. An "
        'answer is such as {"id": "1", "preference": 1}. Mend the program; the same '
        "call goes on."
    )
    done, _ = stub(again, lambda r: [first_id(r)])
    assert (done.sent, done.counted, len(again.state.answers)) == (7, 7, PAIRS)


def test_an_answer_to_nothing_is_kept_aside(tmp_path, stub):
    tournament = start(tmp_path, {"q": {"a": 1, "b": 1}})
    done, _ = stub(tournament, lambda r: [{"id": "no"}, first_id(r)])
    why = "no request waits for an answer with the id 'no'"
    assert (done.counted, done.aside) == (1, [why])


def test_bad_documents(tmp_path, stub):
    """Who is bad loses: the program need not say so, nor be asked about it again."""
    tournament = start(tmp_path, bad=True)

    def answer(request):
        two = request["doc_id"], request["other_doc_id"]
        bad = [d for d in two if d in "cdz"]
        own = first_id(request) if not bad else {"id": request["id"], "bad": bad}
        return [own | {"cost": 1}]

    done, _ = stub(tournament, answer)
    assert (done.given_up, done.aside) == ([], [])
    assert done.sent == done.cost < PAIRS
    assert tournament.state.saved() == {"bad": PAIRS - done.sent}
    again = pgcjax.ask.Tournament(tournament.folder)
    assert again.finish().top.values.tolist() == [
        ["q", "a", 3.0],
        ["q", "b", 2.0],
        ["q", "c", 0.5],
        ["q", "d", 0.5],
        ["r", "x", 2.0],
        ["r", "y", 1.0],
    ]
    said = {
        (r["doc_id"], r["preference"])
        for r in again.state.answers
        if "other_doc_id" not in r
    }
    assert said == {("c", -1), ("d", -1), ("z", -1)}
    # Elsewhere, a bad document loses its comparison, and that is all.
    other = start(tmp_path / "other")
    done, _ = stub(other, answer)
    assert done.sent == PAIRS and {*done.aside} == {
        "it calls a document bad, and the tournament was started without bad",
        "the query is decided already",
    }
    assert other.finish().top.equals(again.finish().top)


def test_a_judge_is_asked_once(tmp_path, stub):
    """Two judges are needed; a program that is always one of them does not help."""
    tournament = start(tmp_path, judges=2)
    done, _ = stub(tournament, lambda r: [first_id(r, judge="me")])
    assert done.counted == len(done.given_up) == PAIRS and done.sent == 2 * PAIRS
    assert {*done.aside} == {"the same judge said so before"}
    done, _ = stub(tournament, lambda r: [first_id(r)])  # somebody else
    assert (done.sent, done.counted) == (PAIRS, PAIRS)
    named = start(tmp_path / "named", judges=2)
    done = named.judge("judge.py", name="me", window=3)
    assert (done.sent, done.counted, done.given_up) == (PAIRS, PAIRS, [])


def test_limits(tmp_path, stub):
    tournament = start(tmp_path)
    done, _ = stub(tournament, lambda r: [first_id(r, cost=2)], most=4)
    assert (done.sent, done.counted, done.stopped) == (4, 4, True)
    done, _ = stub(tournament, lambda r: [first_id(r, cost=2)], most_cost=3, window=1)
    assert (done.sent, done.cost, done.stopped) == (2, 4.0, True)
    for wrong in ({"seconds": 0}, {"window": 0}, {"most": -1}, {"most_cost": 0.0}):
        ((name, value),) = wrong.items()
        with pytest.raises(UsageError) as error:
            tournament.judge("judge.py", **wrong)
        assert str(error.value) == f"{name}: expected more than 0, found {value}"
    with pytest.raises(UsageError, match="retries: expected 0 or more, found -1"):
        tournament.judge("judge.py", retries=-1)


def test_an_equal_request_is_answered_once(tmp_path, stub):
    """A tournament that starts again asks nothing that was asked before."""
    texts = {"topics": {"q": "one", "r": "two"}}
    tournament = start(tmp_path)
    done, _ = stub(tournament, lambda r: [first_id(r, cost=2, tokens=10)], **texts)
    assert (done.sent, done.cached, done.cost, done.tokens) == (PAIRS, 0, 18, 90)
    votes = tournament.finish().votes.drop(columns="cost")

    def again(**how):
        (tournament.folder / log.NAME).unlink()
        return stub(start(tmp_path), lambda r: [first_id(r)], **(texts | how))

    done, started = again()
    assert (done.sent, done.cached, done.cost, started) == (0, PAIRS, 0, 0)
    found = pgcjax.ask.Tournament(tournament.folder).finish().votes
    assert found.drop(columns="cost", errors="ignore").equals(votes)
    # Another prompt, or another judge, is asked.
    done, _ = again(topics={"q": "one", "r": "three"})
    assert (done.sent, done.cached) == (3, PAIRS - 3)
    done, _ = again(name="other")
    assert (done.sent, done.cached) == (PAIRS, 0)
    with (tournament.folder / program.CACHE).open("a") as file:
        file.write('{"prompt": "cut sh')  # as where it was killed
    assert again(name="third")[0].cached == 0
    assert again()[0].cached == again(name="third")[0].cached == PAIRS


def test_progress_tells_calls_cost_and_what_is_left(tmp_path, stub, monkeypatch):
    """A call takes a minute: of 9 pairs 4 are answered."""
    monkeypatch.setattr(program, "_duration", lambda seconds: f"{seconds:.4g} s")
    told = []
    limits = {"window": 1, "progress": lambda *of: told.append(of)}
    clock = [0.0]
    monkeypatch.setattr(program.time, "monotonic", lambda: clock[0])

    def answer(request):
        clock[0] += 60
        return [first_id(request, cost=0.5, tokens=700)]

    stub(start(tmp_path), answer, **limits)
    (stage, *of) = next(of for of in told if of[1] == 4)
    assert of == [4, PAIRS]
    assert stage.startswith("answers: 5 calls, cost 2, 2,800 tokens, about ")
    assert stage.endswith(" s left for the open requests")


@pytest.mark.parametrize(
    "seconds, words", [(59.6, "60 s"), (150, "2 min"), (7100, "118 min"), (9000, "2 h")]
)
def test_durations(seconds, words):
    assert program._duration(seconds) == words


def test_status_recommends_the_program_that_judged(tmp_path, stub):
    tournament = start(tmp_path)
    folder = str(tournament.folder)
    asks = f"next: pgcjax ask requests {folder} -o requests.txt, have them"
    assert lines(tournament.state, folder)[-1].startswith(asks)
    stub(tournament, lambda r: [first_id(r)], most=4, name="a model")
    own = f"next: pgcjax ask judge {folder} judge.py --judge 'a model'"
    for state in (tournament.state, pgcjax.ask.Tournament(folder).state):
        assert lines(state, folder)[-1] == own
    votes = tournament.requests()[:1].assign(preference=1.0).drop(columns="judge")
    tournament.add(votes)  # somebody else goes on
    for state in (tournament.state, pgcjax.ask.Tournament(folder).state):
        assert lines(state, folder)[-1].startswith(asks)
    with pytest.raises(DataError, match="gave no answer"):
        stub(tournament, lambda r: [])
    assert lines(tournament.state, folder)[-1].startswith(asks)
    stub(tournament, lambda r: [first_id(r)])
    assert lines(tournament.state, folder)[-1].startswith("next: pgcjax ask finish")


def test_a_program_that_ends_or_is_silent_is_started_again(tmp_path, stub):
    tournament, silent = start(tmp_path), {"3"}

    def answer(request):
        if request["id"] in ("5", "8"):
            return [first_id(request), None]
        return [] if request["id"] in silent else [first_id(request)]

    done, started = stub(tournament, answer, window=2, retries=2)
    assert done.failures[0].startswith("ended with status 7, ")
    assert started == len(done.failures) + 1 > 2 and done.counted == PAIRS
    assert tournament.state.calls == done.sent > PAIRS
    # What a process wrote before it was stopped counts.
    late = start(tmp_path / "late")
    monkey = stub(late, lambda r: [first_id(r)] if r["id"] != "1" else [], window=3)[0]
    assert monkey.failures == ["gave no answer for 0.01 s"]
    assert monkey.sent == PAIRS + 1


TRY = (
    "Try it on a line of pgcjax ask requests -o FILE.jsonl. It has to write out each "
    "answer at once (in Python print(…, flush=True))."
)


@pytest.mark.parametrize(
    ("answer", "problem", "calls"),
    [
        (lambda r: [], "gave no answer for 0.01 s, 2 times", 6),
        (lambda r: [None], "ended with status 7, 3 requests unanswered, 2 times", 6),
        (
            lambda r: [{"id": "x"}],
            "21 answers in a row were invalid; the last: no request waits for an "
            "answer with the id 'x'",
            None,
        ),
    ],
)
def test_a_useless_program_is_an_error(tmp_path, stub, answer, problem, calls):
    tournament = start(tmp_path, {"q": dict.fromkeys("abcdefgh", 1)})
    if calls is None:
        forever = answer
        answer = lambda r: forever(r) * 30  # noqa: E731
    with pytest.raises(DataError) as error:
        stub(tournament, answer)
    assert str(error.value) == f"judge.py: {problem}. {TRY}"
    again = pgcjax.ask.Tournament(tournament.folder)
    assert again.state.answers == [] and calls in (None, again.state.calls)


def test_requests_without_an_answer_are_given_up(tmp_path, stub):
    """Others are still asked; the same call asks again."""
    tournament = start(tmp_path)

    def answer(request):
        return (
            []
            if {request["doc_id"], request["other_doc_id"]} == {*"ab"}
            else [first_id(request)]
        )

    done, _ = stub(tournament, answer)
    assert [{r.first, r.second} for r in done.given_up] == [{*"ab"}]
    assert done.counted == PAIRS - 1
    done, _ = stub(tournament, lambda r: [first_id(r)])
    assert (done.sent, done.counted) == (1, 1)


class Killed(BaseException):
    pass


def test_killed_at_any_answer(tmp_path, stub, monkeypatch):
    """Whatever is killed, and when: what was paid for is kept, and asked once."""
    take, qrels = program.Judging._take, QRELS | {"q": {"a": 1, "b": 1}}
    for when in range(4):
        for after in (False, True):
            tournament = start(tmp_path / f"{when}{after}", qrels)
            count = iter(range(5))

            def killed(self, line, count=count, when=when, after=after):
                now = next(count)
                if now == when and not after:
                    raise Killed
                take(self, line)
                if now == when:
                    raise Killed

            monkeypatch.setattr(program.Judging, "_take", killed)
            with pytest.raises(Killed):
                stub(tournament, lambda r: [first_id(r)], window=1)
            monkeypatch.setattr(program.Judging, "_take", take)
            again = pgcjax.ask.Tournament(tournament.folder)
            assert len(again.state.answers) == when + after
            done, _ = stub(again, lambda r: [first_id(r)], window=1)
            assert done.sent == 4 - when - after
            assert again.finish().top["doc_id"].tolist() == ["a", "x", "y"]


PROGRAM = """
import json, sys
for i, line in enumerate(sys.stdin):
    request = json.loads(line)
    if i == 4:
        sys.exit(3)
    better = min(request["doc_id"], request["other_doc_id"])
    print(json.dumps({"id": request["id"], "winner": better}), flush=True)
"""


def test_a_real_process(tmp_path):
    (tmp_path / "judge.py").write_text(PROGRAM)
    tournament = start(tmp_path)
    command = f"{sys.executable} -S {tmp_path}/judge.py"
    done = tournament.judge(command, window=2, name="me")
    assert done.counted == PAIRS and len(done.failures) == 2
    assert done.failures[0].startswith("ended with status 3, ")
    assert {a["judge"] for a in tournament.state.answers} == {"me"}
    assert (tournament.folder / log.NAME).read_text().count('"what": "calls"') == 3
    other = start(tmp_path / "other")
    for command, why in (
        ("./no-such-program --fast", "No such file or directory"),
        ("'unclosed", "No closing quotation"),
        ("", "it names no program"),
    ):
        with pytest.raises(DataError) as error:
            other.judge(command)
        assert str(error.value) == (
            f"{command + ': ' if command else ''}cannot be started: {why}. Give a "
            "program and its arguments: 'python judge.py'."
        )
