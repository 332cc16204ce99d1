"""Fingerprints: two that are equal are of what computes the same."""

import functools
import math
import operator
from dataclasses import dataclass
from types import FunctionType

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.made_up import made_up

from pgcjax.engine.exact_batch import exact_program
from pgcjax.engine.grid_batch import grid_program
from pgcjax.engine.list_batch import Kernel, list_program
from pgcjax.engine.peel_batch import Form, peel_program
from pgcjax.engine.preference_tiles import preference_program
from pgcjax.engine.replicate_batches import replicate_program
from pgcjax.engine.similarity_tiles import similarity_program
from pgcjax.engine.tie_batch import tie_program
from pgcjax.engine.tiles import Pace, compiled
from pgcjax.kernels import graded, peel_packed, preference, ranking_preferences
from pgcjax.measures.catalogue import catalogue
from pgcjax.measures.gains import Gains, on_gains
from pgcjax.runtime.fingerprint import ForeignError, fingerprint
from pgcjax.runtime.programs import Kept

# Each line differs from the one before where a program could.
VALUES = (
    *(1, True, 1.0, 1.0 + 2**-52, "1", b"1", np.int64(1), np.int32(1), np.float64(1)),
    *(0.0, -0.0, math.nan, math.inf, 0, False, None, (), [], {}, set(), "", ...),
    *((1, 2), [1, 2], (2, 1), ((1,), 2), (1, (2,)), {1: 2}, {2: 1}, {1, 2}, {1, 2, 3}),
    *(("a", "bc"), ("ab", "c"), "a\0b", ("a", "b"), {"a": 1, "b": 2}, {"b": 2, "a": 1}),
    *(np.zeros(2), np.zeros(2, np.float32), np.zeros((2, 1)), np.array([0.0, -0.0])),
    *(np.dtype("f4"), len, sum, operator.add, operator.mul, jnp.add, jnp.multiply),
    *(np.ndarray, np.add, jax.Array, 1j, np.zeros((0, 3)), np.zeros((3, 0))),
)
BODY = "def program(x, {a}=1):\n    def inner(y):\n        return y {op} {a} + K\n"
BODY += "    return other({call}(inner)(x))\n"
OTHER = "K = {k}\ndef other(x):\n    return x {op} {k2}\n"


def program(body: str = "", **words: object):
    """Make a function of the package that calls another one and has a constant."""
    usual = {"a": "a", "op": "*", "call": "jax.vmap", "k": 3, "k2": 4}
    text = "import jax\n" + OTHER + BODY + body
    return made_up(text.format(**usual | words))["program"]


def test_equal_content_is_equal_and_other_content_is_not():
    prints = [*map(fingerprint, VALUES)]
    assert len(set(prints)) == len(VALUES)
    assert prints == [*map(fingerprint, VALUES)]
    names = ["a", "bc", "def", "ghij"]  # sets have an order of their own
    assert fingerprint({*names}) == fingerprint({*names[::-1]})


def test_a_function_is_its_code_and_what_it_refers_to():
    functions = [
        program(),
        *(program(op="+"), program(op="-"), program(a="b"), program(call="jax.jit")),
        *(program(k=3.0), program(k="True"), program(k2=5), program(k="(3,)")),
        program("program.__defaults__ = 2,\n"),
        program("program = functools.partial(program, a=2)\n"),
        program("program = functools.cache(program)\n"),
        program("program = jax.vmap(program)\n"),
        program("program = jax.vmap(program, in_axes=(0, None))\n"),
    ]
    assert len({fingerprint(each) for each in functions}) == len(functions)
    assert fingerprint(program()) == fingerprint(functions[0])
    for value in VALUES:  # what it closes over counts as the value does
        outer = made_up("def outer(v):\n    return lambda x: (x, v)")["outer"]
        assert (fingerprint(outer(value)) == fingerprint(outer(1))) == (
            value is VALUES[0]
        )


def test_methods_of_classes_and_of_objects():
    text = """
from dataclasses import dataclass
from typing import NamedTuple
@dataclass(frozen=True)
class Rule:
    by: float
    @property
    def twice(self):
        return self.by * {n}
class Pair(NamedTuple):
    a: int
    def sum(self):
        return self.a + {m}
def program(x):
    return Rule(x).twice, Pair(x).sum()
def outer(rule):
    return lambda x: x * rule.by
bound = [outer(Rule(b)) for b in (1, 1.0, 2)]
"""
    made = [
        made_up(text.replace("{n}", n).replace("{m}", m)) for n, m in ("23", "33", "24")
    ]
    assert len({fingerprint(each["program"]) for each in made}) == 3
    assert len({fingerprint(each) for each in made[0]["bound"]}) == 3


@dataclass(frozen=True)
class Mine:
    """An object of a user."""

    function: object


def user(x):
    return x


def test_what_a_user_wrote_has_none():
    """Its files are not in the key."""
    wrapped = functools.wraps(program())(lambda x: x)
    outer = made_up("def outer(v):\n    return lambda x: v")["outer"]
    inside = made_up("def program(x):\n    return helper(x)")
    inside["helper"] = user
    for value in (
        *(user, lambda x: x, wrapped, jax.jit(user), jax.vmap(user), print_later()),
        *(functools.partial(user), functools.cache(user), Mine(user).function, Mine(1)),
        *(outer(user), outer(Mine(1)), outer((1, [user])), outer({"a": user})),
        *(inside["program"], on_gains(Gains(gains=user, kernel=user, twin=user))),
        *(np.array([user]), FunctionType(user.__code__, vars(graded)), iter([1])),
    ):
        with pytest.raises(ForeignError):
            fingerprint(value)


def print_later():
    """Make a function that refers to a name which is not there yet."""
    outer = made_up(
        "def outer():\n    def f():\n        return late\n    if 0:\n        late = 1\n"
        "    return f"
    )
    return outer["outer"]()


def test_a_change_in_memory_is_seen(monkeypatch):
    """As of a constant that a test or a mistake puts into a module."""
    packed, wide = (peel_program(Form(form, 16), 0) for form in ("packed", "wide"))
    before = [key(compiled(program, Pace(), 1)) for program in (packed, wide)]
    assert key(compiled(packed, Pace(7), 1)) != before[0]
    monkeypatch.setattr(peel_packed, "MOST_DEGREE", 7)
    monkeypatch.setattr(peel_packed, "peeled_overlap", graded.discounted)
    after = [key(compiled(program, Pace(), 1)) for program in (packed, wide)]
    assert after[0] != before[0] and after[1] == before[1]


def key(program: Kept) -> str | None:
    assert isinstance(program, Kept)
    return program.key(np.zeros(3), ())


def test_no_two_builders_or_arguments_share_a_program():
    near = graded.discounted, (("k", 10),), 10
    kernels = [
        [Kernel(*near)],
        [Kernel(graded.discounted, (("k", 11),), 10)],
        [Kernel(graded.discounted, (("k", 10), ("p", 0.5)), 10)],
        [Kernel(graded.discounted, (("k", 10), ("p", "0.5")), 10)],
        [Kernel(graded.discounted, (("k", 10),), None)],
        [Kernel(graded.discounted, (("k", 10),), 20)],
        [Kernel(graded.residual, (("k", 10),), 10)],
        [Kernel(*near), Kernel(*near)],
    ]
    one, two = jax.tree.structure(0), jax.tree.structure((0,))
    of_one = ((one, (0,)),)
    same, apart = ((one, (0,)), (one, (0,))), ((one, (0,)), (one, (1,)))
    turned, other = ((one, (1,)), (one, (0,))), ((one, (0,)), (two, (1,)))
    places = [((0, 0), same), ((0, 1), same), ((1, 0), same)]
    places += [((0, 0), arrays) for arrays in (apart, turned, other)]

    def mapped(program, pace=None):
        return compiled(program, pace or Pace(), 1)

    def listed(*of_measures):
        return mapped(list_program(*of_measures, 16))

    programs = [
        *(mapped(peel_program(form, 0)) for form in FORMS),
        *(mapped(peel_program(form, 8)) for form in FORMS if form.name in ASKING),
        *(mapped(peel_program(FORMS[0], 0), pace) for pace in PACES),
        *(mapped(exact_program(far)) for far in (True, False)),
        *(mapped(grid_program(form)) for form in ("packed", "wide", "pairs")),
        *(replicate_program(form, 1, "cpu") for form in ("packed", "wide")),
        *(replicate_program(form, 1, "gpu") for form in ("packed", "wide")),
        *(mapped(tie_program(f, on)) for f in FORMS[:2] for on in (True, False)),
        *(similarity_program(ties, n, 1) for ties in ("", "a", "w") for n in (1, 2)),
        *(listed(tuple(own), (0,) * len(own), of_one) for own in kernels[:-1]),
        *(listed(tuple(kernels[-1]), *of_two) for of_two in places),
        *(preference_program(own, 1) for own in (KINDS[:1], KINDS[1:], KINDS)),
    ]
    keys = [*map(key, programs)]
    assert None not in keys and len(set(keys)) == len(keys)


FORMS = [Form(name, 16) for name in ("packed", "wide", "pallas", "levels")]
FORMS += [Form("packed", 32), Form("orders", 16, 16)]
ASKING = ("packed", "levels", "orders")  # the data, how many steps are enough
PACES = [Pace(8), Pace(in_turn=True), Pace(in_one_piece=True)]
KINDS = (ranking_preferences.lexirecall, ranking_preferences.lexiprecision)


def test_the_kernels_of_all_measures_have_one():
    """Their programs are kept; those of one are written alike."""
    found: dict[str, set] = {}
    for definition in catalogue().values():
        for cell in getattr(definition.tensors, "__closure__", None) or ():
            if isinstance(gains := cell.cell_contents, Gains):
                code = gains.kernel.__code__
                written = code.co_code, code.co_names, code.co_consts
                found.setdefault(fingerprint(on_gains(gains)), set()).add(written)
    assert len(found) >= 12 and all(len(written) == 1 for written in found.values())
    assert fingerprint(preference.harmonic) != fingerprint(preference.possible)
