"""Rank-biased overlap, in plain Python."""


def rbo(
    ranking: list[str],
    ideal: list[str],
    p: float = 0.95,
    depth: int = 1000,
    normalization: str = "weights",
) -> float:
    """Compare two rankings by rank-biased overlap, depth by depth.

    A list that ends stays as it is at all further depths.

    Args:
        ranking: document ids, best first.
        ideal: document ids, best first.
        p: persistence, 0 < p < 1.
        depth: the last depth that counts.
        normalization: what the sum over depths is divided by: `weights` the sum of
            p^(d-1), as the published code; `one-minus-p` 1 / (1 - p), as printed;
            `ideal` the overlap of the ideal with itself, so that a perfect run has 1.

    Returns:
        A number from 0 to 1; 0 if the ideal ranking is empty.

    Source: Luo 2021, equation 2.8; Clarke, Smucker and Vtyurina 2020.
    """
    if not ideal:
        return 0.0
    total = _sum(ranking, ideal, p, depth)
    if normalization == "weights":
        return total / sum(p ** (d - 1) for d in range(1, depth + 1))
    if normalization == "one-minus-p":
        return (1 - p) * total
    return total / _sum(ideal, ideal, p, depth)


def _sum(ranking: list[str], ideal: list[str], p: float, depth: int) -> float:
    seen, wanted, total, shared = set(), set(), 0.0, 0
    for d in range(1, depth + 1):
        if d <= len(ranking):
            seen.add(ranking[d - 1])
        if d <= len(ideal):
            wanted.add(ideal[d - 1])
        if d <= max(len(ranking), len(ideal)):
            shared = len(seen & wanted)
        total += p ** (d - 1) * shared / d
    return total
