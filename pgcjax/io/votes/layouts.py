"""The layouts of tables of votes: the columns of each, and its form of answers.

The name of a column gives it a role: one of `NAMES`, or a `Pattern` of words. A layout
names the roles that say who won, and the kind of its answers, for each of which
`reader.py` has a method. Other roles that say who won are refused. So is every column
without a role whose name may bear on the outcome (`BEARINGS`), until the user gives it
a role.

To add a layout, add an entry to `LAYOUTS`, new names of its columns to `NAMES` (or
their words to a pattern), and a case to tests/io/vote_layouts.toml. A role that names
the winner in a new form also needs a branch in `reader._VoteReader._sign`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

PLACED, WON, CANONICAL = "two documents", "a better and a worse", "doc_id, other_doc_id"
"""The kinds of sides: columns by place, columns by result, and canonical columns."""


@dataclass(frozen=True)
class Layout:
    """A layout of votes.

    Attributes:
        name: Name of the layout in messages.
        sides: Possible kinds of its sides.
        answer: Kind of its answers.
        needs: Roles that say who won.
        takes: Other such roles that may occur beside them, and are read or checked.
    """

    name: str
    sides: tuple[str, ...]
    answer: str
    needs: tuple[str, ...]
    takes: tuple[str, ...] = ()


ONE, COUNTS, ORDERS, GAMES, ASPECTS = "one", "counts", "orders", "games", "aspects"
"""Kinds of answers: one per row; the wins of each side; one for each order of display;
one for each of two games, the second with sides exchanged; one for each aspect."""
BOTH = (PLACED, CANONICAL)
LAYOUTS = (
    Layout(
        "doc_id, other_doc_id, preference (a sign)",
        BOTH,
        ONE,
        ("preference",),
        ("winner", "loser", "tie", "probability"),
    ),
    Layout(
        "two documents and winner (a side or an id)",
        BOTH,
        ONE,
        ("winner",),
        ("loser", "tie", "p_a", "p_tie", "p_b", "probability", "confidence"),
    ),
    Layout("two documents and loser", BOTH, ONE, ("loser",), ("tie",)),
    Layout(
        "winner, loser",
        (WON,),
        ONE,
        (),
        ("tie", "outcome", "preference", "confidence"),
    ),
    Layout("two documents and p_a, p_tie, p_b", BOTH, ONE, ("p_a",), ("p_tie", "p_b")),
    Layout("doc_id, other_doc_id, probability", BOTH, ONE, ("probability",)),
    Layout(
        "two documents and wins_a, wins_b",
        BOTH,
        COUNTS,
        ("wins_a", "wins_b"),
        ("ties",),
    ),
    Layout(
        "two documents and answer_a_first, answer_b_first",
        (PLACED,),
        ORDERS,
        ("answer_a_first", "answer_b_first"),
    ),
    Layout(
        "two documents and g1_winner, g2_winner", (PLACED,), GAMES, ("game_1", "game_2")
    ),
    Layout(
        "two documents, a judge, and ASPECT_vote for each aspect",
        BOTH,
        ASPECTS,
        ("wide",),
    ),
)
IN_WORDS = {"winner", "loser", "answer_a_first", "game_1", "outcome"}
"""Roles of columns of answers, which may be words."""
SAYING = {role for layout in LAYOUTS for role in (*layout.needs, *layout.takes)}

ROLES = (
    *("query_id", "a", "b", "winner", "loser", "preference", "tie", "first", "judge"),
    *("aspect", "weight", "seconds", "time", "probability", "confidence", "p_a"),
    *("p_tie", "p_b", "wins_a", "wins_b", "ties", "length_a", "length_b"),
)
"""Roles that a user can name."""

ENDS = (("a", "b"), ("left", "right"), ("first", "second"), ("1", "2"), ("0", "1"))
RESULTS = (
    *(("winner", "loser"), ("winning", "losing"), ("chosen", "rejected")),
    *(("better", "worse"), ("preferred", "dispreferred"), ("preferred", "rejected")),
    *(("preferred", "unpreferred"), ("preferred", "nonpreferred")),
    *(("accepted", "rejected"), ("selected", "rejected"), ("won", "lost")),
)
THIRD = {"c", "3", "third", "middle"}
"""Ends of a column that is compared with two others."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NOUNS = _words(
    """doc docs document docid docno pid passage psg paragraph chunk snippet page url
    item object entity product option candidate contestant competitor player team
    participant system model run runid method algorithm agent bot chatbot assistant llm
    engine generator response resp reply answer output completion continuation
    generation result summary translation story essay caption hypothesis hyp sentence
    text image img photo picture video audio sample side ranking list serp program code
    variant version"""
)
WEAK = _words("text url title content body")
"""Nouns of columns that may only describe a document that another column names."""
FILL = _words("id ids uid uuid name no the key")
ANSWERS = _words(
    """winner winning preference pref preferred vote votes choice label verdict judgment
    judgement decision outcome result gold answer better best selected chosen picked"""
)
_EVENTS = _words("vote votes label judgment judgement decision outcome result answer")
WORSE = _words("loser losing worse worst less least dispreferred")
BETTER = _words("better best more most preferred winning")
WIDE = _words("vote votes winner preference pref choice label verdict decision")
"""Ends of the columns that hold a vote for each aspect."""
TIES = _words("tie ties tied draw draws neither none equal both bad bothbad")
WINS = _words("winner wins win won votes")
CHANCE = _words("p prob probability")
LENGTH = _words("length len")


@dataclass(frozen=True)
class Pattern:
    """Names of columns by their words.

    Attributes:
        needs: Sets of words; a name has a word of each set.
        only: All words that a name may have; empty for any words.
    """

    needs: tuple[frozenset[str], ...]
    only: frozenset[str] = frozenset()

    def fits(self, words: Iterable[str]) -> bool:
        """Return whether a name of these words fits the pattern."""
        named = {*words}
        return all(named & n for n in self.needs) and named <= (self.only or named)


_DOCUMENT = NOUNS | FILL
TIES_OF_WINS = Pattern((TIES,), WINS | TIES | _words("n num count is"))
LOSER = Pattern((WORSE,), _DOCUMENT | _words("loser losing worse worst"))
_NUMBER = _words("n num count")
OF_SIDES = (
    (("length_a", "length_b"), Pattern((LENGTH,), LENGTH | _DOCUMENT)),
    (("p_a", "p_b"), Pattern((CHANCE,), CHANCE | _DOCUMENT)),
    (("wins_a", "wins_b"), Pattern((WINS,), WINS | _DOCUMENT | _NUMBER)),
    (("wins_a", "wins_b"), Pattern((_words("better"),), _words("better is"))),
    (
        ("answer_a_first", "answer_b_first"),
        Pattern((_words("first"),), ANSWERS | _words("first")),
    ),
)
"""Roles of two columns that describe each side, with the words that they share."""


def chances(end: str) -> dict[str, Pattern]:
    """Return the names of the probabilities of a side, with its `end`, and of a tie."""
    neither = TIES | {"n"}
    return {
        "p_a": Pattern((CHANCE, frozenset({end})), CHANCE | _DOCUMENT | {end}),
        "p_tie": Pattern((CHANCE, neither), CHANCE | neither),
    }


_DRAWN = _words("tie ties tied draw draws drawn bothbad")
_DECIDED = (
    (ANSWERS - {"answer", "judgment", "judgement"})
    | WORSE
    | _words(
        "win wins won lost lose loses prefers rejected sign polarity golden loss "
        "losses inverted inverse negated prediction predicted pred truth target"
    )
)
_SHOWN = _words(
    """swap swaps swapped flip flips flipped reverse reversed order ordering ordered
    position positions presentation presented shown show showing display displayed
    permutation permuted shuffle shuffled first second left right ab ba leftmost
    mirrored rotated switched sequence slot placement arrangement counterbalanced
    mirror turned pos randomized side sides direction forward backward"""
)
INVERTED = _words("flip flips flipped invert inverted reverse reversed negated")
"""Words of a column that may mean, with a better and a worse side, that worse won."""
_COUNTS = _words(
    "n count counts cnt freq frequency times repeats repetitions multiplicity total "
    "weight occurrences"
)
_COUNTED = WINS | _words("judges raters annotators comparisons matches")
_OF = _words("num number of")
_SAME = _words("same equal neither both")
_LIKELY = _words("p prob probability winrate chance likelihood")
_IS = frozenset({"is"})
BEARINGS = (
    ("weight", Pattern((_COUNTS,), _COUNTS | _COUNTED | _OF)),
    ("weight", Pattern((_COUNTED, _OF - {"of"}), _COUNTED | _OF)),
    ("tie", Pattern((_SAME,), _SAME | _IS)),
    ("probability", Pattern((_LIKELY,), _LIKELY | _IS)),
    ("tie", Pattern((_DRAWN,))),
    ("winner", Pattern((_DECIDED,))),
    ("first", Pattern((_SHOWN,))),
)
"""Names that may bear on the outcome, each after its role; the first one counts."""
MAY = {
    "winner": "say who won otherwise",
    "a": "be compared, too",
    "probability": "be the probability of some side",
    "weight": "say how many votes a row stands for",
    "tie": "say that a row is a tie",
}
"""Possible meanings of a column without a role, by role."""
_MARGINS = _words("margin diff difference delta gap strength advantage lead gain")
MARGIN = Pattern(
    (_MARGINS,),
    _MARGINS | _words("score scores reward rewards vote votes rating of in n"),
)
"""Names of columns that may hold the margin by which the winner or first side won.

Numbers below 0 in one may say that the other side won."""
MIXED = (
    _SHOWN
    | WORSE
    | _words(
        """orig original oracle human people model llm gpt judge annotator rater
        assessor worker labeler expert crowd prediction predicted pred truth before
        after initial final round game trial turn a b not un non longer shorter verbose
        harmful toxic biased"""
    )
)
"""Words with which a column of votes is that of a judge or order, not of an aspect."""

NAMES = {
    "query_id": ("query_id", "qid", "q_id", "queryid", "topic", "topic_id"),
    "judge": (
        *("judge", "assessor", "annotator", "worker", "judge_id", "judge_name"),
        *("judge_model", "judges", "annotator_id", "worker_id", "workers", "rater"),
        *("rater_id", "grader", "labeler", "labeller", "evaluator", "assessor_id"),
    ),
    "aspect": ("aspect", "criterion", "dimension"),
    "weight": ("weight",),
    "seconds": ("seconds", "work_time_in_seconds", "lead_time"),
    "time": ("time", "timestamp", "tstamp", "created_at", "judged_at"),
    "first": (
        *("first", "shown_first", "first_shown", "first_doc", "first_doc_id"),
        *("shown_left", "left_shown", "displayed_first", "presented_first"),
    ),
    "tie": ("tie", "is_tie", "tied", "is_tied", "draw", "is_draw"),
    "status": ("status", "assignment_status"),
    "confidence": (),
}
"""Names of columns by role; the first existing column has the role."""
GAME_NAMES = ("g1_winner", "game_1_winner"), ("g2_winner", "game_2_winner")
"""Names of the columns of two games."""
REJECTED = "rejected"
"""The status of work that the requester refused to pay; its answers do not count."""
CONTROLS = ("golden:", "hint:")
"""Prefixes of Toloka's columns of control tasks, which hold no judge's answers."""
QUERIES = (
    *("question_id", "prompt_id", "instruction_id", "task_id", "query", "question"),
    *("prompt", "instruction", "conversation_id", "task", "example_id", "sample_id"),
    *("input", "uid", "id"),
)
SURE_QUERIES = QUERIES[:5]
DOCUMENTS = {
    "a": ("doc_id", "docno", "docid", "doc", "did", "pid"),
    "b": ("other_doc_id", "other_docno", "other_docid", "other_doc", "other"),
}

_PREFIX = re.compile(r"^(input|output|answer|assignment|hit)[.:]", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TOKEN = re.compile(r"[^\W\d_]+|\d+").findall


def tokens(name: object) -> tuple[str, ...]:
    """Split a name into lower-case words and numbers: `Input.modelA` as model, a.

    `gpt-4_a`, `GPT 4 A` and `gpt4A` are one name; so are `doc1` and `doc_1`.
    """
    text = _PREFIX.sub("", str(name).replace("\ufeff", "").strip())
    words = _TOKEN(_CAMEL.sub("_", text).lower())
    if len(words) == 1 and words[0][:-1] in NOUNS and words[0][-1] in "ab":
        return words[0][:-1], words[0][-1]
    return tuple(words)


_ANSWER = Pattern((ANSWERS,), ANSWERS | _DOCUMENT)


def is_answer(words: Iterable[str]) -> bool:
    """Return whether a column of this name holds winners: `winner`, `better_doc_id`."""
    named = {*words}
    # vote_id numbers the votes; winner_id names who won.
    return _ANSWER.fits(named) and not (named & FILL and named & ANSWERS <= _EVENTS)


def bearing(words: tuple[str, ...]) -> str:
    """Return the role that a name needs; "" if it does not bear on the outcome."""
    named = {*words}
    if words[-1:] == ("id",) and named & ANSWERS <= _EVENTS:
        named -= ANSWERS
    return next((role for role, pattern in BEARINGS if pattern.fits(named)), "")


_QUERY_NAMES = {tokens(name) for name in (*NAMES["query_id"], *QUERIES)} - {("id",)}
_COLUMN_NAMES = {tokens(name) for side in DOCUMENTS.values() for name in side} | {
    (word,) for pair in RESULTS for word in pair
}


def names_query(field: str) -> bool:
    """Return whether the first field of a line may name a column of queries."""
    return tokens(field) in _QUERY_NAMES


def is_header(fields: Sequence[str]) -> bool:
    """Return whether a line without separators names columns: `topic better worse`."""
    return names_query(fields[0]) and any(
        words in _COLUMN_NAMES
        or is_answer(words)
        or (len(words) > 1 and {*words[:-1]} <= NOUNS | FILL)
        for words in map(tokens, fields[1:])
    )
