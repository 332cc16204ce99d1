"""Measures as strings: they parse, print back, and say what is wrong."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pgcjax
from pgcjax.errors import UsageError
from pgcjax.measures.binary import AP, RBP
from pgcjax.measures.catalogue import catalogue, parse, parse_all
from pgcjax.measures.graded import nDCG
from pgcjax.measures.retrieved import Success
from pgcjax.measures.spec import filled

QRELS = {"q": {"d": 1}}


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("PGC", "PGC"),
        ("pgc", "PGC"),
        (" PGC ( p = .8 ) ", "PGC(p=0.8)"),
        ("PGC()", "PGC"),
        ("PGC(graph=derived,p=0.80)", "PGC(p=0.8,graph=derived)"),
        ("compat(normalize=False)", "Compat(normalize=false)"),
        (
            "PGC(ties=doc_id,normalization=one-minus-p,depth=7)",
            "PGC(depth=7,normalization=one-minus-p,ties=doc_id)",
        ),
        ("PGC(seed=7, n=50, ties=mean, p=.8)", "PGC(p=0.8,ties=mean,n=50,seed=7)"),
    ],
)
def test_prints_in_canonical_order_what_was_given(text, printed):
    assert str(parse(text)) == printed
    assert str(parse(printed)) == printed


def test_defaults_are_those_of_the_papers():
    assert parse("PGC").parameters == {
        "p": 0.95,
        "depth": 1000,
        "graph": "real",
        "normalization": "weights",
        "ties": "doc_id",
        "n": 100,
        "seed": 0,
        "soft": "margin",
        "ideal": "greedy",
    }
    assert parse("Compat").in_full() == "Compat(p=0.95,depth=1000,normalize=true)"


def test_equal_if_all_parameters_are():
    assert parse("PGC") == parse("PGC(p=0.95)") != parse("PGC(p=0.8)")
    assert [str(m) for m in parse_all(["PGC(p=0.95)", "PGC", "Compat"])] == [
        "PGC(p=0.95)",
        "Compat",
    ]


@given(
    st.floats(0, 1, exclude_min=True, exclude_max=True),
    st.integers(1, 10**6),
    st.sampled_from(["real", "derived", "combined"]),
)
def test_round_trip(p, depth, graph):
    text = f"PGC(p={p!r},depth={depth},graph={graph})"
    measure = parse(text)
    assert str(measure) == text
    assert parse(str(measure)) == parse(measure.in_full()) == measure


CUTOFFS = {"no": [""], "may": ["", "@1", "@ 20", "@9999999"], "must": ["@1", "@20"]}
CUTOFFS["level"] = ["@0", "@.25", "@ 0.1", "@1.0"]


@st.composite
def written_measures(draw) -> str:
    """Any measure with some of its parameters, in any order, case and spacing."""
    measure = draw(st.sampled_from([*catalogue().values()]))
    some = draw(st.permutations([p for p, _ in measure.described().values()]))
    given = []
    for parameter in some[: draw(st.integers(0, len(some)))]:
        default = parameter.default
        if parameter.allowed:
            value = draw(st.sampled_from(parameter.allowed))
        elif isinstance(default, bool):
            value = draw(st.sampled_from(["true", "False", "TRUE"]))
        elif isinstance(default, int):
            value = str(draw(st.integers(0, 1000).filter(parameter.valid)))
        else:
            number = st.floats(0, 1000) | st.floats(0, 1)
            if isinstance(default, str):  # a number, or a word
                number = number.map(str) | st.just(default)
            value = str(draw(number.filter(parameter.valid)))
        blank = draw(st.sampled_from(["", " "]))
        given.append(f"{blank}{parameter.name}{blank}={blank}{value}{blank}")
    name = draw(st.sampled_from([str.lower, str.upper, str]))(measure.name)
    inside = f"({','.join(given)})" if given or draw(st.booleans()) else ""
    return name + inside + draw(st.sampled_from(CUTOFFS[measure.cutoff]))


@settings(max_examples=500)
@given(written_measures())
def test_every_measure_prints_what_parses_to_itself(text):
    """And is printed so again: what is printed is a fixed point."""
    measure = parse(text)
    printed = str(measure)
    again = parse(printed)
    assert again == measure and hash(again) == hash(measure)
    assert str(again) == printed
    assert {*again.given} == {*measure.given}
    assert again.parameters == measure.parameters
    full = parse(measure.in_full())
    assert full == measure and str(full) == full.in_full() == measure.in_full()


def test_names_differ_by_more_than_case():
    names = [*catalogue()] + [a for d in catalogue().values() for a in d.aliases]
    assert len({*map(str.lower, catalogue())}) == len(catalogue()) > 90
    # An alias that is a name in another case means that measure.
    for name in names:
        assert parse(filled(name, "1"), complete=False)


@pytest.mark.parametrize(
    ("asked", "means"),
    [
        ("ndcg_cut.10", "nDCG@10"),
        ("P.5", "P@5"),
        ("recall.100", "R@100"),
        ("MAP_CUT.7", "AP@7"),
        ("strec_20", "I-rec@20"),
        ("iprec_at_recall_0.10", "IPrec@0.1"),
        ("IPREC_AT_RECALL..25", "IPrec@0.25"),
        ("prefs_simp", "prefs_simp"),
        ("PREFS_AVGJG_RET", "prefs_avgjg_ret"),
    ],
)
def test_names_of_trec_eval(asked, means):
    assert str(parse(asked)) == means


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nDGC", "no measure is called 'nDGC': did you mean nDCG?"),
        ("alpha_NDGC@20", "did you mean alpha_nDCG"),
        ("PCG", "no measure is called 'PCG': did you mean PGC?"),
        ("Compatt(p=0.9)", "did you mean Compat?"),
        ("zzz", r"no measure is called 'zzz'; `pgcjax measures` lists them"),
        ("PGC(q=1)", r"PGC has no parameter 'q'.*it has p, depth, graph"),
        ("PGC(grpah=real)", "did you mean graph?"),
        ("PGC(0.8)", "PGC has no parameter '0.8'"),
        ("PGC(p=1)", "p=1: expected persistence, a number above 0 and below 1"),
        ("PGC(p=0)", "p=0: expected persistence"),
        ("PGC(p=nan)", "p=nan: expected persistence"),
        ("PGC(p=0.9_5)", "p=0.9_5: expected persistence"),
        ("PGC(p=)", "p=: expected persistence"),
        ("PGC(depth=0)", "depth=0: expected last rank"),
        ("PGC(depth=1.5)", "depth=1.5: expected last rank"),
        ("PGC(graph=reel)", "graph=reel: expected one of real"),
        ("Compat(normalize=maybe)", "normalize=maybe: expected true"),
        ("PGC(p=0.8,p=0.9)", "gives p twice"),
        ("PGC(p=0.8", "is not a measure such as"),
        ("", "is not a measure such as"),
        ("PGC@10", "PGC@10: PGC has no cutoff: write it without @10"),
        ("nDCG@0", "expected a whole number from 1 to 9999999 as cutoff, found '0'"),
        ("nDCG@", "is not a measure such as"),
        ("IPrec", "IPrec needs a level of recall: such as IPrec@0.1"),
        ("IPrec@10", "expected a level of recall from 0 to 1, found '10'"),
        ("IPrec@1e-1", "expected a level of recall from 0 to 1, found '1e-1'"),
        ("ndcg_cut_10(gain=exp)", "ndcg_cut_10 is nDCG@10: write that, and change it"),
    ],
)
def test_mistakes(text, message):
    with pytest.raises(UsageError, match=message) as caught:
        parse(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("measures", "message"),
    [
        (3, r"expected a measure as text, such as 'PGC' .*, found 3 \(int\)"),
        ([3], r"found 3 \(int\)"),
        (["nDCG", None], r"found None \(NoneType\)"),
        ([b"nDCG"], r"found b'nDCG' \(bytes\)"),
        ([type(catalogue()["nDCG"])], r"found <class .*nDCG'> \(type\)"),
        ("", "'' is not a measure such as"),
        ([""], "'' is not a measure such as"),
        ([], "no measure was asked for"),
    ],
)
def test_no_text(measures, message):
    with pytest.raises(UsageError, match=message) as caught:
        pgcjax.evaluate(QRELS, qrels=QRELS, measures=measures)
    assert "\n" not in str(caught.value)


def test_measures_are_asked_for_by_their_classes():
    asked = [nDCG(gain="exp", k=10), RBP(p=0.8), AP(rel=2)]
    run, qrels = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 1, "b": 3}}
    scores = pgcjax.evaluate(run, qrels=qrels, measures=asked)
    assert scores.measures == ["nDCG(gain=exp)@10", "RBP(p=0.8)", "AP(rel=2)"]
    assert asked == [parse(str(measure)) for measure in asked]
    assert nDCG(k=10) == parse("ndcg_cut_10") != nDCG(k=5)
    for refused, message in (
        (lambda: nDCG(gain="cubic"), "gain=cubic: expected one of linear"),
        (lambda: RBP(p=2.0), "p=2: expected persistence"),
        (lambda: AP(rel="2"), "rel=2: expected lowest grade"),
        (lambda: nDCG(k=0.5), "nDCG: k=0.5 is no cutoff of it"),
        (lambda: parse(Success()), "Success needs a cutoff: such as Success@10"),
    ):
        with pytest.raises(UsageError, match=message):
            refused()


def test_every_measure_says_what_it_is():
    for name, known in catalogue().items():
        assert known.name == name
        assert known.meaning and known.source and known.formula
        cutoff = {"must": "@10", "level": "@0.5"}.get(known.cutoff, "")
        assert type(parse(name + cutoff)) is type(known)
        assert parse(name + cutoff).needs
        for alias, meant in known.aliases.items():
            number = "0.5" if "{x}" in alias else "7"
            meant = filled(meant, number)
            assert str(parse(filled(alias, number).upper())) == meant
            assert type(parse(meant)) is type(known)
        for parameter, _ in known.described().values():
            default = parameter.default
            text = str(default).lower() if isinstance(default, bool) else str(default)
            assert parameter.read(text) == default
