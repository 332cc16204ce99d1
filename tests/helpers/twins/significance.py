"""Tests of differences between runs, as the papers print them, one resample by one."""

from fractions import Fraction
from itertools import combinations, product
from math import inf, sqrt

_SAME = 1e-10  # up to here, relatively, two statistics are one that was rounded


def studentised(sample: list[float], scale: float) -> float:
    """Give t = mean / (σ / √N), σ the sample's; scale is that of the scores.

    Without variance it is infinite, or 0 if the mean is 0 too.
    """
    n = len(sample)
    mean = sum(sample) / n
    sigma = sqrt(sum((x - mean) ** 2 for x in sample) / (n - 1))
    if abs(mean) <= 1e-12 * scale:
        mean = 0.0
    if sigma <= 1e-12 * scale:
        return inf if mean else 0.0
    return mean / (sigma / sqrt(n))


def _reaches(value: float, observed: float) -> bool:
    return abs(value) == inf or abs(value) >= abs(observed) * (1 - _SAME)


def _differences(
    r1: list[float], r2: list[float]
) -> tuple[list[float], list[float], float]:
    """Give differences on each query, the same less their mean, and the scale."""
    z = [a - b for a, b in zip(r1, r2, strict=True)]
    mean = sum(z) / len(z)
    return z, [x - mean for x in z], max(abs(x) for x in (*r1, *r2))


def bootstrap_counts(matrix: list[list[float]], drawn: list[list[int]]) -> list[int]:
    """Count, per pair i < j, the bootstrap samples with |t(w*)| >= |t(z)|.

    Args:
        matrix: scores, a row per run.
        drawn: places of queries, a row per resample.

    Source: Sakai and Song 2012, Figure 2.
    """
    counts = []
    for r1, r2 in combinations(matrix, 2):
        z, w, scale = _differences(r1, r2)
        observed = studentised(z, scale)
        counts.append(
            sum(
                _reaches(studentised([w[q] for q in sample], scale), observed)
                for sample in drawn
            )
        )
    return counts


def bootstrap_t_interval(
    r1: list[float], r2: list[float], drawn: list[list[int]], level: Fraction
) -> tuple[float, float]:
    """Give mean ± c · se: (1 + number of |t*| that reach c) / (1 + B) is no less.

    Source: Hall 1992, the symmetric bootstrap-t.
    """
    z, w, scale = _differences(r1, r2)
    n = len(z)
    mean = sum(z) / n
    by_size = sorted(
        (abs(studentised([w[q] for q in sample], scale)) for sample in drawn),
        reverse=True,
    )
    most = next(k for k in range(len(drawn) + 1) if (1 + k) / (1 + len(drawn)) >= level)
    error = sqrt(sum(x * x for x in w) / (n - 1) / n)
    critical = by_size[most - 1] if most else inf
    half = critical * error if error > 1e-12 * scale else 0.0
    return mean - half, mean + half


def bootstrap_difference(
    matrix: list[list[float]], drawn: list[list[int]], alpha: float
) -> float:
    """Estimate the difference required for significance by the bootstrap.

    Source: Sakai and Song 2012, Figure 3.
    """
    deltas = []
    for r1, r2 in combinations(matrix, 2):
        _, w, scale = _differences(r1, r2)
        samples = [[w[q] for q in sample] for sample in drawn]
        by_t = sorted(
            ((abs(studentised(x, scale)), abs(sum(x) / len(x))) for x in samples),
            reverse=True,
        )
        # Of decimals as they are written: in floats, 100 * .29 is below 29.
        deltas.append(by_t[int(len(drawn) * Fraction(str(alpha))) - 1][1])
    return max(deltas)


def sign_flip_counts(matrix: list[list[float]], signs: list[list[int]]) -> list[int]:
    """Count, per pair i < j, the sign flips whose |sum| reaches the observed one.

    Args:
        matrix: scores, a row per run.
        signs: 1 or -1 per query, a row per resample.

    Source: Fisher's randomisation test; Smucker, Allan and Carterette 2007.
    """
    counts = []
    for r1, r2 in combinations(matrix, 2):
        z = [a - b for a, b in zip(r1, r2, strict=True)]
        scale = max(abs(x) for x in (*r1, *r2))
        reach = abs(sum(z)) - 1e-12 * scale * len(z)
        flipped = (sum(s * x for s, x in zip(row, z, strict=True)) for row in signs)
        counts.append(sum(abs(total) >= reach for total in flipped))
    return counts


def sign_flip_p(matrix: list[list[float]]) -> list[float]:
    """Give the exact p of the same test, per pair i < j."""
    rows = [list(row) for row in product([1, -1], repeat=len(matrix[0]))]
    return [count / len(rows) for count in sign_flip_counts(matrix, rows)]


def tukey_counts(
    matrix: list[list[float]], permuted: list[list[list[float]]]
) -> list[int]:
    """Count, per pair i < j, the permuted matrices whose largest difference reaches it.

    The figure prints `>`; a difference that equals the largest counts here, as an
    equal statistic does in every other test.

    Args:
        matrix: scores, a row per run.
        permuted: matrices whose columns, the queries, are permutations of its columns.

    Source: Sakai and Song 2012, Figure 4; Carterette 2012.
    """
    n = len(matrix[0])
    scale = max(abs(x) for row in matrix for x in row)
    means = [sum(row) / n for row in matrix]
    largest = []
    for other in permuted:
        found = [sum(row) / n for row in other]
        largest.append(max(found) - min(found) + 1e-12 * scale)
    return [
        sum(most >= abs(a - b) for most in largest) for a, b in combinations(means, 2)
    ]


def max_t(
    matrix: list[list[float]], pairs: list[tuple[int, int]], drawn: list[list[int]]
) -> tuple[list[float], list[float]]:
    """Give |T| of each pair, and the largest |T*| of each resample of queries.

    T is mean / √(se² + s²) where s² is the mean of se² over the pairs that are not
    identical; T* is of the differences less their mean, and of the resample's se².

    Source: bootstrap-t of Hall 1992 with the max-T of Westfall and Young 1993.
    """
    scale = max(abs(x) for row in matrix for x in row) or 1.0
    z = [[a - b for a, b in zip(matrix[i], matrix[j], strict=True)] for i, j in pairs]
    identical = [all(abs(x) <= 1e-12 * scale for x in row) for row in z]

    def statistics(samples: list[list[float]]) -> list[float]:
        n = len(samples[0])
        means = [sum(sample) / n for sample in samples]
        errors = [
            sum((x - mean) ** 2 for x in sample) / (n - 1) / n
            for sample, mean in zip(samples, means, strict=True)
        ]
        errors = [e if e > (1e-12 * scale) ** 2 else 0.0 for e in errors]
        others = [e for e, same in zip(errors, identical, strict=True) if not same]
        shared = sum(others) / max(1, len(others))
        found = []
        for mean, error, same in zip(means, errors, identical, strict=True):
            if same or abs(mean) <= 1e-12 * scale:
                found.append(0.0)
            else:
                spread = sqrt(error + shared)
                found.append(abs(mean) / spread if spread else inf)
        return found

    w = [[x - sum(row) / len(row) for x in row] for row in z]
    largest = [max(statistics([[row[q] for q in s] for row in w])) for s in drawn]
    return statistics(z), largest


def residual_mean_square(matrix: list[list[float]]) -> float:
    """Give the error of a two-way analysis of variance without replication."""
    runs, queries = len(matrix), len(matrix[0])
    grand = sum(map(sum, matrix)) / (runs * queries)
    total = sum((x - grand) ** 2 for row in matrix for x in row)
    of_runs = queries * sum((sum(row) / queries - grand) ** 2 for row in matrix)
    columns = list(zip(*matrix, strict=True))
    of_queries = runs * sum((sum(c) / runs - grand) ** 2 for c in columns)
    return (total - of_runs - of_queries) / ((runs - 1) * (queries - 1))


def holm(p: list[float]) -> list[float]:
    """Adjust p by Holm 1979: the k-th smallest of n times n - k + 1, never falling."""
    adjusted, highest = [0.0] * len(p), 0.0
    for k, i in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        highest = max(highest, min(1.0, p[i] * (len(p) - k)))
        adjusted[i] = highest
    return adjusted
