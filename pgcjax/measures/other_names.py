"""Names in other tools and papers that no measure has here, and their meanings."""

import re
from typing import NamedTuple


class Meaning(NamedTuple):
    """Meaning of a name in other tools, and the nearest measures here."""

    what: str
    nearest: str = ""


_JUDGES = "averaged over the judges of qrels of several, of trec_eval"
_ALL = "of trec_eval up to version 8"

MEANINGS = {
    # trec_eval
    "all_trec": Meaning("all measures of trec_eval", "the preset all"),
    "set": Meaning("the measures set_… of trec_eval", "SetF, SetAP, P, R and RelP"),
    "prefs": Meaning(
        "the measures prefs_… of trec_eval", "prefs_pair, prefs_avgjg, prefs_simp"
    ),
    "iprec_at_recall": Meaning(
        "interpolated precision at eleven levels of recall", "the preset official"
    ),
    "runid": Meaning("the name of a run in trec_eval, no number"),
    "relstring": Meaning("the grades of the first documents in trec_eval, no number"),
    "map_avgjg": Meaning(f"AP {_JUDGES}", "AP with qrels of one judge at a time"),
    "P_avgjg": Meaning(f"P@k {_JUDGES}", "P@k with qrels of one judge at a time"),
    "Rprec_mult_avgjg": Meaning(
        f"Rprec(mult=x) {_JUDGES}", "Rprec with qrels of one judge at a time"
    ),
    "ideal_dcg": Meaning("the DCG of the ideal list, of trec_eval 10", "DCG and nDCG"),
    "unj": Meaning("the share of k documents that nobody judged, 1 - Judged", "Judged"),
    "bpref_allnonrel": Meaning(
        f"bpref {_ALL} with all judged documents that are not relevant, not as many as "
        "relevant ones",
        "Bpref",
    ),
    "bpref_retnonrel": Meaning(
        f"bpref {_ALL} with the retrieved judged documents that are not relevant",
        "Bpref",
    ),
    "bpref_topnonrel": Meaning(
        f"bpref {_ALL} with a number of judged documents that are not relevant", "Bpref"
    ),
    "old_bpref": Meaning(
        f"bpref {_ALL}, before judged documents that were not retrieved counted",
        "Bpref",
    ),
    "gm_ap": Meaning(f"the geometric mean of AP {_ALL}", "gm_map"),
    "R-prec": Meaning(f"precision at rank R {_ALL}", "Rprec"),
    "ircl_prn": Meaning(f"interpolated precision {_ALL}", "IPrec@x"),
    "exact_prec": Meaning(f"precision of all retrieved documents {_ALL}", "P"),
    "exact_recall": Meaning(f"recall of all retrieved documents {_ALL}", "R"),
    "exact_unranked_avg_prec": Meaning(f"precision times recall {_ALL}", "SetAP"),
    "exact_relative_prec": Meaning(f"relative precision {_ALL}", "RelP"),
    # ir_measures, ndeval
    "ERR_IA": Meaning(
        "ERR-IA of binary relevance that ndeval normalizes", "ERR-IA(form=ndeval)@k"
    ),
    "nERR_IA": Meaning(
        "ERR_IA over that of the ideal list of alpha_nDCG, of ndeval", "nERR-IA"
    ),
    "α_DCG": Meaning(
        "alpha_DCG over that of k documents which serve all intents, of ndeval",
        "alpha_DCG",
    ),
    # ranx
    "hits": Meaning("the number of relevant documents, of ranx", "NumRelRet"),
    "hit_rate": Meaning("whether there is a relevant document, of ranx", "Success@k"),
    "r-precision": Meaning("precision at rank R, of ranx", "Rprec"),
    "f1": Meaning("the harmonic mean of precision and recall", "SetF"),
    "dcg_burges": Meaning("DCG of exponential gains, of ranx", "DCG(gain=exp)"),
    "ndcg_burges": Meaning("nDCG of exponential gains, of ranx", "nDCG(gain=exp)"),
    # NTCIREVAL
    "Q-measure": Meaning("the Q-measure of NTCIREVAL", "Q"),
    "P-plus": Meaning("P+ of NTCIREVAL", "P+"),
    "O-measure": Meaning("the O-measure of NTCIREVAL", "O"),
    # papers, and sample_eval
    "GMAP": Meaning("the geometric mean of average precision", "AP(mean=geometric)"),
    "infNDCG": Meaning("nDCG inferred of samples of the judgments", "infAP and nDCG"),
    "xinfAP": Meaning("infAP of judgments that were sampled by stratum", "infAP"),
    "statAP": Meaning("AP estimated of judgments with chances to be drawn", "infAP"),
    "TBG": Meaning(
        "gain by the time that users take to read documents", "RBP and INST"
    ),
    "U-measure": Meaning("gain by the length of what users have read", "RBP and INST"),
}
_WHOLE = {"set", "prefs", "iprec_at_recall"}
"""Names that have these meanings only without a number: with one, some are measures."""
_BY_NAME = {name.lower(): name for name in MEANINGS}


def explained(name: str) -> str:
    """Describe the meaning elsewhere of a name of no measure; "" if unknown."""
    bare = re.sub(r"[_.]?[0-9.]+$", "", name)
    for spelling in (name, *([bare] if bare.lower() not in _WHOLE else [])):
        if key := _BY_NAME.get(spelling.lower()):
            meaning, nearest = MEANINGS[key]
            return f"{meaning}; nearest here: {nearest}" if nearest else meaning
    return ""
