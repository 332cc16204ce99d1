"""Preference measures: agreement of the order of a run with preferences."""

# pyright: reportIncompatibleVariableOverride=false
# The name of a variant of a trec_eval measure depends on the pairs that it counts.

from math import log2
from typing import Annotated, Any, ClassVar

import numpy as np

from pgcjax.kernels import preference as kernels
from pgcjax.kernels.graded import QueryGains
from pgcjax.kernels.judgment_groups import RELEVANT, mean_of_groups
from pgcjax.measures.compatibility import GraphKind, OfGraph
from pgcjax.measures.gains import Graded, ListMeasure, by_log
from pgcjax.measures.graded import ERR, nDCG
from pgcjax.measures.measure import Case, Measure, OfMeasure, Parameter
from pgcjax.reference import preference as twins
from pgcjax.tensors import pairs as p
from pgcjax.tensors.judgment_groups import judged_groups
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.measure_tensors import ListTensors

_ALL = {"": "all", "_imp": "some", "_ret": "both"}
_KINDS = {"": ["ret", "imp", "not"], "_imp": ["ret", "imp"], "_ret": ["ret"]}
_COUNTED = {
    "poss": ("all", ""),
    "ful": ("some", " that the run fulfils"),
    "ful_ret": ("both", " that the run fulfils, of documents that it retrieved"),
}
_SOURCE = "Carterette et al. 2008, section 4; Carterette and Bennett 2008"
_PAIRS_HERE = "f > t: a judgment that prefers f to t; r: rank, inf if not retrieved"


def _share(better: np.ndarray, worse: np.ndarray, among: str) -> Any:
    """Return the fulfilled and the counted judgments; see `kernels.share`."""
    last = {"some": np.fmin(better, worse), "both": np.fmax(better, worse)}
    counts = np.isfinite(last.get(among, np.ones(len(better))))
    return (better < worse) & counts, counts


class OfPreferences(OfGraph, ListMeasure):
    """A measure of pairs of documents of which one is preferred.

    Attributes:
        by_judge: Whether pairs are counted for each judge, not for all together.
    """

    by_judge: ClassVar[bool] = False

    bad: Annotated[
        bool,
        Parameter(
            "true (every other document is preferred to one that was judged bad) or "
            "false (that it was is ignored)"
        ),
    ] = True
    closure: Annotated[
        bool,
        Parameter(
            "true (what chains of a judge's preferences imply counts, too) or false"
        ),
    ] = False

    def pairs(self, judgments: Judgments) -> p.JudgedPairs:
        """Return the pairs that `graph`, `bad` and `closure` ask for."""
        options = {"bad": self.bad, "closure": self.closure}
        graph = getattr(self, "graph", "real")
        if graph == "derived":
            return judgments.once(p.graded_pairs, "qrels")
        if graph == "real":
            return judgments.once(p.judged_pairs, "preferences", **options)
        return judgments.once(p.combined_pairs, "preferences", "qrels", **options)

    def prepare(self, judgments: Judgments) -> ListTensors:
        """Lay out counts of pairs."""
        pairs = self.pairs(judgments)
        counts = pairs.by_judge if self.by_judge else pairs.pooled
        void = [query for query, docs in pairs.docs.items() if not len(docs)]
        return self.lists(pairs.docs, counts, void=void)

    def terms(self, better: np.ndarray, worse: np.ndarray) -> Any:
        """Return the terms of each judgment in both sums of a ratio; None without one.

        A measure that is a sum has 0 as denominator.

        Args:
            better: Ranks, from 1, of the preferred documents; infinite if cut off.
            worse: Ranks of the other documents, likewise.
        """


class Carterette(OfPreferences, GraphKind):
    """A measure of Carterette et al. 2008, of preferences or of grades."""

    source = _SOURCE
    cutoff = "may"

    def twin(self, case: Case) -> float:
        """Score a case plainly."""
        return self.plain(twins.pooled(case), case.run, twins.cutoff(case))

    def plain(self, prefs: Any, run: list[str], k: float) -> float:
        """Score preferences of all judges plainly."""
        raise NotImplementedError


class PPref(Carterette):
    """Precision of preferences: of those that the run shows, the share in its order."""

    name = "ppref"
    formula = (
        "#{f > t: r(f) < r(t), r(f) <= k} / #{f > t: r(f) <= k or r(t) <= k}; "
        + _PAIRS_HERE
    )
    differs = (
        "jelsas' tool counts a repeated judgment once, and finds fewer that follow "
        "from bad documents"
    )

    def kernel(self, run, pairs):
        return kernels.share(run, pairs, among="some")

    def terms(self, better, worse):
        return _share(better, worse, "some")

    def plain(self, prefs, run, k):
        return twins.ppref(prefs, run, k)


class RPref(Carterette):
    """Recall of preferences: of all, the share in the order of the run."""

    name = "rpref"
    formula = "#{f > t: r(f) < r(t), r(f) <= k} / #{f > t}; " + _PAIRS_HERE
    differs = "as ppref"

    def kernel(self, run, pairs):
        return kernels.share(run, pairs, among="all")

    def terms(self, better, worse):
        return _share(better, worse, "all")

    def plain(self, prefs, run, k):
        return twins.rpref(prefs, run, k)


class FPref(Carterette):
    """Harmonic mean of ppref and rpref."""

    name = "fpref"
    formula = "2 ppref rpref / (ppref + rpref)"
    differs = "as ppref"

    def kernel(self, run, pairs):
        return kernels.harmonic(run, pairs)

    def terms(self, better, worse):
        fulfilled, counted = _share(better, worse, "some")
        return 2 * fulfilled, 1 + counted

    def plain(self, prefs, run, k):
        return twins.fpref(prefs, run, k)


class _Weighs(Measure):
    """The first parameters of wpref."""

    weight: Annotated[
        str,
        Parameter(
            "of a pair, one of lower (1 / log2(1 + its lower rank); 0 if a document "
            "was not retrieved), upper (1 / log2(1 + its upper rank)), tool (1 / (1 + "
            "log2 of that))",
            allowed=("lower", "upper", "tool"),
        ),
    ] = "lower"
    normalize: Annotated[
        bool,
        Parameter("true (divide by the weights of all judgments) or false"),
    ] = True


class WPref(Carterette, _Weighs):
    """ppref with each preference weighted by the rank of one of its documents."""

    name = "wpref"
    source = _SOURCE + ", and 5.3 (upper); jelsas' pairwise_pref_eval.py (tool)"
    formula = (
        "sum of w over {f > t: r(f) < r(t)} / sum of w over all f > t; w = 1 / log2(1 "
        "+ max(r(f), r(t))) or as weight says, of the run cut at k"
    )
    differs = (
        "wpref of jelsas' tool is weight=tool,normalize=false and its nwpref "
        "weight=tool, but for what ppref says"
    )

    def weights(self, depth):
        if self.weight == "tool":
            return np.array([0.0, *(1 / (1 + log2(r)) for r in range(1, depth + 1))])
        return by_log(depth)

    def kernel(self, run, pairs):
        lower, normalize = self.weight == "lower", self.normalize
        return kernels.weighted(run, pairs, lower=lower, normalize=normalize)

    def terms(self, better, worse):
        rank = (np.fmax if self.weight == "lower" else np.fmin)(better, worse)
        tool = self.weight == "tool"
        weight = 1 / (1 + np.log2(rank)) if tool else 1 / np.log2(1 + rank)
        return weight * (better < worse), weight * self.normalize

    def plain(self, prefs, run, k):
        return twins.wpref(prefs, run, k, self.weight, self.normalize)


class APPref(Carterette):
    """Average of ppref at the ranks of all documents that are preferred to any."""

    name = "APpref"
    source = "Carterette and Bennett 2008, as jelsas' pairwise_pref_eval.py has it"
    formula = (
        "mean of ppref@r(f) over documents f of any f > t; rpref for an f that was not "
        "retrieved, or not among the first k"
    )
    differs = (
        "jelsas' tool takes no document for preferred that only bad ones make so, and "
        "counts duplicates that were not retrieved"
    )

    def kernel(self, run, pairs):
        return kernels.average(run, pairs)

    def plain(self, prefs, run, k):
        return twins.ap_pref(prefs, run, k)


class TrecPreferences(OfPreferences):
    """Share of preferences that the run fulfils.

    Attributes:
        variant: Pairs that count: all, those with a retrieved document (`_imp`), or
            those with two (`_ret`).
        stem: Stem of the name.
        over: Units over which the share is averaged.
        simple: Measures that are equal to variants.
    """

    stem: ClassVar[str] = "prefs_simp"
    over: ClassVar[str] = ""
    simple: ClassVar[dict[str, str]] = {"": "rpref", "_imp": "ppref"}
    differs = (
        "trec_eval orders runs as --order clarke does, and counts queries and judges "
        "with a single document"
    )
    variant: str = ""

    @property
    def name(self) -> str:
        """Name of trec_eval."""
        return self.stem + self.variant

    @property
    def meaning(self) -> str:
        """Meaning of the measure."""
        which = {
            "": "; one of documents not retrieved fails",
            "_imp": "; of those of which a document was retrieved",
            "_ret": "; of those of which both documents were retrieved",
        }
        return super().meaning + which[self.variant]

    @property
    def source(self) -> str:
        """The file of trec_eval."""
        return f"trec_eval 9, form_prefs_counts.c and m_{self.name}.c"

    @property
    def formula(self) -> str:
        """The formula."""
        shown = {"": "", "_imp": ": f or t retrieved", "_ret": ": f and t retrieved"}
        same = self.simple.get(self.variant)
        return (
            f"{self.over}the share of {{f > t{shown[self.variant]}}} with r(f) < r(t)"
            + (f", {same}; " if same else "; ")
            + _PAIRS_HERE
        )

    @property
    def among(self) -> str:
        """Pairs that count."""
        return _ALL[self.variant]

    def kernel(self, run, pairs):
        return kernels.share(run, pairs, among=self.among)

    def terms(self, better, worse):
        return None if self.over else _share(better, worse, self.among)

    def twin(self, case):
        return twins.prefs_share(twins.pooled(case), case.run, _KINDS[self.variant])


class PrefsPair(TrecPreferences):
    """Share of preferences that the run fulfils, averaged over pairs of documents."""

    stem = "prefs_pair"
    over = "mean over pairs of documents of "
    simple = {}

    def kernel(self, run, pairs):
        return kernels.pair_mean(run, pairs, among=self.among)

    def twin(self, case):
        return twins.prefs_pair(twins.pooled(case), case.run, _KINDS[self.variant])


class PrefsAvgjg(TrecPreferences):
    """Share of preferences that the run fulfils, averaged over judges."""

    stem = "prefs_avgjg"
    over = "mean over judges of "
    simple = {}
    by_judge = True

    def kernel(self, run, pairs):
        return kernels.judge_mean(run, pairs, among=self.among)

    def twin(self, case):
        return twins.prefs_avgjg(twins.by_judge(case), case.run, _KINDS[self.variant])


class Rnonrel(ListMeasure):
    """prefs_avgjg_Rnonrel, of all documents or of those that were retrieved.

    Attributes:
        retrieved: Whether documents that were not retrieved are ignored.
    """

    needs = frozenset({"preferences", "levels"})
    retrieved: bool = False

    @property
    def name(self) -> str:
        """Name of trec_eval."""
        return "prefs_avgjg_Rnonrel" + "_ret" * self.retrieved

    @property
    def meaning(self) -> str:
        """Meaning of the measure."""
        return (
            "Share of preferences that the run fulfils, averaged over judges, of as "
            f"many {self._which}documents that are not relevant as relevant ones: by "
            "trec_eval, with its mistakes"
        )

    @property
    def source(self) -> str:
        """The file of trec_eval."""
        return f"trec_eval 9, m_{self.name}.c"

    @property
    def formula(self) -> str:
        """The formula."""
        return (
            "mean over judges of the share of {f > t} with r(f) < r(t); of the "
            f"judge's {self._which}documents, R have a level above 0 and N have 0. If "
            "N > R, the first R of the N in the run count, those not retrieved last, "
            "by id; if R > N, R (R - N) preferences are added, which retrieved "
            "relevant documents fulfil; " + _PAIRS_HERE
        )

    @property
    def differs(self) -> str:
        """Differences from a measure that is fit to compare runs."""
        several = "a group of several subgroups has no such comparisons"
        if self.retrieved:
            several = (
                "a group of several subgroups keeps as many as all its relevant "
                "documents, retrieved or not; of R - N > 0, all relevant documents "
                "count as possible"
            )
        return (
            "no measure to compare runs by: in a group of one subgroup with N > R, the "
            "R that are kept are compared with all N that are not relevant, too, as if "
            "these were preferred, so that a perfect run scores .25 for R = 1, N = 3; "
            f"{several}; one judge of whom nothing counts makes the score of the query "
            "0. trec_eval orders runs as --order clarke does, and counts queries and "
            "judges with a single document"
        )

    @property
    def _which(self) -> str:
        return "retrieved " * self.retrieved

    def prepare(self, judgments):
        groups = judgments.once(judged_groups, "preferences")
        counts = groups.counts.items()
        void = [query for query, of in counts if not (of.kind == RELEVANT).any()]
        return self.lists(groups.docs, groups.counts, void=void)

    def kernel(self, run, groups):
        """Average the shares of judges."""
        return mean_of_groups(run, groups, retrieved=self.retrieved)

    def twin(self, case):
        return twins.balanced(self.retrieved, case)


class PreferenceCount(OfPreferences):
    """Number of preferences.

    Attributes:
        counted: trec_eval's name of the counted pairs: `poss`, `ful` or `ful_ret`.
    """

    formula = "a count; over queries, their sum"
    counted: str = "poss"

    @property
    def name(self) -> str:
        """Name of trec_eval."""
        return f"prefs_num_prefs_{self.counted}"

    @property
    def meaning(self) -> str:
        """Preferences that are counted."""
        return super().meaning + _COUNTED[self.counted][1]

    @property
    def among(self) -> str:
        """Pairs that count."""
        return _COUNTED[self.counted][0]

    @property
    def source(self) -> str:
        """The file of trec_eval."""
        return f"trec_eval 9, m_{self.name}.c"

    def kernel(self, run, pairs):
        if self.counted == "poss":
            return kernels.possible(run, pairs)
        return kernels.fulfilled(run, pairs, among=self.among)

    def terms(self, better, worse):
        fulfilled, _ = _share(better, worse, self.among)
        return None if self.counted == "poss" else (fulfilled, np.zeros(len(better)))

    def twin(self, case):
        counts = twins.prefs_counts(twins.pooled(case), case.run)
        variant = {"poss": "", "ful": "_imp", "ful_ret": "_ret"}[self.counted]
        stem = self.counted.partition("_")[0]
        return float(sum(counts[f"{stem}_{kind}"] for kind in _KINDS[variant]))


class OfWins(OfPreferences, GraphKind, OfMeasure):
    """{M} of gains by preferences: a document's wins - losses.

    Attributes:
        of: Graded measure, with gains that are used unchanged.
    """

    name = "Delta-{M}"
    source = "after Luo 2021, section 4.1"
    differs = "its gains are ours: those of Sakai and Zeng 2020 are not public"
    cutoff = "may"

    of: Graded

    @property
    def formula(self) -> str:
        """The formula."""
        of_gains = {
            "nDCG": "nDCG@k of gains g",
            "ERR": "ERR@k, a user stops at a gain with g / (highest g + 1)",
        }
        return (
            of_gains[self.of.name] + "; g: wins - losses, less the lowest of all "
            "documents that were compared for the query; 0 for other documents"
        )

    def prepare(self, judgments):
        pairs, arrays = self.pairs(judgments), {}
        for query, delta in pairs.gain.items():
            delta = delta.astype(np.float64)
            gain = self.of.gains(delta, float(delta.max(initial=0)))
            arrays[query] = QueryGains(gain, self.of.ideal(gain))
        void = [query for query, gains in arrays.items() if not gains.gain.any()]
        return self.of.lists(pairs.docs, arrays, OfWins.kernel, void=void)

    def kernel(self, run, pairs):
        return type(self.of).kernel(self.of, run, pairs)

    def twin(self, case):
        return twins.delta(self.of.plain_gain, self.of.plain_score, case)


MEASURES = (
    *(PPref(), RPref(), FPref(), WPref(), APPref()),
    *(
        kind(variant=v)
        for kind in (TrecPreferences, PrefsPair, PrefsAvgjg)
        for v in _ALL
    ),
    *(Rnonrel(), Rnonrel(retrieved=True)),
    *(PreferenceCount(counted=what) for what in ("poss", "ful", "ful_ret")),
    *(OfWins(of=nDCG()), OfWins(of=ERR(stop="linear"))),
)
