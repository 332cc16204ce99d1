"""Small collections that mistakes show in: ties, cycles, gaps, bad documents."""

from itertools import combinations, pairwise

import numpy as np
import pandas as pd

INTENTS = (("2", 0.4), ("10", 0.25), ("3", 0.2), ("11", 0.15))
# Of q7, by document: the last can be followed by half new ones only.
_SERVED = [("2", "3"), ("10", "11"), *[()] * 5, ("2", "10")]
Tables = dict[str, pd.DataFrame]
RUNS = 6  # more than a tile has, so that the last one is padded
SIZES = {"q0": 3, "q1": 6, "q2": 8, "q3": 11, "q4": 5, "q5": 13, "q6": 12, "q7": 9}


def lists() -> Tables:
    """Runs as lists, and judgments of every kind.

    The highest grades are those of q0, of which nothing is preferred. Nothing is
    relevant for q1, nor for an intent of q4 and q6. The preferences of q2 are a weak
    order, those of q4 but for the best document a cycle; those of others have cycles,
    ties, repeats, bad documents and two judges. One of q5 and one of q7 weigh more than
    packed graphs hold.
    """
    rng = np.random.default_rng(5)
    prefs, qrels, intents, per_intent, runs = [], [], [], [], []
    for query, size in SIZES.items():
        docs = [f"d{i:02}" for i in rng.permutation(60)[:size]]
        prefs += [(query, *row) for row in _preferences(rng, query, docs)]
        graded = docs[:-1]  # the last is compared, but not graded
        special = {"q0": 3.0, "q1": 0.0}.get(query)
        grades = rng.choice([-1, 0, 0.3, 1, 1, 2], len(graded))
        grades = [special] * len(graded) if special is not None else grades
        qrels += [(query, *row) for row in zip(graded, grades, strict=True)]
        for intent, _ in INTENTS:
            worth = grades if special is not None else rng.integers(-1, 3, len(graded))
            if (query, intent) in (("q4", "10"), ("q6", "2")):
                worth = [0.0] * len(graded)
            if query == "q7":  # the ideal list by ids from the last is not the best
                serve = dict(zip(sorted(graded), _SERVED, strict=False))
                worth = [float(intent in serve.get(doc, "")) for doc in graded]
            per_intent += [
                (query, intent, doc, float(value))
                for doc, value in zip(graded, worth, strict=True)
                if special == 3 or query == "q7" or rng.random() < 0.6
            ]
        for intent, share in INTENTS:
            intents.append((query, intent, share, rng.choice(["nav", "inf"])))
        pool = [*docs, *(f"{kind}{i}" for kind in "ux" for i in range(3))]
        for run in reversed(range(RUNS)):
            if (query, run) == ("q3", 1):
                continue  # this run lacks a query
            some = rng.permutation(pool)[: rng.integers(2, len(pool) + 1)]
            scores = np.sort(np.round(rng.random(len(some)) * 4))[::-1]
            ranks = rng.permutation(len(some)) + 1.0
            rows = zip(some, scores, ranks, strict=True)
            runs += [(f"r{run}", query, *row) for row in rows]
    table = pd.DataFrame(
        runs, columns=["run_id", "query_id", "doc_id", "score", "rank"]
    )
    return {
        "runs": table,
        "preferences": pd.DataFrame(
            prefs,
            columns=["query_id", "doc_id", "other_doc_id", "preference"]
            + ["judge", "weight"],
        ),
        "qrels": pd.DataFrame(qrels, columns=["query_id", "doc_id", "relevance"]),
        "intent_qrels": pd.DataFrame(
            per_intent, columns=["query_id", "intent_id", "doc_id", "relevance"]
        ),
        "intents": pd.DataFrame(
            intents, columns=["query_id", "intent_id", "probability", "kind"]
        ),
        "context": _context(rng, table),
    }


def soft() -> Tables:
    """The same, but most judgments have probabilities, and many count in part.

    All counts of q6 are multiples of a quarter of a judgment.
    """
    rng, tables = np.random.default_rng(11), lists()
    prefs = tables["preferences"].copy()
    count = len(prefs)
    p = rng.choice([0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.9, 1, np.nan, np.nan], count)
    weight = rng.choice([1, 2, 0.5, 1 / 3, 2.3], count)
    quarters = (prefs["query_id"] == "q6").to_numpy()
    weight[quarters] = rng.choice([0.5, 1, 1.5], quarters.sum())
    p[quarters] = rng.choice([0, 0.25, 0.75, np.nan], quarters.sum())
    bad = prefs["other_doc_id"].isna().to_numpy()
    p[bad] = np.nan
    sign = np.where(np.isnan(p), np.sign(prefs["preference"]), np.sign(p - 0.5))
    prefs["preference"], prefs["probability"] = sign, p
    prefs["weight"] = weight
    return tables | {"preferences": prefs}


def levelled() -> Tables:
    """The same lists, with levels 0 and 1 of all documents that are compared.

    Judge u says all in one subgroup, judge v in two.
    """
    tables = lists()
    prefs = tables["preferences"].dropna(subset="other_doc_id")
    ends = (prefs[c].str[1:].astype(int) for c in ("doc_id", "other_doc_id"))
    level, other_level = (numbers * 7 % 5 % 2 * 1.0 for numbers in ends)
    prefs = prefs.assign(doc_level=level, other_doc_level=other_level)
    prefs["subgroups"] = np.where(prefs["judge"] == "u", 1.0, 2.0)
    return tables | {"preferences": prefs}


def _preferences(rng: np.random.Generator, query: str, docs: list[str]) -> list[tuple]:
    if query == "q0":
        return []
    if query == "q2":
        ordered = combinations(sorted(docs), 2)
        return [(a, b, 1.0, "u", 1) for a, b in ordered if a[:2] != b[:2]]
    if query == "q4":
        best, *rest = docs
        pairs = [*((best, doc) for doc in rest), *pairwise([*rest, rest[0]])]
        return [(a, b, 1.0, "u", 1) for a, b in pairs]
    often = 5 if query in ("q6", "q7") else 2
    pairs = [rng.permutation(docs)[:2] for _ in range(often * len(docs))]
    rows = [
        (a, b, float(rng.integers(-1, 2)), rng.choice(["u", "v"]), rng.integers(1, 3))
        for a, b in pairs
    ]
    if query in ("q5", "q7"):
        rows.append((docs[0], docs[1], 1.0, "u", 1500))
    return [*rows, (docs[2], None, -1.0, "v", 2)]


def _context(rng: np.random.Generator, runs: pd.DataFrame) -> pd.DataFrame:
    """Grade documents after the one before, the first, and the first judged of a run.

    The first is graded after the one with the least id, which no run has before it;
    nothing is graded after documents whose ids begin with u.
    """
    rows = {}
    for (_, query), run in runs.groupby(["run_id", "query_id"]):
        run = run.sort_values(["score", "doc_id"], ascending=False)
        docs = run["doc_id"].tolist()
        judged = min(docs, key=lambda doc: doc[0])  # the first of them
        for before, doc in zip([min(docs), *docs], docs, strict=False):
            for other in (before, docs[0], judged):
                if (
                    rng.random() < 0.4
                    and doc != other
                    and doc[0] == "d"
                    and other[0] != "u"
                ):
                    rows[query, doc, other] = float(rng.integers(-1, 3))
    columns = ["query_id", "doc_id", "previous_doc_id"]
    index = pd.MultiIndex.from_tuples(rows, names=columns)
    return pd.Series(rows.values(), index, name="relevance").reset_index()


def grids() -> Tables:
    """Grids of three systems, and three votes on most pairs of their images.

    To images 0 to 5, all that the first system shows for q0, every other is preferred.
    """
    rng = np.random.default_rng(3)
    places, votes = [], []
    for query, size in {"q0": 16, "q1": 20, "q2": 9}.items():
        images = [f"i{i:02}" for i in range(size)]
        for system in range(3):
            some = rng.permutation(images)[: rng.integers(4, 12)]
            if query == "q0":
                some = images[:6] if system == 0 else rng.permutation(images[6:])
            cells = [(row, column) for row in range(4) for column in range(3 + row % 2)]
            for image, cell in zip(some, cells, strict=False):
                places.append((f"s{system}", query, image, *cell))
        for a, b in combinations(images, 2):
            if query != "q0" and rng.random() < {"q1": 0.8, "q2": 0.1}[query]:
                continue
            low = query == "q0" and a < "i06" <= b
            for vote in range(3):
                sign = -1 if low and vote < 2 else rng.integers(-1, 2)
                left, right, sign = (a, b, sign) if vote else (b, a, -sign)
                votes.append((query, left, right, float(sign)))
    return {
        "runs": pd.DataFrame(
            places, columns=["run_id", "query_id", "doc_id", "row", "column"]
        ),
        "preferences": pd.DataFrame(
            votes, columns=["query_id", "doc_id", "other_doc_id", "preference"]
        ),
    }
