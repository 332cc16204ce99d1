"""Do the statistics of judges hold what they print?

`python -m benchmarks.studies.audits` is the study behind tables of
docs/judging-evidence.md. Judges of whom all is known answer; counted is how often 95 %
intervals hold the truth, and how often a judge is said to do what the judge does not.
Equal calls, equal files.
"""

from collections.abc import Callable, Iterator
from typing import Any

import click
import numpy as np
import pandas as pd
from scipy import stats

import pgcjax
from benchmarks.studies.calibration import COVER, random_of
from benchmarks.studies.commands import Sections, study
from pgcjax.judging.audit import ALL, audit, length_odds
from pgcjax.judging.intervals import place_odds
from pgcjax.stats.rectified import random_share

SPREADS = (0.75, 1.5, 2.5, 5.0)
SIGNS = {"below": "↓", "within": "", "above": "↑"}
Row = dict[str, Any]


def sections(trials: int) -> dict[str, Callable[[], Iterator[Row]]]:
    """Name what is simulated; `trials` judges, or worlds, each."""
    return {
        "cycles": lambda: _cycles(max(20, trials // 2)),
        "place": lambda: _place(trials),
        "length": lambda: _length(trials),
        "shares": lambda: _shares(trials),
        "agreement": lambda: _agreement(trials),
        "fits": lambda: _fits(max(10, trials // 2)),
        "reliability": lambda: _reliability(max(5, trials // 10)),
        "labelled": lambda: _labelled(trials),
    }


def counted(name: str, held: Any, **more: Any) -> Row:
    """Count intervals that hold the truth, and say if that is 95 %, but for chance."""
    held = np.asarray(held, bool).ravel()
    least, most = stats.binom.interval(COVER, len(held), 0.95)
    count = int(held.sum())
    where = "below" if count < least else "above" if count > most else "within"
    share = round(count / max(1, len(held)), 4)
    return {"case": name, **more, "intervals": len(held), "held": share, "where": where}


def answers(
    random: np.random.Generator,
    queries: int,
    documents: int,
    sd: float,
    *,
    first: float = 0.0,
    both: bool = False,
    better_first: float = 0.5,
    strength: np.ndarray | None = None,
) -> pd.DataFrame:
    """Answers of a Bradley-Terry judge on all pairs of documents of each query.

    Args:
        random: numbers.
        queries: how many.
        documents: of each.
        sd: of strengths.
        first: log-odds that place adds.
        both: whether each pair is shown in both orders.
        better_first: chance that the better document is shown first.
        strength: of documents; drawn, if None.
    """
    if strength is None:
        strength = random.normal(0, sd, (queries, documents))
    a, b = np.triu_indices(documents, 1)
    query = np.repeat(np.arange(queries), len(a))
    a, b = np.tile(a, queries), np.tile(b, queries)
    lead = strength[query, a] - strength[query, b]
    a_first = (random.random(len(a)) < better_first) == (lead > 0)
    if both:
        query, a, b, lead = (np.tile(x, 2) for x in (query, a, b, lead))
        a_first = np.concatenate([a_first, ~a_first])
    odds = lead + first * np.where(a_first, 1, -1)
    won = random.random(len(a)) < 1 / (1 + np.exp(-odds))
    doc, other = (np.char.add("d", x.astype(str)).astype(object) for x in (a, b))
    return pd.DataFrame(
        {
            "query_id": np.char.add("q", query.astype(str)),
            "doc_id": doc,
            "other_doc_id": other,
            "preference": np.where(won, 1.0, -1.0),
            "first": np.where(a_first, doc, other),
            "judge": "j",
        }
    )


def finding(table: pd.DataFrame, probe: str, **how: Any) -> Any:
    """Find what an audit says of all judges."""
    found = audit(table, **how).table
    return found[(found["judge"] == ALL) & (found["probe"] == probe)].iloc[0]


def usual_cycles(sd: float) -> float:
    """The share of triples that are cycles, of a Bradley-Terry judge."""
    node, weight = np.polynomial.hermite_e.hermegauss(40)
    weight = weight / weight.sum()
    beats = 1 / (1 + np.exp(sd * (node[None, :] - node[:, None])))
    cycle = np.einsum("ij,jk,ki->ijk", beats, beats, beats)
    return float(2 * np.einsum("ijk,i,j,k->", cycle, weight, weight, weight))


def _cycles(trials: int) -> Iterator[Row]:
    for queries, documents in ((1, 12), (5, 8), (40, 7)):
        for sd in (0.75, 1.5, 3.0):
            random = random_of(f"cycles {queries} {sd}", 0)
            held, said = [], []
            truth = usual_cycles(sd)
            for _ in range(trials):
                row = finding(answers(random, queries, documents, sd), "cycles")
                held.append(row["low"] <= truth <= row["high"])
                said.append(not row["verdict"].startswith("as "))
            name = f"{queries} × {documents}"
            yield counted(name, held, sd=sd, accused=round(np.mean(said), 4))
    for name, make in (("habits", _habits), ("no doubt", _no_doubt)):
        random, said = random_of(f"cycles {name}", 0), []
        for _ in range(trials):
            said.append(finding(make(random), "cycles")["verdict"])
        more = [word.startswith("more") for word in said]
        fewer = [word.startswith("fewer") for word in said]
        yield {
            "case": name,
            "more": round(float(np.mean(more)), 4),
            "fewer": round(float(np.mean(fewer)), 4),
        }


def _habits(random: np.random.Generator) -> pd.DataFrame:
    """A judge who goes by whichever of three aspects differs by most: with cycles."""
    table = answers(random, 40, 7, 1.0)
    aspects = random.normal(0, 1, (3, 40, 7))
    query, a, b = (table[c].str[1:].astype(int) for c in ("query_id", *_DOCS))
    lead = aspects[:, query, a] - aspects[:, query, b]
    turn = np.array([1, -1, 1])[:, None] * lead
    one = turn[np.abs(lead).argmax(0), np.arange(len(table))]
    return table.assign(preference=np.sign(one))


def _no_doubt(random: np.random.Generator) -> pd.DataFrame:
    """A judge who is sure where documents differ by one deviation, else guesses."""
    table = answers(random, 40, 7, 1.0)
    strength = random.normal(0, 1, (40, 7))
    query, a, b = (table[c].str[1:].astype(int) for c in ("query_id", *_DOCS))
    lead = strength[query, a] - strength[query, b]
    coin = random.choice([-1.0, 1.0], len(table))
    return table.assign(preference=np.where(np.abs(lead) > 1, np.sign(lead), coin))


_DOCS = ("doc_id", "other_doc_id")


def _place(trials: int) -> Iterator[Row]:
    for better_first, name in ((0.5, "either"), (1.0, "the better one")):
        for first in (0.0, 0.4):
            for documents in (8, 16):
                random = random_of(f"place {name} {first} {documents}", 0)
                held, said = [], []
                how = {"first": first, "both": True, "better_first": better_first}
                for _ in range(trials):
                    table = answers(random, 1, documents, 2.0, **how)
                    pair = np.tile(np.arange(len(table) // 2), 2)
                    low_first = np.where(table["first"] == table["doc_id"], 1.0, -1.0)
                    sign = table["preference"].to_numpy()
                    _, low, high, _ = place_odds(pair, low_first, sign)
                    held.append(low <= np.exp(first) <= high)
                    said.append(low > 1 or high < 1)
                more = {"documents": documents, "log odds": first}
                yield counted(name, held, **more, accused=round(np.mean(said), 4))


def _length(trials: int) -> Iterator[Row]:
    for queries, documents in ((1, 20), (3, 12), (9, 5), (10, 7), (40, 7)):
        random, held = random_of(f"length {queries}", 0), []
        for _ in range(trials):
            table = answers(random, queries, documents, 1.5)
            names = ("query_id", *_DOCS)
            docs = np.stack([table[c].str[1:].astype(int) for c in names], axis=1)
            length = random.normal(6, 1, (queries, documents))
            x = length[docs[:, 0], docs[:, 1]] - length[docs[:, 0], docs[:, 2]]
            sign = table["preference"].to_numpy()
            of = dict(zip(("query_id", "low", "high"), docs.T, strict=True))
            of |= {"sign": sign, "longer": x, "first": np.nan}
            row = length_odds(pd.DataFrame(of))
            held.append(row.low <= 1 <= row.high)
        yield counted(f"{queries} × {documents}", held)


def _shares(trials: int) -> Iterator[Row]:
    """Of judges of whom each answers each pair twice in both orders."""
    for judges in (1, 5):
        random = random_of(f"shares {judges}", 0)
        names = ("swap", "repeats", "ties")
        held: dict[str, list[bool]] = {name: [] for name in names}
        strength = random.normal(0, 1.5, (4, 8))
        lead = np.array([s[a] - s[b] for s in strength for a, b in _pairs(8)])
        for _ in range(trials):
            parts, truth = [], {name: 0.0 for name in names}
            for judge in range(judges):
                chance = _chances(lead, 0.3, -0.5)  # [order, answer, pair]
                part, own = _asked(random, chance, judge)
                parts.append(part)
                for name in names:
                    truth[name] += own[name] / judges
            found = audit(pd.concat(parts, ignore_index=True)).table
            found = found[found["judge"] == ALL].set_index("probe")
            for name in names:
                row = found.loc[name]
                held[name].append(row["low"] <= truth[name] <= row["high"])
        for name in names:
            yield counted(name, held[name], judges=judges)


def _pairs(n: int) -> list[tuple[int, int]]:
    return [*zip(*np.triu_indices(n, 1), strict=True)]


def _chances(lead: np.ndarray, first: float, tie: float) -> np.ndarray:
    odds = lead + first * np.array([1, -1])[:, None]
    worth = np.exp([odds / 2, np.full_like(odds, tie), -odds / 2])
    return (worth / worth.sum(0)).transpose(1, 0, 2)


def _asked(
    random: np.random.Generator, chance: np.ndarray, judge: int
) -> tuple[pd.DataFrame, dict[str, float]]:
    """Ask each pair three times in each order; and the expected shares."""
    orders, _, pairs = chance.shape
    rows = []
    times = 3
    drawn = random.random((times, orders, pairs))
    sign = 1.0 - (drawn[:, :, None] > np.cumsum(chance, 1)[:, :2]).sum(2)
    where = np.indices(sign.shape)
    pair = where[2].ravel()
    doc = np.char.add("a", pair.astype(str)).astype(object)
    other = np.char.add("b", pair.astype(str)).astype(object)
    rows = {"query_id": "q", "doc_id": doc, "other_doc_id": other}
    rows["preference"] = sign.ravel()
    rows["first"] = np.where(where[1].ravel() == 0, doc, other)
    rows["judge"] = f"j{judge}"
    alike = float((chance**2).sum(1).mean())
    # Of three answers in one order: all the same, or a tie.
    all_same = chance**3
    said = np.stack([all_same[:, 0], all_same[:, 2]], 1)
    said = np.concatenate([said, 1 - said.sum(1, keepdims=True)], 1)
    agree = float((said[0] * said[1]).sum(0).mean())
    ties = float(chance[:, 1].mean())
    return pd.DataFrame(rows), {"swap": agree, "repeats": alike, "ties": ties}


def _agreement(trials: int) -> Iterator[Row]:
    """Cohen's kappa of two judges, whose votes depend on the pair alone."""
    for pairs in (40, 200):
        for noise in (0.1, 0.4):
            random = random_of(f"kappa {pairs} {noise}", 0)
            said = np.array([0.45, 0.1, 0.45])
            table = noise * said[:, None] * said + (1 - noise) * np.diag(said)
            truth = (np.trace(table) - (said**2).sum()) / (1 - (said**2).sum())
            held = []
            for _ in range(trials):
                cell = random.choice(9, pairs, p=table.ravel())
                both = np.stack(np.divmod(cell, 3), 1)
                frame = pd.DataFrame({"query_id": "q", "doc_id": "a"}, range(2 * pairs))
                frame["other_doc_id"] = [f"b{i}" for i in range(pairs)] * 2
                frame["preference"] = both.T.ravel() - 1.0
                frame["judge"] = ["j"] * pairs + ["k"] * pairs
                found = audit(frame).table
                own = found[(found["judge"] == "j") & (found["of"] == "k")].iloc[0]
                held.append(own["low"] <= truth <= own["high"])
            yield counted("kappa", held, pairs=pairs, kappa=round(float(truth), 3))


def world(
    random: np.random.Generator,
    queries: int,
    documents: int,
    votes: int,
    sd: float,
    looks: np.ndarray,
) -> tuple[pd.DataFrame, np.ndarray]:
    """Votes on random pairs, by judges who look with these chances, swayed by place."""
    shape = queries, votes
    strength = random.normal(0, sd, (queries, documents))
    strength -= strength.mean(1, keepdims=True)
    a = random.integers(0, documents, shape)
    b = (a + random.integers(1, documents, shape)) % documents
    judge, first = random.integers(0, len(looks), shape), random.random(shape) < 0.5
    query = np.indices(shape)[0]
    odds = strength[query, a] - strength[query, b] + 0.4 * np.where(first, 1, -1)
    looked = random.random(shape) < looks[judge]
    chance = np.where(looked, 1 / (1 + np.exp(-odds)), 0.5)
    columns = {"query_id": query, "doc_id": a, "other_doc_id": b, "judge": judge}
    columns["first"] = np.where(first, a, b)
    frame = {c: [f"{i:03d}" for i in x.ravel()] for c, x in columns.items()}
    won = random.random(shape) < chance
    return pd.DataFrame({**frame, "preference": np.where(won.ravel(), 1, -1)}), strength


def _held(table: pd.DataFrame, truth: Any) -> list[bool]:
    return ((table["low"] <= truth) & (truth <= table["high"])).tolist()


def _fits(trials: int) -> Iterator[Row]:
    for sd in SPREADS:
        for prior in (None, 2.5):
            random = random_of(f"fits {sd}", 0)
            place, strengths, found = [], [], []
            for _ in range(trials):
                table, strength = world(random, 30, 10, 40, sd, np.ones(1))
                fit = pgcjax.judgments.fit(table, remove=["first"], prior=prior)
                place += _held(fit.effects, np.array([0.4]))
                strengths += _strengths(fit.table, strength)
                found.append(_spread_of(fit))
            name = "estimated" if prior is None else "prior 2.5"
            more = {"sd": sd, "strengths": round(np.mean(strengths), 4)}
            more["spread"] = round(float(np.mean(found)), 3)
            yield counted(name, place, **more)


def _strengths(table: pd.DataFrame, strength: np.ndarray) -> list[bool]:
    query, doc = (table[c].astype(int) for c in ("query_id", "doc_id"))
    truth = pd.Series(strength[query, doc], table.index)
    mean = truth.groupby([table["query_id"], table["linked"]]).transform("mean")
    return _held(table, truth - mean)


def _spread_of(fit: Any) -> float:
    said = [note for note in fit.notes if note.startswith("standard deviation")]
    return float(said[0].split()[-1]) if said else 2.5


def _reliability(trials: int) -> Iterator[Row]:
    random = random_of("reliability", 0)
    for name, make in (
        ("as the prior", lambda: random.beta(4, 1, 20)),
        ("half guess", lambda: np.where(np.arange(20) < 10, 0.0, 0.95)),
        ("a fifth guess", lambda: np.where(np.arange(20) < 4, 0.0, 0.95)),
    ):
        held, not_known, errors, effects, strengths = [], 0, [], [], []
        for _ in range(trials):
            looks = make()
            table, strength = world(random, 40, 8, 60, 1.5, looks)
            fit = pgcjax.judgments.fit(table, remove=["first"], reliability=True)
            known = fit.judges["low"].notna().all()
            not_known += not known
            held += _held(fit.judges, looks) if known else []
            errors.append(np.abs(fit.judges["reliability"] - looks).mean())
            effects += _held(fit.effects, np.array([0.4]))
            strengths += _strengths(fit.table, strength)
        yield counted(
            name,
            held,
            not_known=not_known,
            worlds=trials,
            off=round(float(np.mean(errors)), 3),
            first=round(np.mean(effects), 4),
            strengths=round(np.mean(strengths), 4),
        )


def _labelled(trials: int) -> Iterator[Row]:
    """Runs that are alike, as those of one collection are; a share of the queries."""
    for runs, queries, share in ((2, 46, 10), (60, 46, 23), (8, 200, 20)):
        for easier in (0.0, 1.0):
            random = random_of(f"labelled {runs} {queries} {easier}", 0)
            warned = 0
            for _ in range(trials):
                level = random.normal(0, 1, queries)
                values = level + random.normal(0, 0.7, (runs, queries))
                values = 1 / (1 + np.exp(-values))
                # Easy queries are chosen rather: their odds are exp(easier) times.
                order = random.gumbel(size=queries) + easier * level
                chosen = np.zeros(queries, bool)
                chosen[np.argsort(-order)[:share]] = True
                warned += random_share(values, chosen)[0] < 0.05
            name = "easy ones rather" if easier else "a random share"
            more = {"runs": runs, "queries": queries, "judged": share}
            yield {"case": name, **more, "p below .05": round(warned / trials, 4)}


def tables(found: dict[str, list[Row]]) -> Iterator[str]:
    """Give the tables in Markdown."""
    for name, rows in found.items():
        yield f"**{name}**"
        yield ""
        columns = list(dict.fromkeys(c for row in rows for c in row if c != "where"))
        yield "| " + " | ".join(columns) + " |"
        yield "|---" * len(columns) + "|"
        for row in rows:
            cells = [str(row.get(c, "")) for c in columns]
            if "held" in row:
                at = columns.index("held")
                cells[at] = f"{100 * row['held']:.1f}{SIGNS[row['where']]}"
            yield "| " + " | ".join(cells) + " |"
        yield ""


@study(tables)
@click.option("--trials", type=int, default=100, show_default=True)
@click.option("--only", multiple=True, help="Sections; all by default.")
def main(trials: int, only: tuple[str, ...]) -> Sections:
    """Ask judges of whom all is known, and count the intervals that hold the truth."""
    return {
        name: list(section())
        for name, section in sections(trials).items()
        if not only or name in only
    }


if __name__ == "__main__":
    main()
