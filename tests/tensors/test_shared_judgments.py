"""What measures make of judgments is made once, and shared."""

import pytest

from pgcjax.tensors.judgments import Judgments


def test_parameters_that_are_not_read_change_nothing():
    judgments, made = Judgments({}), []

    def make(q):
        made.append(q["gain"])
        return [q["gain"], q.get("gmax")]

    def ask(**parameters):
        return judgments.once_for("gains", parameters, make)

    first = ask(gain="exp", k=5)
    assert ask(gain="exp", k=10) is first and first == ["exp", None]
    assert ask(gain="linear", k=5) == ["linear", None]
    assert ask(gain="exp", gmax=3) == ["exp", 3]  # that it lacked one was read, too
    assert ask(gain="exp") is first
    assert made == ["exp", "linear", "exp"]
    assert judgments.once_for("other gains", {"gain": "exp"}, make) is not first
    assert Judgments({}).once_for("gains", {"gain": "exp"}, make) is not first


def test_what_is_made_of_what_was_made_depends_on_the_same_parameters():
    judgments = Judgments({})

    def gains(q):
        return [q["gain"]]

    def ideals(q):
        return judgments.once_for("gains", q, gains), q["k"]

    def ask(**parameters):
        return judgments.once_for("ideals", parameters, ideals)

    first, other, deep = (
        ask(gain=gain, k=k) for gain, k in (("exp", 5), ("linear", 5), ("exp", 10))
    )
    assert [first, other, deep] == [(["exp"], 5), (["linear"], 5), (["exp"], 10)]
    assert deep[0] is first[0] and ask(gain="linear", k=5, p=0.5) is other


def test_a_failure_is_not_kept():
    judgments = Judgments({})
    with pytest.raises(KeyError):
        judgments.once_for("gains", {}, lambda q: q["gain"])
    assert judgments.once_for("gains", {"gain": 1}, lambda q: q["gain"]) == 1
    with pytest.raises(TypeError, match="by name"):
        judgments.once_for("all", {"gain": 1}, dict)
