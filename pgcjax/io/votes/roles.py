"""Which layout a table of votes has, and what each of its columns is for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from pgcjax.errors import UsageError, listed
from pgcjax.io.votes import layouts
from pgcjax.io.votes.doubts import check_rest, no_answer, several
from pgcjax.io.votes.header import (
    EACH,
    NOTHING,
    Header,
    Pair,
    Roles,
    is_text,
    mostly_numbers,
    numbers_rows,
    side_pairs,
)
from pgcjax.io.votes.layouts import CANONICAL, LAYOUTS, PLACED, WON, tokens
from pgcjax.io.votes.words import ACCEPTED, NONE, A, B, Words, normal, plain
from pgcjax.later import pd

_FAMILIES = ("winner", "p_a", "p_b", "p_tie")
"""Roles that may name the end of several columns, one for each aspect or judge."""


def find_roles(
    frame: pd.DataFrame,
    named: Mapping[str, str],
    meant: Mapping[str, float],
    where: str,
) -> Roles | None:
    """Find the one layout of a table, and what its columns are for.

    Args:
        frame: the table.
        named: column of roles that the user named; `-` for none.
        meant: what the user said of the words of answers.
        where: the table, for messages.

    Returns:
        The roles; None if no columns are two sides: it is no such table.

    Raises:
        DataError: a column is not there, may be for several things, or may change what
            others mean and no layout claims it. UsageError: roles do not go together.
    """
    header = Header(frame.columns, where, named)
    frame = frame.loc[:, ~frame.columns.duplicated()]
    of, families = _named(header)
    if meant and "preference" in of:
        of["winner"] = of.pop("preference")
    sides = _sides(header, of)
    if sides is None:
        if named:
            raise header.error(
                "has no two columns that are surely compared",
                header.guess_sides(of.values()),
            )
        return None
    pair, kind = sides
    of |= dict(zip(("a", "b"), pair.columns, strict=True))
    roles = Roles(kind, pair.ends, of)
    for role, names in layouts.NAMES.items():
        if role not in named and role != "query_id":
            if column := header.first(names, of.values()):
                of[role] = column
    if numbers_rows(frame, of.get("tie")) and "tie" not in named:
        of["number"] = of.pop("tie")  # as `next` writes it: which draw it was
    if kind == CANONICAL:
        of |= {x: x for x in ("length", "other_length") if header.get(x) == x}
    _query(header, frame, of)
    pairs = _side_roles(header, roles)
    each = next((r for r in ("aspect", "judge") if named.get(r) == EACH), "")
    saying = {*named} & layouts.SAYING - {"tie", "confidence"}
    if families:
        _wide(header, roles, families, each, ())
    elif each and not saying:
        _columns_of_votes(header, roles)
    elif not saying:
        _answers(header, roles, frame, bool(meant))
    if kind == WON and "outcome" in of and meant:
        of["winner"] = of.pop("outcome")
        roles.kind = PLACED
    _choose(header, roles, frame, meant, each)
    check_rest(header, roles, pairs, frame)
    return roles


def _named(header: Header) -> tuple[dict[str, str], dict[str, str]]:
    """Find the columns that the user named, and the ends of several columns."""
    of, families = {}, {}
    for role, name in header.named.items():
        if name in (NOTHING, EACH):
            continue
        if (column := header.get(name)) is None and role == "first":
            pair = header.canonical()  # perhaps a side, by its canonical name
            if pair and name in ("doc_id", "other_doc_id"):
                column = pair.columns[name == "other_doc_id"]
        if column is not None:
            of[role] = column
        elif role in _FAMILIES and _family(header, {tokens(name)}):
            families[role] = name
        else:
            raise header.error(
                f"has no column {name!r} for {role}", "Name one that is there."
            )
    return of, families


def _sides(header: Header, of: dict[str, str]) -> tuple[Pair, str] | None:
    """Choose the two sides."""
    if ("a" in of) != ("b" in of):
        raise UsageError("columns: a=… and b=… go together")
    if "loser" in of and "winner" in of and "a" not in of:
        both = of.pop("winner"), of.pop("loser")
        return Pair((), ("winner", "loser"), both), WON
    if "a" in of:
        both = of["a"], of["b"]
        ends = ("a", "b")
        for pair in header.pairs():
            if pair.columns == both and pair.ends in layouts.ENDS:
                ends = pair.ends
            elif pair.columns == both:
                ends = pair.ends  # by result: no word is sure, nor what was shown first
            elif pair.columns == both[::-1]:  # then no word for a side is sure
                ends = pair.ends[1], pair.ends[0]
        ours = header.canonical()
        kind = CANONICAL if ours and ours.columns == both else PLACED
        return Pair((), ends, both), kind
    used = {column for role, column in of.items() if role != "first"}
    free = [s for s in side_pairs(header) if not {*s[0].columns} & used]
    if len(free) > 1 and any(kind != WON for _, kind in free):
        # Winner and loser are answers where two documents stand beside them.
        free = [s for s in free if s[0].ends != ("winner", "loser")] or free
    if len(free) > 1:
        names = [" and ".join(pair.columns) for pair, _ in free]
        (one, other), kind = free[0][0].columns, free[0][1]
        both = ("winner", "loser") if kind == WON else ("a", "b")
        mend = header.options(**dict(zip(both, (one, other), strict=True)))
        raise header.error(
            f"has more than one pair of columns to compare: {listed(names, 4)}",
            f"Name them: {mend} (columns= in Python).",
        )
    return free[0] if free else None


def _query(header: Header, frame: pd.DataFrame, of: dict[str, str]) -> None:
    """Find the column of the query; refuse several that group rows otherwise."""
    if "query_id" in header.named:
        return
    used, short = {*of.values()}, layouts.NAMES["query_id"]
    names = (*short, *layouts.SURE_QUERIES)
    column = header.first(names, used)
    if column is None:
        if guess := header.first(layouts.QUERIES, used):
            raise header.error(
                "has no column that surely names the query",
                f"If {guess!r} does, say {header.options(query_id=guess)}; if all rows "
                f"are one set of comparisons, {header.options(query_id=NOTHING)} "
                "(columns= in Python).",
            )
        return
    of["query_id"] = column
    sure = header.words[column] in (("query", "id"), ("qid",))
    for name in short if sure else names:
        other = header.get(name)
        if other is None or other in (column, *used) or other.lower() == "query":
            continue
        keys = frame[[column, other]].astype(str)
        if len(keys.drop_duplicates()) != keys[column].nunique() or (
            keys[column].nunique() != keys[other].nunique()
        ):
            raise header.error(
                f"has two columns that may name the query, and group rows otherwise: "
                f"{column}, {other}",
                f"Name it: {header.options(query_id=column)} or "
                f"{header.options(query_id=other)} (columns= in Python).",
            )


def _side_roles(header: Header, roles: Roles) -> list[Pair]:
    """Find what columns say of each side; return all pairs of columns."""
    of, named, nouns = roles.of, header.named, layouts.NOUNS | layouts.FILL
    pairs = header.pairs()
    saying = {*named} & layouts.SAYING - {"tie"}
    for pair in pairs:
        stem = {*pair.stem}
        if {*pair.columns} & {*of.values()} or pair.ends in layouts.RESULTS:
            continue
        for sides, needed, allowed in layouts.OF_SIDES:
            settled = saying and sides[0] != "length_a" or {*sides} & {*of}
            if stem & needed and stem <= needed | allowed and not settled:
                of |= dict(zip(sides, pair.columns, strict=True))
                break
    chances = {
        column: {*words} - layouts.CHANCE
        for column, words in header.words.items()
        if {*words} & layouts.CHANCE and column not in of.values() and not saying
    }
    for column, rest in chances.items():
        if (
            "p_a" not in of
            and roles.ends[0] in rest
            and rest <= {roles.ends[0]} | nouns
        ):
            of["p_a"] = column
        elif "p_tie" not in of and rest and rest <= layouts.TIES | {"n"}:
            of["p_tie"] = column
    if "wins_a" in of:
        extra = layouts.WINS | layouts.TIES | {"n", "num", "count", "is"}
        roles.ties = tuple(
            column
            for column, words in header.words.items()
            if {*words} <= extra and {*words} & layouts.TIES and words[-1:] != ("n",)
        )
        of.pop("tie", None)
    return pairs


def _answers(
    header: Header, roles: Roles, frame: pd.DataFrame, words_named: bool
) -> None:
    """Find the columns that say who won."""
    of, used = roles.of, {*roles.of.values()}
    candidates = [
        column
        for column, words in header.words.items()
        if column not in used
        and column not in roles.ties
        and layouts.is_answer(words)
        and not {*words} & layouts.WORSE
    ]
    if len(candidates) > 1:  # reasons are no answers
        candidates = [c for c in candidates if not is_text(frame[c])] or candidates
    signed = [c for c in candidates if header.words[c] in (("preference",), ("pref",))]
    if (
        signed
        and not words_named
        and (roles.kind != PLACED)
        and mostly_numbers(frame[signed[0]])
    ):
        of["preference"] = signed[0]
        candidates.remove(signed[0])
    if roles.kind == CANONICAL:
        if column := header.first(("probability", "prob"), used):
            of["probability"] = column
    if len(candidates) > 1:
        raise header.error(
            f"has more than one column that may say who won: {listed(candidates, 6)}",
            f"Name it: {header.options(winner=candidates[0])} (columns= in Python).",
        )
    if candidates:
        of["outcome" if roles.kind == WON else "winner"] = candidates[0]
    kinds = layouts.NOUNS | layouts.FILL | {"loser", "losing", "worse", "worst"}
    losers = [
        c
        for c, words in header.words.items()
        if {*words} <= kinds and {*words} & layouts.WORSE and c not in used
    ]
    if roles.kind != WON and len(losers) == 1:
        of["loser"] = losers[0]
    if of.keys() & (layouts.SAYING - {"tie", "confidence"}) or roles.kind == WON:
        return
    _columns_of_votes(header, roles)


def _columns_of_votes(header: Header, roles: Roles) -> None:
    """Find two games of a pair, or a column of votes for each aspect."""
    if family := _family(header, {(end,) for end in layouts.WIDE}, roles.of.values()):
        ends = list(dict.fromkeys(end for _, end in family))
        each = next((r for r in ("aspect", "judge") if header.named.get(r) == EACH), "")
        votes = [end for end in ends if end in ("vote", "votes")]
        if len(family) < 2 and each:
            return  # perhaps columns that hold nothing but answers
        if len(ends) > 1 and not votes:
            raise header.error(
                "has more than one kind of columns that may say who won: "
                + listed([f"*_{end}" for end in ends], 6),
                f"Name it: {header.options(winner=ends[0])} (columns= in Python).",
            )
        every = _family(header, {(end,) for end in layouts.ANSWERS})
        _wide(header, roles, {"winner": (votes or ends)[0]}, each, every)


def _family(
    header: Header, ends: Iterable[tuple[str, ...]], used: Iterable[str] = ()
) -> list[tuple[tuple[str, ...], str]]:
    """List stem and end of columns such as `coverage_vote`."""
    return [
        (words[: -len(end)], "_".join(end))
        for end in ends
        for column, words in header.words.items()
        if len(words) > len(end) and words[-len(end) :] == end and column not in {*used}
    ]


def _wide(
    header: Header,
    roles: Roles,
    ends: Mapping[str, str],
    each: str,
    answers: Sequence[tuple[tuple[str, ...], str]],
) -> None:
    """Take columns such as `coverage_vote` and `depth_vote` for those of aspects."""
    for role, end in ends.items():
        for stem, _ in _family(header, {tokens(end)}):
            column = header.get((*stem, *tokens(end)))
            assert column is not None
            roles.wide.setdefault("_".join(stem), {})[role] = column
    names = list(roles.wide)
    games = [
        [word for word in tokens(name) if word not in ("g", "game")] for name in names
    ]
    if sorted(games) == [["1"], ["2"]] and "winner" in ends and not each:
        one, other = sorted(names)
        roles.of |= {f"game_{x[-1]}": roles.wide[x]["winner"] for x in (one, other)}
        roles.wide = {}
        return
    if len(names) == 1 and not each:
        (column,) = next(iter(roles.wide.values())).values()
        raise header.error(
            "has no column that surely says who won",
            f"If {column!r} does, say {header.options(winner=column)} (columns= in "
            "Python).",
        )
    roles.unread = tuple(
        column
        for stem, end in answers
        if "_".join(stem) in names
        and (column := header.get((*stem, end))) is not None
        and column not in [c for of in roles.wide.values() for c in of.values()]
    )
    mixed = [n for n in names if {*tokens(n)} & layouts.MIXED or n[-1:].isdigit()]
    if not each and ("judge" not in roles.of or mixed):
        raise several(header, names, next(iter(roles.wide[names[0]].values())))
    roles.wide_role = each or "aspect"


def _choose(
    header: Header,
    roles: Roles,
    frame: pd.DataFrame,
    meant: Mapping[str, float],
    each: str,
) -> None:
    """Find the one layout that has all roles that say who won, and no other."""
    saying = ({*roles.of} & layouts.SAYING) | ({"ties"} if roles.ties else set())
    names = [] if saying or roles.wide else _bare(frame, roles, meant)
    if roles.wide or each and not saying:
        if not roles.wide:  # columns that hold nothing but answers
            if not names:
                raise no_answer(header, roles, frame, names)
            roles.wide = {name: {"winner": name} for name in names}
            roles.wide_role = each
        saying |= {"wide"}
        saying -= {*_FAMILIES} - {"winner"}
    able = [x for x in LAYOUTS if roles.kind in x.sides and {*x.needs} <= saying]
    fits = [x for x in able if saying <= {*x.needs, *x.takes}]
    if not able:
        raise no_answer(header, roles, frame, names)
    if len(fits) != 1:
        names = [roles.of.get(role, role) for role in sorted(saying)]
        one = roles.of.get("winner") or roles.of.get("preference") or names[0]
        raise header.error(
            f"says in more than one way who won: {listed(names, 6)}",
            f"Name one: {header.options(winner=one)} (columns= in Python). Layouts: "
            + "; ".join(x.name for x in LAYOUTS if roles.kind in x.sides)
            + ".",
        )
    roles.layout = fits[0]


def _bare(frame: pd.DataFrame, roles: Roles, meant: Mapping[str, float]) -> list[str]:
    """List the columns without a role that hold nothing but answers."""
    words, used = words_of(roles, meant), {*roles.of.values()}
    columns = []
    for name in map(str, frame.columns):
        if name in used:
            continue
        signs = {words.sign(normal(plain(cell))) for cell in frame[name].tolist()}
        if {np.sign(s) for s in signs} & {A, B} and not any(s != s for s in signs):
            if signs != {NONE}:
                columns.append(name)
    return columns


def words_of(roles: Roles, meant: Mapping[str, float]) -> Words:
    """Return the words that may stand for the two sides of a table."""
    columns = roles.of["a"], roles.of["b"]
    return Words(ACCEPTED.get(roles.ends, ()), columns, meant)
