"""Tournaments in a folder: whatever answers come, and however calls end."""

import json
import re
import zlib

import pandas as pd
import pytest

import pgcjax
from pgcjax.asking import log
from pgcjax.asking.state import State
from pgcjax.asking.state import status_lines as lines
from pgcjax.errors import DataError, DataWarning, UsageError

SMALL = {"k": 1, "pairings": 2, "final": 3}
QRELS = {"q": dict.fromkeys("abcdef", 1), "r": {"x": 2, "y": 2, "z": 0}}
COLUMNS = ["query_id", "doc_id", "other_doc_id", "preference"]


def start(folder, qrels=QRELS, **how) -> pgcjax.ask.Tournament:
    return pgcjax.ask.Tournament.start(folder / "state", qrels, **{**SMALL, **how})


def rows(*lines: str) -> pd.DataFrame:
    """Answers of lines `query a b sign`, perhaps with a judge."""
    parts = [line.split() for line in lines]
    table = pd.DataFrame([part[:4] for part in parts], columns=COLUMNS)
    table["preference"] = table["preference"].astype(float)
    judges = [part[4] if len(part) > 4 else None for part in parts]
    return table.assign(judge=judges) if any(judges) else table


def text(requests: pd.DataFrame) -> str:
    """Answers that prefer the first id, as Clarke's lines."""
    pairs = requests[COLUMNS[:3]].itertuples(index=False)
    return "".join(f"{q} {a} {b} {min(a, b)}\n" for q, a, b in pairs)


def all_answers(folder, **how) -> str:
    """Answer a tournament to its end; give all answers, a line each."""
    tournament, said = start(folder, **how), ""
    while len(requests := tournament.requests()):
        (folder / "round.txt").write_text(text(requests))
        said += text(requests)
        tournament.add(folder / "round.txt")
    return said


def result(tournament) -> list:
    found = tournament.finish()
    return [
        found.qrels.values.tolist(),
        found.votes.drop(columns="round").values.tolist(),
    ]


def test_answers_that_do_not_count(tmp_path):
    tournament = start(tmp_path, {"q": dict.fromkeys("abc", 1)}, judges=2)
    answers = rows(
        "q a b 1 one",
        "q b a -1 one",  # says so again
        "q b a 1 one",  # says otherwise
        "q a b 0 two",
        "q a b 1 three",  # one more than was asked for counts while the round is open
        "q b c 1",
        "q b c -1",
        "q b c 1",
        "q a d 1",
        "p a b 1",
        "q a c 1 one",
        "q a c 1 two",
        "q a c 1 three",
    )
    added = tournament.add(answers)
    assert added.aside["why"].tolist() == [
        "the same judge said so before",
        "the same judge said otherwise before",
        "the pair has its answers already",
        "document 'd' has no grade",
        "query 'p' has no grades",
        "the query is decided already",
    ]
    assert added.aside["where"].tolist() == [
        f"preferences, row {i}" for i in (2, 3, 8, 9, 10, 13)
    ]
    assert (added.counted, added.before) == (7, 0)
    again = pgcjax.ask.Tournament(tournament.folder)
    assert [r["why"] for r in again.state.asides] == added.aside["why"].tolist()
    assert again.state.cost == 0
    assert lines(again.state, "state") == [
        "1 query: 1 decided",
        "7 answers counted, 6 set aside, 0 missing in the open rounds",
        "next: pgcjax ask finish state -o top.qrels.txt",
    ]
    found = again.finish()
    # a has beaten b (2 of 3 say so) and c; b and c have tied
    assert found.top.values.tolist() == [["q", "a", 2.0]]
    assert found.qrels.values.tolist() == [
        ["q", "a", 103.0],
        ["q", "b", 1.0],
        ["q", "c", 1.0],
    ]
    assert found.votes["judge"].tolist()[:3] == ["one", "two", "three"]


def test_requests(tmp_path):
    """A pair in both orders is a vote of one judge; sides turn from vote to vote."""
    tournament = start(tmp_path, {"q": dict.fromkeys("ab", 1)}, judges=2)
    asked = tournament.requests()
    assert sorted(asked["first"]) == ["a", "b"] and asked["number"].tolist() == [1, 2]
    tournament.add(rows("q a b 1 me"))
    assert len(tournament.requests()) == 1
    assert tournament.requests(judge="me").empty
    both = start(tmp_path / "both", {"q": dict.fromkeys("ab", 1)}, sides="both")
    assert sorted(both.requests()["first"]) == ["a", "b"]
    both.add(rows("q a b 1 me").assign(first="b"))
    (request,) = both.requests().values.tolist()
    assert request == ["q", "a", "b", "a", 1, 1, "me"]
    both.add(rows("q a b -1 me").assign(first="a"))  # prefers what is shown second
    assert both.finish().top.values.tolist() == [["q", "a", 0.5], ["q", "b", 0.5]]


def test_a_row_may_stand_for_several_judges(tmp_path):
    tournament = start(tmp_path, {"q": dict.fromkeys("ab", 1)}, judges=3)
    added = tournament.add(rows("q a b -1", "q a b 1").assign(weight=[2.0, 1.0]))
    assert added.counted == len(tournament.state.answers) == 3
    assert tournament.finish().top.values.tolist() == [["q", "b", 1.0]]


def test_lines_in_both_orders_need_not_say_which_was_first(tmp_path):
    tournament = start(tmp_path, {"q": dict.fromkeys("ab", 1)}, sides="both")
    for name, winner in (("one", "b"), ("two", "b")):
        (tmp_path / name).write_text(f"q {winner} a\n")  # query winner loser
        tournament.add(tmp_path / name)
    assert tournament.finish().top.values.tolist() == [["q", "b", 1.0]]


@pytest.mark.parametrize("infer", ["majority", "judge"])
def test_what_follows_is_not_asked(tmp_path, infer):
    """Of the 28 pairs of eight documents, chains of answers leave far fewer."""
    qrels = {"q": dict.fromkeys("abcdefgh", 1)}
    tournament = pgcjax.ask.Tournament.start(tmp_path / "state", qrels, infer=infer)
    asked = 0
    while len(requests := tournament.requests(at_once=1)):
        ((one, other),) = requests[COLUMNS[1:3]].values.tolist()
        tournament.add(rows(f"q {one} {other} {1 if one < other else -1}"))
        asked += 1
    assert 7 <= asked <= 20
    assert tournament.state.saved() == {"transitive": 28 - asked}
    top = tournament.finish().top[["doc_id", "wins"]].values.tolist()
    assert top == [["a", 7.0], ["b", 6.0], ["c", 5.0], ["d", 4.0], ["e", 3.0]]
    assert lines(tournament.state, "state")[2] == (
        f"{28 - asked} answers not needed: {28 - asked} as a chain of answers leads "
        "there"
    )


def test_bad_documents_are_not_asked_about(tmp_path):
    tournament = start(tmp_path, {"q": dict.fromkeys("abcd", 1)}, bad=True, final=4)
    added = tournament.add(
        rows("q a nothing -1", "q b nothing -1", "q z nothing -1").assign(
            other_doc_id=None
        )
    )
    assert added.aside["why"].tolist() == ["document 'z' has no grade"]
    assert tournament.requests()[COLUMNS[1:3]].map(str).apply(
        sorted, axis=1
    ).tolist() == [["c", "d"]]
    tournament.add(rows("q c d 1"))
    assert tournament.finish().top.values.tolist() == [["q", "c", 3.0]]
    assert tournament.state.saved() == {"bad": 5}


def test_contradictions(tmp_path):
    tournament = start(tmp_path, {"q": dict.fromkeys("abcd", 1)}, final=4)
    tournament.add(rows("q a b 1", "q b c 1", "q c a 1", "q d a 1"))
    assert tournament.state.contradictions() == [
        ("q", "", "a", "b"),
        ("q", "", "b", "c"),
        ("q", "", "c", "a"),
    ]


def test_files_may_be_added_again(tmp_path):
    """In part, grown, with answers of later rounds first: each line counts once."""
    said = all_answers(tmp_path / "one").splitlines(keepends=True)
    expected = result(pgcjax.ask.Tournament(tmp_path / "one/state"))
    tournament, path = start(tmp_path / "two"), tmp_path / "answers.txt"
    for part in (said[:3], said[:5], said, said):
        path.write_text("".join(part))
        added = tournament.add(path)
    assert (added.counted, added.before) == (0, len(said))
    assert result(tournament) == expected
    # In any order: what nobody asked for yet waits for its round.
    path.write_text("".join(said[::-1]))
    late = start(tmp_path / "three")
    assert late.add(path).counted == len(said)
    assert late.finish().top.equals(tournament.finish().top)


@pytest.fixture
def answered(tmp_path):
    """Answers in a file, the log with all of them, and the result."""
    said = all_answers(tmp_path / "whole", infer="majority")
    path = tmp_path / "answers.txt"
    path.write_text(said)
    tournament = start(tmp_path / "calm", infer="majority")
    tournament.add(path)
    return path, (tournament.folder / log.NAME).read_bytes(), result(tournament)


def test_a_log_cut_at_any_byte_loads(tmp_path, answered):
    """What was written whole counts; the same answers, added again, end the same."""
    path, data, expected = answered
    tournament = start(tmp_path / "cut", infer="majority")
    own = tournament.folder / log.NAME
    first = own.stat().st_size
    ends = {i + 1 for i, byte in enumerate(data) if byte == 10}
    starts = data.count(b"\n", 0, first)
    for end in range(first, len(data) + 1):
        own.write_bytes(data[:end])
        records, rest = log.read(tournament.folder)
        whole = data.count(b"\n", first, end) + (end + 1 in ends)
        assert len(records) == starts + whole
        assert (rest == b"") == bool({end, end + 1} & ends)
        if end in ends:
            assert len(State(records, "state").answers) == whole
    for end in sorted(
        {e + d for e in ends for d in (-2, -1)} & {*range(first, len(data))}
    ):
        own.write_bytes(data[:end])
        if {end, end + 1} & ends:
            again = pgcjax.ask.Tournament(tournament.folder)
        else:
            with pytest.warns(
                DataWarning, match="log.jsonl: its last line is incomplete"
            ):
                again = pgcjax.ask.Tournament(tournament.folder)
        with pytest.MonkeyPatch.context() as quiet:
            quiet.setattr(log, "warn_of_rest", lambda folder: None)
            again.add(path)
        assert result(again) == expected and own.read_bytes() == data


class Killed(BaseException):
    pass


def test_a_call_killed_at_any_write_loses_nothing(tmp_path, answered, monkeypatch):
    """Before, in the middle of and after each write, of one answer each."""
    path, data, expected = answered
    real, said = log.os.write, path.read_text().splitlines(keepends=True)
    for when in range(len(said)):
        for part in (0.0, 0.4, 1.0):
            tournament = start(tmp_path / f"{when} {part}", infer="majority")
            count, told = iter(range(len(said))), 0

            def write(file, content, count=count, part=part, when=when):
                if next(count) == when:
                    real(file, content[: int(len(content) * part)])
                    raise Killed
                return real(file, content)

            monkeypatch.setattr(log.os, "write", write)
            with pytest.raises(Killed):
                for line in range(len(said)):
                    (tmp_path / "one.txt").write_text("".join(said[: line + 1]))
                    told += tournament.add(tmp_path / "one.txt").counted
            monkeypatch.setattr(log.os, "write", real)
            monkeypatch.setattr(log, "warn_of_rest", lambda folder: None)
            again = pgcjax.ask.Tournament(tournament.folder)
            assert told == when and len(again.state.answers) == when + (part == 1)
            (tmp_path / "one.txt").write_text("".join(said))
            again.add(tmp_path / "one.txt")
            assert result(again)[0] == expected[0]
            assert len(again.state.answers) == len(said)


def test_one_adds_at_a_time(tmp_path):
    tournament = start(tmp_path)
    with tournament.adding(), pytest.raises(UsageError) as error:
        pgcjax.ask.Tournament(tournament.folder).add(rows("q a b 1"))
    assert str(error.value) == (
        f"{tournament.folder}: another process adds answers there. Wait for it to end, "
        "or stop it."
    )


def test_what_another_process_added_is_seen(tmp_path):
    tournament = start(tmp_path, {"q": dict.fromkeys("abc", 1)})
    pgcjax.ask.Tournament(tournament.folder).add(rows("q a b 1"))
    assert tournament.add(rows("q b c 1", "q a c 1")).counted == 2
    assert tournament.finish().top.values.tolist() == [["q", "a", 2.0]]


def unsealed(path) -> list[str]:
    """Lines of a log as it was written before lines had checksums."""
    text = path.read_text("utf-8")
    return re.sub(r', "crc32": "[0-9a-f]{8}"\}', "}", text).splitlines()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda lines: [lines[0], lines[2]],
            "2: contradicts the log above it: query 'q' has no grades. ",
        ),
        (
            lambda lines: [*lines, lines[-1]],
            "4: contradicts the log above it: the pair has its answers already. ",
        ),
        (
            lambda lines: [lines[0], "[]", *lines[1:]],
            "2: is damaged: expected a record in JSON, found something else. ",
        ),
        (
            lambda lines: [lines[0].replace('"procedure": 1', '"procedure": 0')],
            " belongs to a tournament that this version of pgcjax cannot continue. "
            f"Its first line names a version that can: {pgcjax.__version__}.",
        ),
        (
            lambda lines: [lines[0].replace("seed", "sead"), *lines[1:]],
            "1: its settings lack or have a wrong 'seed'. ",
        ),
        (
            lambda lines: [lines[0].replace('"k": 1', '"k": 9'), *lines[1:]],
            "1: its settings lack or have a wrong expected 1 <= k < pairings < final",
        ),
        (
            lambda lines: [lines[0], lines[1].replace('{"a"', '[{"a"') + "]}"],
            "2: is damaged: expected a record in JSON, found something else. ",
        ),
        (
            lambda lines: [lines[0], '{"what": "grades", "query_id": 1, "grades": 2}'],
            "2: contradicts the log above it: lacks or has a wrong ",
        ),
        (
            lambda lines: [*lines[:2], lines[2].replace("preference", "prefers")],
            "3: contradicts the log above it: lacks or has a wrong "
            "'preference'. Restore the log from a copy.",
        ),
    ],
)
def test_a_log_without_checksums_that_was_changed(tmp_path, change, problem):
    tournament = start(tmp_path, {"q": dict.fromkeys("abc", 1)})
    tournament.add(rows("q a b 1"))
    path = tournament.folder / log.NAME
    path.write_text("".join(f"{line}\n" for line in change(unsealed(path))))
    with pytest.raises(DataError) as error:
        pgcjax.ask.Tournament(tournament.folder)
    assert str(error.value).startswith(f"{path}:{problem}")


def test_a_log_that_was_begun_without_checksums(tmp_path):
    """It is read, and what is added has them."""
    tournament = start(tmp_path, {"q": dict.fromkeys("abc", 1)})
    tournament.add(rows("q a b 1 me"))
    path = tournament.folder / log.NAME
    path.write_text("".join(f"{line}\n" for line in unsealed(path)))
    again = pgcjax.ask.Tournament(tournament.folder)
    again.add(rows("q b c 1 me", "q a c 1 me"))
    sealed = ["crc32" in line for line in path.read_text().splitlines()]
    assert sealed == [False] * 3 + [True] * 2
    found = pgcjax.ask.Tournament(tournament.folder).finish()
    assert found.top.values.tolist() == [["q", "a", 2.0]]


@pytest.fixture
def logged(tmp_path):
    """Write the log of a tournament with answers of every kind; return its path."""
    qrels = {"q": dict.fromkeys(["a", "ä", "c"], 1), "r": dict.fromkeys("xy", 2)}
    tournament = start(tmp_path, qrels, bad=True)
    tournament.add(rows("q a ä 1 me", "q ä c -1 me", "r x z 1 me"))
    with tournament.adding() as appender:
        appender.append([{"what": "calls", "command": "judge.py", "sent": 2}])
    tournament.add(rows("r x y -1 me"))
    return tournament.folder / log.NAME


def read_or_refused(path, data: bytes):
    """Read a log that may be damaged: what it says, or the line that is refused."""
    path.write_bytes(data)
    try:
        state = pgcjax.ask.Tournament(path.parent).state
    except DataError as error:
        assert "\n" not in str(error)
        where, number, _ = str(error).split(":", 2)
        assert where == str(path)
        return int(number)
    return state.answers, state.asides, state.calls, state.settings


def test_every_flipped_bit_of_a_log_is_found(logged):
    """In its line; but bits in the name of the first checksum change nothing."""
    data = logged.read_bytes()
    whole = read_or_refused(logged, data)
    assert len(whole[0]) == 3 and whole[2] == 2
    ends = [i + 1 for i, byte in enumerate(data) if byte == 10]
    places = [*range(8 * ends[0]), *range(8 * ends[1], len(data) * 8, 3)]
    for place in places:
        flipped = bytearray(data)
        flipped[place // 8] ^= 1 << place % 8
        found = read_or_refused(logged, bytes(flipped))
        if isinstance(found, int):
            number = 1 + data.count(b"\n", 0, place // 8)
            assert found == number
        else:
            assert found == whole and place < 8 * ends[0]


def test_lines_of_a_log_that_were_lost_or_moved(logged):
    lines = logged.read_bytes().splitlines(keepends=True)
    for change, number in (
        (lines[:4] + lines[5:], 5),
        (lines[:4] + lines[3:], 5),
        (lines[:3] + [lines[4], lines[3]] + lines[5:], 4),
    ):
        assert read_or_refused(logged, b"".join(change)) == number


def test_a_tournament_goes_on_after_a_damaged_line(tmp_path, answered):
    """Without the answer; once that is added again, all that waited for it counts."""
    path, data, expected = answered
    folder = tmp_path / "calm/state"
    own, lines = folder / log.NAME, data.splitlines()
    first = next(i for i, line in enumerate(lines) if b'"answer"' in line)
    for i in (first, len(lines) - 1):
        damaged = [*lines]
        damaged[i] = damaged[i].replace(b"e", b"f", 1)
        own.write_bytes(b"\n".join(damaged) + b"\n")
        with pytest.raises(DataError) as error:
            pgcjax.ask.Tournament(folder)
        assert str(error.value) == (
            f"{own}:{i + 1}: is damaged: its checksum does not fit its text and its "
            f"place. Restore the log from a copy. Without one, write {log.LOST} in the "
            "place of this line, or of the lines that are missing above it: results "
            "that depend on it wait until its answer is added again."
        )
        damaged[i] = log.LOST.encode()
        own.write_bytes(b"\n".join(damaged) + b"\n")
        again = pgcjax.ask.Tournament(folder)
        assert len(again.state.answers) < len(lines) - first
        waiting = {record["why"] for record in again.state.asides}
        assert all(why.endswith(": a line of the log is lost") for why in waiting)
        again.add(path)
        for tournament in (again, pgcjax.ask.Tournament(folder)):
            assert result(tournament)[0] == expected[0]
            assert len(tournament.state.answers) == len(lines) - first
            assert tournament.state.asides == []


def test_what_is_half_written_is_taken_back(tmp_path, monkeypatch):
    """A full disk leaves no half of a line, to whose end the next would be added."""
    tournament = start(tmp_path, {"q": dict.fromkeys("abc", 1)})
    before, real = (tournament.folder / log.NAME).read_bytes(), log.os.write

    parts = iter([7])

    def write(file, content):
        if part := next(parts, 0):
            return real(file, content[:part])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(log.os, "write", write)
        with pytest.raises(DataError, match="cannot add to it: No space left"):
            tournament.add(rows("q a b 1 me"))
    assert (tournament.folder / log.NAME).read_bytes() == before
    assert tournament.add(rows("q a b 1 me")).counted == 1


def test_pairs_that_another_program_drew(tmp_path):
    tournament = start(tmp_path)  # six documents, each in two pairs
    path = tmp_path / "judge.00"
    cycle = [f"q {a} {b} {a}\n" for a, b in zip("abcdef", "bcdefa", strict=True)]
    path.write_text("".join(cycle[:5]) + "r x y x\n")
    mend = (
        "Add the answers of whole rounds, one round after the other; add the rest "
        "of a round without --rounds (rounds=True in Python)."
    )
    with pytest.raises(DataError) as error:
        tournament.add(path, rounds=True)
    assert str(error.value) == (
        f"{path}:1: the answers of query 'q' do not make up a round: document 'a' is "
        f"in 1 of the 2 comparisons that round 1 needs of it. {mend}"
    )
    path.write_text("".join(cycle).replace("q d e d", "q d e e"))
    assert tournament.add(path, rounds=True).counted == 6  # e alone has won twice
    (tmp_path / "other").write_text("q a z a\n")
    with pytest.raises(
        DataError, match="1: the answers of query 'q' .* decided already"
    ):
        tournament.add(tmp_path / "other", rounds=True)
    again = pgcjax.ask.Tournament(tournament.folder)
    assert again.finish(partial=True).undecided == ("r",)
    assert again.finish(partial=True).top.values.tolist() == [["q", "e", 1.0]]
    assert again.finish(partial=True, grades="wins").qrels.values.tolist() == [
        ["q", "e", 2.0],
        *(["q", d, 1.0] for d in "abcf"),
    ]


def test_answers_of_one_aspect(tmp_path):
    tournament = start(tmp_path, {"q": dict.fromkeys("abc", 1)})
    answers = rows("q a b 1", "q b c 1").assign(aspect=["depth", "style"])
    with pytest.raises(UsageError) as error:
        tournament.add(answers)
    assert str(error.value) == (
        "expected answers of one aspect, found depth, style: name one, --aspect NAME "
        "(aspects= of pgcjax.files.reading in Python)"
    )
    with pgcjax.files.reading(aspects="style"):
        assert tournament.add(answers).counted == 1
    with (
        pgcjax.files.reading(flips="tie"),
        pytest.raises(UsageError, match="flips works"),
    ):
        tournament.add(answers)


def test_the_log_is_for_people(tmp_path):
    tournament = start(tmp_path, {"q": {"ä": 1, "b": 1}})
    tournament.add(rows("q ä b 1 me").assign(seconds=3.5))
    lines = (tournament.folder / log.NAME).read_bytes().splitlines()
    assert json.loads(lines[0])["k"] == 1
    texts = [
        '{"what": "grades", "query_id": "q", "grades": {"ä": 1.0, "b": 1.0}',
        '{"what": "answer", "query_id": "q", "doc_id": "ä", "other_doc_id": "b", '
        '"preference": 1, "judge": "me", "round": 1, "from": "preferences, row 1", '
        '"seconds": 3.5',
    ]
    for number, (line, text) in enumerate(zip(lines[1:], texts, strict=True), 2):
        crc = zlib.crc32(text.encode(), number)
        assert line == b'%s, "crc32": "%08x"}' % (text.encode(), crc)


def test_answers_are_on_disk_when_a_call_returns(tmp_path, synced, monkeypatch):
    """Each write is followed by a sync of the same file; a new folder has one, too."""
    written, real = [], log.os.write
    monkeypatch.setattr(
        log.os, "write", lambda file, data: (written.append(file), real(file, data))[1]
    )
    tournament = start(tmp_path)
    assert len(synced) == 3  # the log, its folder, and the one that names that
    tournament.add(rows("q a b 1", "q b c 1"))
    tournament.add(rows("p a b 1"))
    assert synced[3:] == written and len(written) == 2
