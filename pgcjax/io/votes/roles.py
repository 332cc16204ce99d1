"""Layout of a table of votes, and roles of its columns.

Columns get roles from their names, or from the user. The layout is the one that has all
roles that say who won. A remaining column that may bear on the outcome is refused, with
the option that gives it a role.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pgcjax.errors import DataError, UsageError, listed
from pgcjax.io.reading import chosen
from pgcjax.io.schema import lenient_numbers
from pgcjax.io.votes import layouts
from pgcjax.io.votes.header import Header, Pair
from pgcjax.io.votes.layouts import CANONICAL, LAYOUTS, PLACED, WON, Layout, tokens
from pgcjax.io.votes.words import ACCEPTED, NONE, A, B, Words, normal, plain
from pgcjax.later import pd

NOTHING, EACH = "-", "*"
_TEXT = 30  # characters; longer cells are written text, and no answers
_FEW = 8  # most distinct cells of a column that may hold answers
_GAMES = {"g1_winner", "g2_winner", "turn"}
_MT_BENCH = {"question_id", "model_a", "model_b", "winner", "judge", "turn"}
_MT_BENCH |= {"conversation_a", "conversation_b"}
_FAMILIES = ("winner", "p_a", "p_b", "p_tie")
"""Roles for which users may name the end of several columns: of aspects or judges."""


@dataclass
class Roles:
    """Roles of the columns of a table.

    Attributes:
        header: Columns by their names, and those that the user named.
        frame: The table.
        kind: Kind of the sides.
        ends: Words in which the names of both sides differ.
        of: Column of each role; `a` and `b` are the two documents.
        meant: Signs of the words of answers that the user named.
        layout: Layout of the table.
        wide: Aspects or judges that have their own columns: for each, columns by role.
        ties: Columns that mark ties, beside wins_a and wins_b.
        orders: Columns that may name the document shown first, without a clear meaning.
        unread: Columns that also say who won, and are ignored.
        covariates: Roles of columns that `reading` names, which are read unchanged.
    """

    header: Header
    frame: pd.DataFrame
    kind: str
    ends: tuple[str, str]
    of: dict[str, str]
    meant: Mapping[str, float]
    layout: Layout = LAYOUTS[0]
    wide: dict[str, dict[str, str]] = field(default_factory=dict)
    ties: tuple[str, ...] = ()
    orders: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    covariates: tuple[str, ...] = ()

    @property
    def each(self) -> str:
        """The role of all columns of answers, if the user said so."""
        named = self.header.named
        return next((r for r in ("aspect", "judge") if named.get(r) == EACH), "")

    @property
    def named_answers(self) -> set[str]:
        """Roles that the user named and that say who won."""
        return {*self.header.named} & layouts.SAYING - {"tie"}

    @property
    def words(self) -> Words:
        """The words that may stand for the two sides."""
        columns = self.of["a"], self.of["b"]
        return Words(ACCEPTED.get(self.ends, ()), columns, self.meant)

    def free(self) -> list[str]:
        """List the columns without a role."""
        wide = [column for of in self.wide.values() for column in of.values()]
        taken = {*self.of.values(), *self.ties, *self.unread, *wide}
        return [column for column in self.header.columns if column not in taken]


def find_roles(
    frame: pd.DataFrame,
    named: Mapping[str, str],
    meant: Mapping[str, float],
    where: str,
) -> Roles | None:
    """Find the one layout of a table, and the roles of its columns.

    Args:
        frame: The table.
        named: Column of each role that the user named; `-` for none.
        meant: Signs of the words of answers that the user named.
        where: The table, for messages.

    Returns:
        The roles; None if no two columns are sides, so this is no table of votes.

    Raises:
        DataError: a column is missing, may have several roles, or has none and may
            change the meaning of others. UsageError: roles exclude each other.
    """
    header = Header(frame.columns, where, named)
    of, families = _named(header)
    if meant and "preference" in of:
        of["winner"] = of.pop("preference")
    sides = _sides(header, of)
    if sides is None:
        if named:
            raise _no_sides(header, of)
        return None
    pair, kind = sides
    of |= dict(zip(("a", "b"), pair.columns, strict=True))
    frame = frame.loc[:, ~frame.columns.duplicated()]
    roles = Roles(header, frame, kind, pair.ends, of, meant)
    _beside(roles)
    _turns(roles)
    _query(roles)
    _covariates(roles)
    _of_each_side(roles)
    if families:
        _wide(roles, families)
    elif not roles.named_answers - {"confidence"}:
        if not roles.each:
            _answers(roles)
        if not ({*of} & layouts.SAYING - {"tie", "confidence"} or kind == WON):
            _columns_of_votes(roles)
    if kind == WON and "outcome" in of and meant:
        of["winner"] = of.pop("outcome")
        roles.kind = PLACED
    _choose(roles)
    _refuse_rest(roles)
    return roles


def _named(header: Header) -> tuple[dict[str, str], dict[str, str]]:
    """Find the columns that the user named, and the ends of several columns."""
    of, families = {}, {}
    for role, name in header.named.items():
        if name in (NOTHING, EACH):
            continue
        if column := header.get(name):
            of[role] = column
        elif role in _FAMILIES and header.family(name):
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
        both, ends = (of["a"], of["b"]), ("a", "b")
        for pair in header.pairs():
            if pair.columns == both:  # sides by result hide the order
                ends = pair.ends
            elif pair.columns == both[::-1]:  # then words for sides are ambiguous
                ends = pair.ends[1], pair.ends[0]
        ours = header.canonical()
        kind = CANONICAL if ours and ours.columns == both else PLACED
        return Pair((), ends, both), kind
    taken = {column for role, column in of.items() if role != "first"}
    no_sides = {tokens(name) for name in chosen().covariates}
    sides = [s for s in header.sides() if s[0].stem not in no_sides]
    free = [s for s in sides if not {*s[0].columns} & taken]
    if len(free) > 1 and any(kind != WON for _, kind in free):
        # Beside two documents, winner and loser are answers.
        free = [s for s in free if s[0].ends != ("winner", "loser")] or free
    if len(free) > 1:  # winner_model_a and winner_model_b name their sides
        answers = {w[1:] for w in header.words.values() if w[:1] == ("winner",)}
        of_answers = [
            s for s in free if all(header.words[c] in answers for c in s[0].columns)
        ]
        free = of_answers if len(of_answers) == 1 else free
    if len(free) > 1:
        names = [" and ".join(pair.columns) for pair, _ in free]
        (one, other), kind = free[0][0].columns, free[0][1]
        both = (
            {"winner": one, "loser": other} if kind == WON else {"a": one, "b": other}
        )
        if not header.first((*layouts.NAMES["query_id"], *layouts.SURE_QUERIES), ()):
            if guess := header.first(layouts.QUERIES, ()):
                both["query_id"] = guess
        raise header.error(
            f"has more than one pair of columns to compare: {listed(names, 4)}",
            f"Name them: {header.options(**both)}",
        )
    return free[0] if free else None


def _no_sides(header: Header, of: Mapping[str, str]) -> DataError:
    queries = {*layouts.NAMES["query_id"], *layouts.QUERIES}
    free = [c for c in header.columns if c not in {*of.values()} and c not in queries]
    mend = "Name two that are there."
    if len(free) > 1:
        mend = f"Name them, such as {header.options(a=free[0], b=free[1])}"
    return header.error("has no two columns that are clearly compared", mend)


def _beside(roles: Roles) -> None:
    """Find columns of other roles by their whole names."""
    header, of = roles.header, roles.of
    for role, names in layouts.NAMES.items():
        if role not in header.named and role != "query_id":
            if column := header.first(names, of.values()):
                of[role] = column
    if roles.kind == CANONICAL:
        of |= {x: x for x in ("length", "other_length") if header.get(x) == x}


def _turns(roles: Roles) -> None:
    """Take the turn as an aspect in files of MT-Bench; elsewhere it may be a count."""
    columns = {*roles.header.columns}
    if "aspect" in {*roles.header.named, *roles.of}:
        return
    if columns == _MT_BENCH or columns >= _GAMES:
        roles.frame = roles.frame.assign(turn="turn " + roles.frame["turn"].map(str))
        roles.of["aspect"] = "turn"


def _query(roles: Roles) -> None:
    """Find the column of the query; refuse several that group rows differently."""
    header = roles.header
    if "query_id" in header.named:
        return
    taken, short = {*roles.of.values()}, layouts.NAMES["query_id"]
    names = (*short, *layouts.SURE_QUERIES)
    column = header.first(names, taken)
    if column is None:
        if guess := header.first(layouts.QUERIES, taken):
            raise header.error(
                "has no column that clearly names the query",
                f"If {guess!r} does, say {header.options(query_id=guess)}; if all rows "
                f"are one set of comparisons, {header.options(query_id=NOTHING)}",
            )
        return
    roles.of["query_id"] = column
    sure = header.words[column] in (("query", "id"), ("qid",))
    for name in short if sure else names:
        other = header.get(name)
        if other is None or other in (column, *taken) or other.lower() == "query":
            continue
        keys = roles.frame[[column, other]].astype(str)
        groups = len(keys.drop_duplicates())
        if {groups} != {keys[column].nunique(), keys[other].nunique()}:
            raise header.error(
                "has two columns that may name the query, and group rows "
                f"differently: {column}, {other}",
                f"Name it: {header.options(query_id=column)} or "
                f"{header.options(query_id=other)}",
            )


def _covariates(roles: Roles) -> None:
    """Find the columns of covariates: of both sides, or of the vote as a whole.

    The role of side a's column is the covariate's name, that of side b's `other_NAME`.
    """
    header, of, ends = roles.header, roles.of, roles.ends
    before = {*of}
    for name in chosen().covariates:
        if name in (*before, *layouts.ROLES, "length"):
            continue
        pairs: dict[tuple[str, ...], tuple[str, ...]] = {
            p.ends: p.columns for p in header.pairs() if p.stem == tokens(name)
        }
        one, other = header.get(name), header.get(f"other_{name}")
        columns = pairs.get(ends) or pairs.get(ends[::-1], ())[::-1]
        if not columns and roles.kind != WON and ends in layouts.ENDS:
            columns = next((pairs[e] for e in layouts.ENDS if e in pairs), ())
        if not columns and one and other and roles.kind == CANONICAL:
            columns = (one, other)
        of |= dict(
            zip((name, f"other_{name}"), columns or (one,) * bool(one), strict=False)
        )
    roles.covariates = tuple(role for role in of if role not in before)


def _of_each_side(roles: Roles) -> None:
    """Find columns that describe each side: lengths, probabilities, wins, orders."""
    of, header, named = roles.of, roles.header, roles.named_answers
    for pair in header.pairs():
        if {*pair.columns} & {*of.values()} or pair.ends in layouts.RESULTS:
            continue
        for sides, pattern in layouts.OF_SIDES:
            settled = named and sides[0] != "length_a" or {*sides} & {*of}
            if pattern.fits(pair.stem) and not settled:
                of |= dict(zip(sides, pair.columns, strict=True))
                break
    for role, pattern in layouts.chances(roles.ends[0]).items():
        fits = [c for c in roles.free() if pattern.fits(header.words[c])]
        if fits and role not in of and not named:
            of[role] = fits[0]
    if "wins_a" in of:
        of.pop("tie", None)
        roles.ties = tuple(
            column
            for column, words in header.words.items()
            if layouts.TIES_OF_WINS.fits(words) and words[-1] != "n"
        )
    if "ties" in of:
        roles.ties = (of["ties"],)


def _answers(roles: Roles) -> None:
    """Find the columns that say who won."""
    of, header, frame, free = roles.of, roles.header, roles.frame, roles.free()
    answers = [c for c in free if layouts.is_answer(header.words[c])]
    if len(answers) > 1:  # reasons are no answers
        answers = [c for c in answers if not _is_text(frame[c])] or answers
    signs = [c for c in answers if header.words[c] in (("preference",), ("pref",))]
    if signs and not roles.meant and roles.kind != PLACED:
        if np.isnan(lenient_numbers(frame[signs[0]])).mean() <= 0.5:
            of["preference"] = signs[0]
            answers.remove(signs[0])
    if roles.kind == CANONICAL:
        if column := header.first(("probability", "prob"), of.values()):
            of["probability"] = column
    if len(answers) > 1:
        raise header.error(
            f"has more than one column that may say who won: {listed(answers, 6)}",
            f"Name it: {header.options(winner=answers[0])}",
        )
    if answers:
        of["outcome" if roles.kind == WON else "winner"] = answers[0]
    losers = [c for c in free if layouts.LOSER.fits(header.words[c])]
    if roles.kind != WON and len(losers) == 1:
        of["loser"] = losers[0]


def _columns_of_votes(roles: Roles) -> None:
    """Find two games of a pair, or a column of votes for each aspect."""
    header, free = roles.header, roles.free()
    last = [words[-1] for c in free if len(words := header.words[c]) > 1]
    columns = [word for word in last if word in layouts.WIDE]
    if not columns or len(columns) == 1 and roles.each:
        return  # `_bare` may find columns of answers
    ends = list(dict.fromkeys(columns))
    votes = [end for end in ends if end in ("vote", "votes")]
    if len(ends) > 1 and not votes:
        raise header.error(
            "has more than one kind of columns that may say who won: "
            + listed([f"*_{end}" for end in ends], 6),
            f"Name it: {header.options(winner=ends[0])}",
        )
    _wide(roles, {"winner": (votes or ends)[0]})
    others = [header.family(end) for end in sorted(layouts.ANSWERS)]
    roles.unread = tuple(
        column
        for column in roles.free()
        if any(of.get(name) == column for of in others for name in roles.wide)
    )


def _wide(roles: Roles, ends: Mapping[str, str]) -> None:
    """Read columns such as `coverage_vote` and `depth_vote` as those of aspects."""
    games = [roles.header.first(names) for names in layouts.GAME_NAMES]
    if "winner" in ends and not roles.each and all(games):
        roles.of |= dict(zip(("game_1", "game_2"), map(str, games), strict=True))
        return
    wide: dict[str, dict[str, str]] = {}
    for role, end in ends.items():
        for name, column in roles.header.family(end).items():
            wide.setdefault(name, {})[role] = column
    columns = [next(iter(of.values())) for of in wide.values()]
    mixed = [n for n in wide if {*n.split("_")} & layouts.MIXED or n[-1:].isdigit()]
    if not roles.each and (len(wide) == 1 or "judge" not in roles.of or mixed):
        raise _no_answer(roles, columns, list(wide))
    roles.wide = wide


def _choose(roles: Roles) -> None:
    """Find the one layout that has all roles that say who won, and no other."""
    of, saying = roles.of, {*roles.of} & layouts.SAYING
    saying |= {"ties"} if roles.ties else set()
    bare = [] if saying or roles.wide else _bare(roles)
    if roles.each and not saying and not roles.wide and bare:
        roles.wide = {name: {"winner": name} for name in bare}
    if roles.wide:
        saying = (saying | {"wide"}) - ({*_FAMILIES} - {"winner"})
    able = [x for x in LAYOUTS if roles.kind in x.sides and {*x.needs} <= saying]
    fits = [x for x in able if saying <= {*x.needs, *x.takes}]
    if not able or roles.each and not saying:
        raise _no_answer(roles, bare, bare)
    if len(fits) != 1:
        names = [of.get(role, role) for role in sorted(saying)]
        one = of.get("winner") or of.get("preference") or names[0]
        raise roles.header.error(
            f"says in more than one way who won: {listed(names, 6)}",
            f"{_layouts(roles)} Name one: {roles.header.options(winner=one)}",
        )
    roles.layout = fits[0]


def _layouts(roles: Roles) -> str:
    names = [layout.name for layout in LAYOUTS if roles.kind in layout.sides]
    return f"Layouts: {'; '.join(names)}."


def _bare(roles: Roles) -> list[str]:
    """List the columns without a role that hold only answers."""
    words, columns = roles.words, []
    for name in dict.fromkeys(roles.free()):
        signs = {words.sign(normal(plain(cell))) for cell in roles.frame[name].tolist()}
        if {np.sign(s) for s in signs} & {A, B} and not any(s != s for s in signs):
            if signs != {NONE}:
                columns.append(name)
    return columns


def _no_answer(roles: Roles, columns: Sequence[str], names: Sequence[str]) -> DataError:
    """Return the error of a table without a column that certainly says who won.

    Args:
        roles: Roles of its columns.
        columns: Columns that may say who won.
        names: The possible aspect, judge or order of each of these columns.
    """
    options = roles.header.options
    if len(columns) > 1:
        return roles.header.error(
            "has answers in several columns, which may be aspects or judges: "
            + listed(list(names), 4),
            f"Say which: {options(aspect=EACH)} or {options(judge=EACH)}; or name the "
            f"one that counts, {options(winner=columns[0])}",
        )
    cells = {c: {*map(str, roles.frame[c].tolist())} for c in roles.free()}
    few = columns or [c for c, distinct in cells.items() if len(distinct) <= _FEW]
    mend = f"Add one, such as winner. {_layouts(roles)}"
    if few:
        mend = f"If {few[0]!r} does, say {options(winner=few[0])}"
    return roles.header.error("has no column that clearly says who won", mend)


def _refuse_rest(roles: Roles) -> None:
    """Refuse columns that may bear on the outcome and have no role."""
    header, of = roles.header, roles.of
    free, named = roles.free(), roles.named_answers
    stems = {
        column: pair.stem
        for pair in header.pairs()
        for column in pair.columns
        if {*pair.columns} <= {*free}
    }
    settled = {*header.named} | ({"winner", "probability"} if named else set())
    if {"confidence", "probability", "p_a"} & {*of}:
        settled.add("probability")
    # The column of aspects may name one that asks for the worse document.
    for column in (*free, *(of[r] for r in ("aspect",) if r in of)):
        words = stems.get(column, header.words[column])
        role = _bearing(roles, column, words)
        if not role or role in settled:
            continue
        if role == "first":
            roles.orders += (column,)
        elif role != "winner" or not _is_text(roles.frame[column]):
            raise _doubt(roles, role, column)


def _bearing(roles: Roles, column: str, words: tuple[str, ...]) -> str:
    """Return the role that a column needs; "" if it does not bear on the outcome."""
    if column.lower().startswith(layouts.CONTROLS):
        return ""
    side, (end, _) = roles.header.words[roles.of["a"]], roles.ends
    third = [tuple(x if w == end else w for w in side) for x in layouts.THIRD]
    if roles.header.words[column] in third and "a" not in roles.header.named:
        return "a"
    if roles.kind == WON and {*words} & layouts.INVERTED:
        return "winner"
    if role := layouts.bearing(words):
        return role
    cells = roles.frame[column]
    lead = layouts.MARGIN.fits(words) and (lenient_numbers(cells) < 0).any()
    return "winner" if lead or _asks(cells) else ""


def _is_text(column: pd.Series) -> bool:
    """Return whether cells are long texts, such as a judge's reasons."""
    cells = [c for c in column.tolist() if isinstance(c, str) and c]
    long = [len(cell) > _TEXT and " " in cell for cell in cells]
    return 2 * sum(long) > len(cells)


def _asks(column: pd.Series) -> bool:
    """Return whether all cells ask for better or worse documents, some for worse."""
    if column.dtype != object and not pd.api.types.is_string_dtype(column.dtype):
        return False
    cells: set[str] = set()
    for cell in column.tolist():
        if not isinstance(cell, str) or len(cells) > _FEW:
            return False
        cells.add(cell)
    words = [{*normal(cell).split()} for cell in cells]
    return all(w & (layouts.WORSE | layouts.BETTER) for w in words) and any(
        w & layouts.WORSE for w in words
    )


def _doubt(roles: Roles, role: str, column: str) -> DataError:
    """Return the error of an ambiguous column, with options that give it a role."""
    of, options = roles.of, roles.header.options
    if role == "a":
        mend = f"{options(a=of['a'], b=of['b'])} ignores it"
    elif role != "winner":
        named = "confidence" if role == "probability" else role
        no = options(**{role: NOTHING})
        mend = f"{options(**{named: column})} if so, else {no}"
    else:
        answer = {r: of[r] for r in roles.layout.needs if r in of}
        if roles.kind == WON:
            answer = {"winner": of["a"], "loser": of["b"]}
        elif one := of.get("winner") or of.get("preference"):
            answer = {"winner": one}
        mend = f"{options(**answer)} ignores it"
    return roles.header.error(
        f"has a column {column!r}, which may {layouts.MAY[role]}",
        f"Say what counts: {mend}",
    )
