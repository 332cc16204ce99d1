"""Letters of runs that show which pairs are significant."""

import numpy as np
from jaxtyping import Bool, Float

Different = Bool[np.ndarray, "runs runs"]
Means = Float[np.ndarray, " runs"]


def letters(different: Different, means: Means) -> list[str]:
    """Assign letters to runs: two runs share one exactly if they are not different.

    Each letter stands for a maximal set of runs of which no two are different. Sets are
    made, the best runs first, until each pair that is not different is in a set. If the
    difference of means alone decides, as in Tukey's test, no fewer letters suffice.

    Args:
        different: Whether two runs are different, for each pair; symmetric.
        means: Means of the runs; the best run has `a`.

    Returns:
        Letters of each run: a … z, aa, ab, …; separated by blanks if there are more
        than 26.

    Source: compact letter displays, Piepho 2004; as covers by cliques, Gramm et al.
    2007.
    """
    of_runs = memberships(different, means)
    count = len({letter for of_run in of_runs for letter in of_run})
    return [("" if count <= 26 else " ").join(of_run) for of_run in of_runs]


def memberships(different: Different, means: Means) -> list[list[str]]:
    """Return a list of letters for each run, which `letters` joins."""
    order = np.argsort(-np.asarray(means), kind="stable")
    alike = ~np.asarray(different, bool)[np.ix_(order, order)]
    np.fill_diagonal(alike, True)
    packed = np.packbits(alike, axis=1, bitorder="little")
    sets = _cover([int.from_bytes(row.tobytes(), "little") for row in packed])
    sets.sort(key=_members)
    of_runs: list[list[str]] = [[] for _ in order]
    for i, group in enumerate(sets):
        for place in _members(group):
            of_runs[order[place]].append(name(i))
    return of_runs


def _cover(alike: list[int]) -> list[int]:
    """Cover all edges and vertices of a graph by maximal cliques, as sets of bits."""
    uncovered = [edges & ~(1 << i) for i, edges in enumerate(alike)]
    sets = []
    for i in range(len(alike)):
        isolated = alike[i] == 1 << i
        while uncovered[i] or isolated:
            isolated = False
            clique, candidates = 1 << i, alike[i] & ~(1 << i)
            while candidates:
                # Runs whose pair with i is in no set yet come first, then the best run.
                j = _lowest(candidates & uncovered[i] or candidates)
                clique |= 1 << j
                candidates &= alike[j] & ~(1 << j)
            for j in _members(clique):
                uncovered[j] &= ~clique
            sets.append(clique)
    return sets


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _members(bits: int) -> list[int]:
    members = []
    while bits:
        members.append(_lowest(bits))
        bits &= bits - 1
    return members


def name(i: int) -> str:
    """Name the i-th letter: a … z, aa, ab, … as columns of a spreadsheet."""
    text = ""
    i += 1
    while i:
        i, rest = divmod(i - 1, 26)
        text = chr(ord("a") + rest) + text
    return text
