"""Conventions of published numbers about image grids, with the bugs among them.

They lead from the data of Xie et al. (2020) to the numbers in their paper and in Luo
(2021); `docs/images.md` lists them.
"""

from math import exp, log2


def second_preferred(first: float, second: float) -> float:
    """Give the probability that the second of two systems is preferred, by scores.

    Source: Xie et al. 2020, equation 7 as printed, which they say to be that of the
    first; their data label the second, Baidu, as 2 and the first, Sogou, as 0.
    """
    return 1 / (1 + exp(first - second))


def ndcg(
    gains: list[float], ideal: list[float], k: int, discount: str = "log-rank"
) -> float:
    """Discounted cumulated gain of a grid in reading order, over that of an ideal.

    Args:
        gains: of the images of a grid, in reading order.
        ideal: gains of all images that may be in the ideal ranking, in any order.
        k: cutoff.
        discount: `log-rank`, log2(r) from rank 3 on and none before, as in the numbers
            of Xie et al. [Järvelin and Kekäläinen 2000]; or `standard`, log2(r + 1).
    """

    def dcg(values: list[float]) -> float:
        shift = 0 if discount == "log-rank" else 1
        ranked = enumerate(values[:k], 1)
        return sum(g / max(1, log2(r + shift)) for r, g in ranked)

    best = dcg(sorted(ideal, reverse=True))
    return dcg(gains) / best if best else 0.0


def rank_biased_precision(gains: list[float], p: float, most: float = 100.0) -> float:
    """Give (1 - p) sum of p^(r - 1) g / most (RBP); `most` is 1 to keep raw gains."""
    return (1 - p) * sum(p**r * g / most for r, g in enumerate(gains))


def graded_ideal(grades: dict[str, float], sort: str = "number") -> list[str]:
    """List images by grade, highest first; equal grades in the order of the dict.

    Args:
        grades: of each image.
        sort: `number`, or `text` to compare grades as text, so that 9.0 is above 83.0:
            a bug of the published Figure 5.11 (c) and (d) of Luo 2021.
    """
    value = str if sort == "text" else float
    return sorted(grades, key=lambda image: value(grades[image]), reverse=True)
