"""Measures of pgcjax as measures of ir_measures, and so of PyTerrier.

    from ir_measures import calc_aggregate, nDCG
    from pgcjax.plugins.ir_measures import PGC

    calc_aggregate([nDCG @ 10, PGC.bind(preferences)], qrels, run)

Each measure of the catalogue is here under its name, with _ for -; `measure` reads
names that are not valid in Python: `measure("D#-nDCG@10")`. Importing this module adds
`PROVIDER` to the providers of ir_measures. Scores are those of `pgcjax.evaluate` for
the queries of the qrels: 0 if the run lacks a query, NaN if the query has no judgments
for the measure.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from pgcjax.engine import job
from pgcjax.engine.chunk import together
from pgcjax.engine.plan import MemoryLimits
from pgcjax.engine.request import read_request, runs_of
from pgcjax.engine.scored import by_measure
from pgcjax.errors import DataWarning, UsageError, counted
from pgcjax.io.check import fingerprint
from pgcjax.io.judgments import read_judgments
from pgcjax.io.reading import memory_limit
from pgcjax.measures import ir_names
from pgcjax.measures.catalogue import catalogue, parse
from pgcjax.measures.measure import MEAN, Measure, spell, usual_mean
from pgcjax.stats.means import from_average, to_average

try:
    import ir_measures
    from ir_measures import providers, util
except ImportError:
    raise ImportError(
        "measures for ir_measures need it: pip install 'pgcjax[ir]'"
    ) from None


@dataclass(frozen=True)
class Bound:
    """Judgments that a measure is bound to; equal if they have the same content.

    Attributes:
        content: Fingerprints by kind.
        sources: Judgments as `evaluate` takes them, by kind.
    """

    content: frozenset[tuple[str, str]] = frozenset()
    sources: Mapping[str, Any] = field(default_factory=dict, compare=False)


class BoundMeasure(ir_measures.Measure):
    """A measure of pgcjax, with the judgments that it is bound to.

    `PGC(p=0.8)` and `nDCG @ 10` change parameters, as in ir_measures. It prints as in
    pgcjax, after the word pgcjax if the name means another number in ir_measures.
    """

    def __init__(self, measure: Measure, bound: Bound | None = None, name: str = ""):
        if "grids" in measure.needs:
            raise UsageError(
                f"{measure} scores image grids, which ir_measures does not have"
            )
        self.asked, self.bound = ir_names.unmistakable(measure), bound or Bound()
        self.name = name
        given = self.asked.given or ()
        values = {name: self.asked.parameters[name] for name in given}
        at = {} if measure.k is None else {self.AT_PARAM: measure.k}
        unusual = measure.mean != usual_mean(measure.name)
        mean = {MEAN.name: measure.mean} if unusual else {}
        super().__init__(**values, **at, **mean)
        # Another provider would compute a measure with a name of ir_measures.
        self.NAME, self.__name__ = f"pgcjax {measure.name}", measure.name
        self.SUPPORTED_PARAMS = {
            name: ir_measures.ParamInfo(default=parameter.default)
            for name, (parameter, _) in measure.described().items()
        } | {
            MEAN.name: ir_measures.ParamInfo(default=MEAN.default),
            self.AT_PARAM: ir_measures.ParamInfo(),
        }

    def __call__(self, **parameters: Any) -> "BoundMeasure":
        """Change parameters; `cutoff` is the cutoff."""
        given = self.params | parameters
        k = given.pop(self.AT_PARAM, None)
        text = spell(self.asked.name, given.items(), k)
        return BoundMeasure(parse(text, complete=False), self.bound, self.name)

    def bind(
        self, preferences: Any = None, *, name: str = "", **judgments: Any
    ) -> "BoundMeasure":
        """Bind judgments of any kind that `pgcjax.evaluate` takes.

        Args:
            preferences: Judgments for PGC and the measures of preferences.
            name: Name of the measure in tables, to distinguish two bindings.
            **judgments: `intent_qrels`, `intents`, `context`; or `qrels`, which
                replace the qrels of the experiment for this measure.

        Raises:
            DataError: judgments cannot be read. UsageError: their kind is unknown.
        """
        given = {"preferences": preferences, **judgments}
        given = {kind: source for kind, source in given.items() if source is not None}
        tables = read_judgments(given)
        content = {kind: fingerprint(table) for kind, table in tables.items()}
        if "predictions" in tables:  # `evaluate` needs the object that has both tables
            tables = {**tables, "context": given["context"]}
            del tables["predictions"]
        content = dict(self.bound.content) | content
        bound = Bound(frozenset(content.items()), {**self.bound.sources, **tables})
        return BoundMeasure(self.asked, bound, name or self.name)

    @property
    def needs(self) -> frozenset[str]:
        """The kinds of judgments that the measure needs."""
        return self.asked.needs

    @property
    def queries(self) -> list[str]:
        """The queries of the bound judgments that the measure needs."""
        sources = self.bound.sources
        each = [set(sources[kind]["query_id"]) for kind in self.needs & sources.keys()]
        if not each:
            raise UsageError(f"{self} lacks the judgments that it needs")
        return sorted(set.intersection(*each))

    def aggregator(self) -> Any:
        """Return the measure's mean, over the queries that were judged for it."""
        return _Mean(str(self.asked))

    def __repr__(self) -> str:
        text = str(self.asked)
        mistakable = ir_names.other_number(text)
        return self.name or (f"pgcjax {text}" if mistakable else text)

    def _key(self) -> tuple[Any, ...]:
        return self.asked, self.bound, self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoundMeasure) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


class _Mean(ir_measures.MeanAgg):
    def __init__(self, measure: str):
        super().__init__()
        self._measure = measure

    def add(self, value: float) -> None:
        if not np.isnan(value):
            super().add(float(to_average(np.array(value), self._measure)))

    def result(self) -> float:
        """Return the mean, or the sum; NaN without queries."""
        mean = np.array(super().result())
        return float(from_average(mean, self._measure, np.array(self.count)))


class Provider(providers.Provider):
    """Computes measures of pgcjax; those of one evaluator and binding together."""

    NAME = "pgcjax"

    def supports(self, measure: Any) -> bool:
        """Return whether this is a measure of pgcjax."""
        return isinstance(measure, BoundMeasure)

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> "Evaluator":
        return Evaluator(measures, qrels)


class Evaluator(providers.Evaluator):
    """Scores runs by measures whose judgments are read and laid out once."""

    def __init__(self, measures: Iterable[BoundMeasure], qrels: Any):
        """Read the qrels; if they are None, all judged queries count."""
        measures = list(measures)
        frame = queries = None
        if qrels is not None:
            frame: Any = util.QrelsConverter(qrels).as_pd_dataframe()
            queries = list(dict.fromkeys(map(str, frame["query_id"].unique())))
        super().__init__(measures, set(queries or ()))
        together: dict[Bound, list[BoundMeasure]] = {}
        for measure in measures:
            together.setdefault(measure.bound, []).append(measure)
        self._parts = [
            _BoundMeasures(members, _sources(members, frame), queries)
            for members in together.values()
        ]

    def iter_calc(self, run: Any) -> Iterator[ir_measures.Metric]:
        """Return the score of each measure and query, as the module describes it."""
        frame: Any = util.RunConverter(run).as_pd_dataframe()
        frame = frame[list(ir_measures.ScoredDoc._fields)]
        for part in self._parts:
            yield from part.scores(frame)


class _BoundMeasures:
    """Measures that are bound to the same judgments."""

    def __init__(
        self,
        measures: list[BoundMeasure],
        sources: dict[str, Any],
        queries: list[str] | None,
    ):
        limits = MemoryLimits(memory_limit(None))
        self._measures, self._limits = measures, limits
        self._request = read_request(sources, [str(m.asked) for m in measures], "trec")
        self._batches = self._request.batches(budget=limits.tile, keep=limits.kept)
        docs = {member.measure: member.tensors.docs for member in self._request.members}
        self._queries = {}
        for measure in measures:
            judged = docs[measure.asked]
            self._queries[measure] = list(judged) if queries is None else queries
            unjudged = [q for q in self._queries[measure] if q not in judged]
            _warn_of_unjudged(measure, unjudged)

    def scores(self, run: pd.DataFrame) -> Iterator[ir_measures.Metric]:
        values = self._values(run)
        for measure in self._measures:
            for query in self._queries[measure]:
                value = values[measure.asked].get(query, np.nan)
                yield ir_measures.Metric(query, measure, value)

    def _values(self, run: pd.DataFrame) -> dict[Measure, dict[str, float]]:
        members, judged = self._request.members, self._request.judged
        if not set(judged.docs) & set(map(str, run["query_id"].unique())):
            return {m.measure: dict.fromkeys(m.tensors.docs, 0.0) for m in members}
        settings = self._request, self._batches
        chunks = job.run(runs_of(run), *settings, limits=self._limits)
        total = together([chunk.open() for chunk in chunks])
        return {
            member.measure: dict(
                zip(member.tensors.docs, values[0].tolist(), strict=True)
            )
            for member, _, values in by_measure(*settings, total)
        }


def _sources(
    measures: list[BoundMeasure], qrels: pd.DataFrame | None
) -> dict[str, Any]:
    """Select the judgments for the measures of one binding.

    Raises:
        UsageError: a measure needs judgments that it is not bound to.
    """
    sources = dict(measures[0].bound.sources)
    for measure in measures:
        for need in sorted(measure.needs - sources.keys()):
            sources[need] = _of_qrels(qrels, need)
            if sources[need] is None:
                raise UsageError(f"{measure} needs {need}: {measure}.bind({need}=…)")
    return sources


def _of_qrels(qrels: pd.DataFrame | None, need: str) -> pd.DataFrame | None:
    """Take judgments from qrels; several values of iteration are intents."""
    columns = ["query_id", "doc_id", "relevance"]
    if qrels is None or need not in ("qrels", "intent_qrels"):
        return None
    if need == "qrels":
        return qrels[columns]
    if qrels["iteration"].nunique() < 2:
        return None
    return qrels.rename(columns={"iteration": "intent_id"})[[*columns, "intent_id"]]


def _warn_of_unjudged(measure: BoundMeasure, queries: list[str]) -> None:
    if queries:
        _warn_once(
            f"{measure}: {counted(len(queries), 'query')} of the qrels, such as "
            f"{queries[0]!r}, have no judgments for it and score NaN, which "
            "ir_measures leaves out of the mean, but PyTerrier does not: keep the "
            f"queries that {measure}.bind(…).queries lists"
        )


@cache  # an experiment makes an evaluator for each run
def _warn_once(message: str) -> None:
    warnings.warn(message, DataWarning, stacklevel=2)


def measure(text: str) -> BoundMeasure:
    """Read a measure as pgcjax spells it, such as `D#-nDCG@10`.

    Raises:
        UsageError: there is no such measure, or ir_measures cannot hold its runs.
    """
    return BoundMeasure(parse(text, complete=False))


def _names() -> dict[str, str]:
    """Return the names of measures by their valid names in Python."""
    names = {name.replace("-", "_"): name for name in catalogue()}
    return {key: name for key, name in names.items() if key.isidentifier()}


def __getattr__(name: str) -> BoundMeasure:
    if name.startswith("__") or name not in _names():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return measure(_names()[name])


def __dir__() -> list[str]:
    return sorted({*globals(), *_names()})


PROVIDER = providers.register(Provider())
ir_measures.DefaultPipeline.providers.append(PROVIDER)
