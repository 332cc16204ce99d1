"""What answers imply and are worth, in plain Python."""

from itertools import product

Order = set[tuple[int, int]]


def chains(answers: Order) -> Order:
    """List (i, j) for all i from which a chain of answers leads to j."""
    reached = set(answers)
    while True:
        more = {(i, k) for (i, j), (x, k) in product(reached, reached) if j == x}
        if more <= reached:
            return reached
        reached |= more


def implied(answers: Order, docs: range) -> Order:
    """List what is clear: answers, and chains with none that leads back."""
    reach = chains(answers)
    two_way = {(i, j) for i, j in reach if (j, i) in reach}
    one_way = {(i, j) for i, j in product(docs, docs) if (i, j) in reach - two_way}
    return one_way | answers


def gain(
    answers: Order, asked: set[tuple[int, int]], stakes, docs: range, pair
) -> float:
    """Add the stakes of the pairs that `pair`, with all it implies, makes clear.

    Args:
        answers: (i, j): i is preferred to j.
        asked: pairs (i, j), both ways, that have an answer or are otherwise clear.
        stakes: of each pair (i, j).
        docs: all documents.
        pair: the answer that is tried.
    """
    after = implied(answers | {pair}, docs)
    new = {(i, j) for i, j in after if (i, j) not in asked}
    return sum(stakes[i][j] for i, j in new)
