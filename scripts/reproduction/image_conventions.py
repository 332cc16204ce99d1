"""Conventions of published numbers about image grids, with the bugs among them.

They lead from the data of Xie et al. (2020) to the numbers in their paper and in Luo
(2021); `docs/images.md` lists them.
"""

from math import exp


def second_preferred(first: float, second: float) -> float:
    """Give the probability that the second of two systems is preferred, by scores.

    Source: Xie et al. 2020, equation 7 as printed, which they say to be that of the
    first; their data label the second, Baidu, as 2 and the first, Sogou, as 0.
    """
    return 1 / (1 + exp(first - second))


def graded_ideal(grades: dict[str, float], sort: str = "number") -> list[str]:
    """List images by grade, highest first; equal grades in the order of the dict.

    Args:
        grades: of each image.
        sort: `number`, or `text` to compare grades as text, so that 9.0 is above 83.0:
            a bug of the published Figure 5.11 (c) and (d) of Luo 2021.
    """
    value = str if sort == "text" else float
    return sorted(grades, key=lambda image: value(grades[image]), reverse=True)
