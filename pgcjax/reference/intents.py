"""Measures of several intents, for one run and query, in plain Python."""

from collections.abc import Callable
from fractions import Fraction

from pgcjax.reference import case as rows
from pgcjax.reference import diversity, graded
from pgcjax.reference import gains as to_gains
from pgcjax.reference.case import Case
from pgcjax.reference.gains import Gain, Score, gains_of


def probability(case: Case) -> dict[str, Fraction]:
    """Return the probability of each intent that has a relevant document."""
    given = None
    if "intents" in case.judged:
        intents = case.judged["intents"]
        given = {row["intent_id"]: row["probability"] for row in intents}
    intents = [*rows.grades_by_intent(case)]
    return diversity.probabilities(intents, case.parameters["probabilities"], given)


def served(case: Case) -> list[set[str]]:
    """Return the intents that each document of the run is relevant to."""
    by_document = rows.grades_by_document(case)
    return [set(by_document.get(doc, ())) for doc in case.run]


def alpha_dcg(case: Case) -> float:
    """Score by alpha-DCG."""
    q = case.parameters
    return diversity.alpha_dcg(served(case), q["alpha"], q["k"])


def alpha_ndcg(case: Case) -> float:
    """Score by alpha-nDCG."""
    q = case.parameters
    pool = {doc: set(by) for doc, by in rows.grades_by_document(case).items()}
    return diversity.alpha_ndcg(served(case), pool, q["alpha"], q["k"])


def nrbp(case: Case) -> float:
    """Score by NRBP."""
    q, intents = case.parameters, len(rows.grades_by_intent(case))
    return diversity.nrbp(served(case), intents, q["alpha"], q["beta"])


def nnrbp(case: Case) -> float:
    """Score by NRBP, divided by that of the greedy ideal list."""
    q, intents = case.parameters, len(rows.grades_by_intent(case))
    pool = {doc: set(by) for doc, by in rows.grades_by_document(case).items()}
    ideal = diversity.greedy_ideal(pool, q["alpha"])
    best = diversity.nrbp(ideal, intents, q["alpha"], q["beta"])
    return nrbp(case) / best if best else 0.0


def intent_recall(case: Case) -> float:
    """Score by I-rec."""
    intents = len(rows.grades_by_intent(case))
    return diversity.intent_recall(served(case), intents, case.parameters["k"])


def effective_precision(case: Case) -> float:
    """Score by EfP."""
    by_document = rows.grades_by_document(case)
    run, k = [by_document.get(doc, {}) for doc in case.run], case.parameters["k"]
    return diversity.effective_precision(run, rows.navigational(case), k)


def each_intent(gain: Gain, score: Score, case: Case) -> dict[str, float]:
    """Score the run for each intent by its own grades alone."""
    q, most = case.parameters, rows.highest(case, "intent_qrels")
    scores = {}
    for intent, grades in rows.grades_by_intent(case).items():
        gains = gains_of(gain, grades, q, most)
        run = [gains.get(doc, 0.0) for doc in case.run]
        scores[intent] = score(run, [*gains.values()])
    return scores


def intent_aware(gain: Gain, score: Score, case: Case) -> float:
    """Expect the score of an intent: M-IA."""
    return diversity.intent_aware(each_intent(gain, score, case), probability(case))


def p_plus_q(case: Case) -> float:
    """Score informational intents by Q, navigational ones by P+ [Sakai 2012, 12]."""
    q = case.parameters

    def scores(measure: Callable[..., float]) -> dict[str, float]:
        def score(run: list[float], pool: list[float]) -> float:
            return measure(run, pool, q["k"], q["beta"])

        def gain(grade: float, highest: float) -> float:
            return graded.gain(grade, q["gain"])

        return each_intent(gain, score, case)

    by_q, by_p_plus = scores(graded.q_measure), scores(graded.p_plus)
    chosen = by_q | {i: by_p_plus[i] for i in rows.navigational(case) & by_q.keys()}
    return diversity.intent_aware(chosen, probability(case))


def global_gains(
    gain: Gain, score: Score, case: Case, navigational: bool = False
) -> float:
    """Score global gains, which weigh intents by probability, with M, the `score`: D-M.

    With `navigational`, such intents gain from their first document only (DIN-M), but
    from all documents in the ideal list.
    """
    q, by_document = case.parameters, rows.grades_by_document(case)
    grades = [g for by_intent in by_document.values() for g in by_intent.values()]
    most = to_gains.highest_grade(q, grades, rows.highest(case, "intent_qrels"))
    worth = {}
    for doc, by_intent in by_document.items():
        gains = {intent: gain(g, most) for intent, g in by_intent.items()}
        worth[doc] = {intent: g for intent, g in gains.items() if g > 0}
    run = [worth.get(doc, {}) for doc in case.run]
    if navigational:
        run = diversity.without_redundancy(run, rows.navigational(case))
    pool = diversity.global_gains([*worth.values()], probability(case))
    run_gains = diversity.global_gains(run, probability(case))
    return score(run_gains, [g for g in pool if g > 0])


def sharp(score: Callable[[Case], float], case: Case) -> float:
    """Mix a score with intent recall [Sakai 2012, equation 7]."""
    gamma = case.parameters["gamma"]
    return gamma * intent_recall(case) + (1 - gamma) * score(case)
