"""Gain per document of users who go on by what they see: C/W/L measures of cwl_eval."""

# pyright: reportIncompatibleVariableOverride=false

from math import inf
from typing import Annotated, ClassVar

import numpy as np

from pgcjax.errors import DataError
from pgcjax.io.schema import lenient_number
from pgcjax.kernels import graded
from pgcjax.kernels import user_models as kernels
from pgcjax.measures.gains import Gmax, Graded, by_log, given_or
from pgcjax.measures.measure import Measure, Parameter
from pgcjax.reference import user_models as twins

_GOES_ON = (
    "sum of g(r) V(r) over r <= d, divided by that of V(r), V(r) = product of C(i) "
    "over i < r, d = min(k, depth), C(i) = "
)


class Wants(Measure):
    """Users who want a gain T: the first parameter of a measure."""

    T: Annotated[
        float,
        Parameter(
            "gain that users want, a number from 0.5 up", valid=lambda t: 0.5 <= t < inf
        ),
    ] = 1.0


class Persists(Measure):
    """Users who go on with persistence p: the first parameter of a measure."""

    p: Annotated[
        float,
        Parameter("persistence, a number above 0, up to 1", valid=lambda p: 0 < p <= 1),
    ] = 0.9


class UserModel(Graded):
    """Gain per document of users who go down a list as a model predicts.

    Attributes:
        model: Function of `reference.user_models` for the probability to go on.
        but: Cases in which cwl_eval has other numbers.
    """

    gmin: Annotated[
        float,
        Parameter(
            "highest grade that gains nothing, a number from 0 up, below gmax",
            valid=lambda gmin: 0 <= gmin < inf,
        ),
    ] = 0.0
    gmax: Gmax = "collection"
    depth_: Annotated[
        int,
        Parameter(
            "last rank that users may look at, a whole number from 1 to 100000",
            valid=lambda depth: 1 <= depth <= 100_000,
        ),
    ] = 1000
    model: ClassVar[twins.Model]
    but: ClassVar[str] = ""

    @property
    def differs(self) -> str:
        """Differences from cwl_eval."""
        return (
            f"as ir_measures' {self.name}, which is cwl_eval's{self.but}; there, "
            "grades above max_rel (gmax) count as that"
        )

    @property
    def depth(self) -> int:
        """Last rank that users look at."""
        return int(min(self.k or self.depth_, self.depth_))

    def gains(self, grades, highest):
        """Map grades from gmin to gmax to gains from 0 to 1.

        Raises:
            DataError: gmin is not below a given gmax, or a grade is above it.
        """
        most, least = given_or(self.gmax, highest, grades), self.gmin
        if lenient_number(self.gmax) <= least:
            raise DataError(
                f"gmin={least:g} is not below gmax={self.gmax}",
                where="qrels",
                mend="Give a lower gmin, or a higher gmax.",
            )
        if most <= least:
            return np.zeros(grades.shape)
        return np.maximum(grades - least, 0) / (most - least)

    def chances(self) -> np.ndarray:
        """Return the probability to look at each rank, regardless of gains."""
        raise NotImplementedError

    def plain_gain(self, grade, highest):
        return twins.scaled(grade, self.parameters, highest)

    def plain_score(self, run, pool):
        return twins.expected_gain(run, self.parameters, type(self).model)


class ByRank(UserModel):
    """Users who go on by the rank alone."""

    def weights(self, depth):
        """Return the chances of ranks, which add up to 1."""
        each = self.chances()
        return _table(each / each.sum(), depth)

    def score(self, gain, run, ideal):
        return graded.discounted(gain, run)


class UntilSatisfied(UserModel):
    """Users who stop at a document with the chance of its gain."""

    def ideal(self, gains):
        """Return the sums of chances down to each rank, and over all ranks."""
        sums = np.cumsum(self.chances())
        return sums, sums[-1]

    def weights(self, depth):
        return _table(self.chances(), depth)

    def score(self, gain, run, ideal):
        return kernels.until_satisfied(gain, run, *ideal)


def aiming(wanted: float, depth: int) -> np.ndarray:
    """Return the chance that users who want a gain look at each rank: INSQ."""
    return (2 * wanted / (np.arange(1, depth + 1) + 2 * wanted - 1)) ** 2


def _table(chances: np.ndarray, depth: int) -> np.ndarray:
    """Make a table of weights of ranks 0 to `depth`."""
    weights = np.zeros(max(depth, len(chances)) + 1)
    weights[1 : len(chances) + 1] = chances
    return weights[: depth + 1]


class BPM(UserModel, Wants):
    """Gain per document of users who stop when they have gained T, or at rank k."""

    name = "BPM"
    source = (
        "Zhang et al., Evaluating web search with a bejeweled player model, SIGIR "
        "2017, static, as in cwl_eval"
    )
    formula = (
        "gains down to rank s, divided by s, the first rank where they are T or more "
        "(to 1e-9), or min(k, depth)"
    )
    cutoff = "must"

    model = twins.until_gained
    but = (
        ", but where T is above 1: it goes on for a document more where decimals that "
        "add up to T miss it by 1e-16"
    )

    def ideal(self, gains):
        """Return the last rank."""
        return float(self.depth)

    def score(self, gain, run, ideal):
        return kernels.until_gained(gain, run, ideal, self.T)


class SDCG(ByRank):
    """Scaled DCG: DCG, divided by that of a list of documents of the highest grade."""

    name = "SDCG"
    source = "Järvelin and Kekäläinen 2002, as in cwl_eval"
    formula = (
        "sum over r <= d of g(r) / log2(1 + r), over that of 1 / log2(1 + r), d = "
        "min(k, depth)"
    )
    cutoff = "must"

    model = twins.discounting

    def chances(self):
        """Return the discounts of DCG."""
        return by_log(self.depth)[1:]


class INSQ(ByRank, Wants):
    """Gain per document of users who want T, and look at ranks the less, the lower."""

    name = "INSQ"
    source = "Moffat, Scholer and Thomas, Models and metrics, ADCS 2012"
    formula = _GOES_ON + "((i + 2 T - 1) / (i + 2 T))^2"
    cutoff = "no"

    model = twins.squaring

    def chances(self):
        return aiming(self.T, self.depth)


class INST(UserModel, Wants):
    """Gain per document of users who go on the more, the less of T they have gained."""

    name = "INST"
    source = (
        "Bailey, Moffat, Scholer and Thomas, User variability and IR system "
        "evaluation, SIGIR 2015"
    )
    formula = (
        _GOES_ON + "(n / (n + 1))^2, n = i + 2 T - 1 - cg(i), cg: gains down to rank i"
    )
    cutoff = "no"

    model = twins.adapting

    def ideal(self, gains):
        """Return the ranks."""
        return np.arange(1.0, self.depth + 1)

    def score(self, gain, run, ideal):
        return kernels.while_wanting(gain, run, ideal, self.T)


class NERR8(UntilSatisfied):
    """Gain per document of users who stop at a document by its gain, or at rank k."""

    name = "NERR8"
    source = "Azzopardi, Mackenzie and Moffat, ERR is not C/W/L, ICTIR 2021, equation 8"
    formula = _GOES_ON + "1 - g(i)"
    cutoff = "must"

    model = twins.unsatisfied

    def chances(self):
        """Return 1 for each rank."""
        return np.ones(self.depth)


class NERR9(UntilSatisfied):
    """Gain per document of users who stop by gain, or tire early, or at rank k."""

    name = "NERR9"
    source = "Azzopardi, Mackenzie and Moffat, ERR is not C/W/L, ICTIR 2021, equation 9"
    formula = _GOES_ON + "i / (i + 1) (1 - g(i))"
    cutoff = "must"

    model = twins.tiring

    def chances(self):
        """Return 1 / rank."""
        return 1 / np.arange(1.0, self.depth + 1)


class NERR10(UntilSatisfied, Persists):
    """Gain per document of users who stop by gain, and go on with chance p else."""

    name = "NERR10"
    source = (
        "Azzopardi, Mackenzie and Moffat, ERR is not C/W/L, ICTIR 2021, equation 10"
    )
    formula = _GOES_ON + "p (1 - g(i))"
    cutoff = "no"

    model = twins.patient

    def chances(self):
        """Return p^(rank - 1)."""
        return self.p ** np.arange(self.depth)


class NERR11(UntilSatisfied, Wants):
    """Gain per document of users who stop by gain, and go on as those of INSQ else."""

    name = "NERR11"
    source = (
        "Azzopardi, Mackenzie and Moffat, ERR is not C/W/L, ICTIR 2021, equation 11"
    )
    formula = _GOES_ON + "((i + 2 T - 1) / (i + 2 T))^2 (1 - g(i))"
    cutoff = "no"

    model = twins.aiming

    def chances(self):
        return aiming(self.T, self.depth)


MEASURES = (
    *(BPM(), SDCG(), INSQ(), INST()),
    *(NERR8(), NERR9(), NERR10(), NERR11()),
)
