"""Wrong input: one line on stderr, exit code 2, nothing on stdout, nothing written."""

import gzip
import re
import shlex

import pytest
import zstandard

LONG = "".join(f"q{i} Q0 d{i} 1 {i} t\n" for i in range(5000)).encode()
GZ, ZST = gzip.compress(LONG), zstandard.compress(LONG)
DAMAGED = GZ[:5000] + bytes(255 - b for b in GZ[5000:])
JUDGMENTS = (
    "A run has 6 or 3 columns, or a header; on the command line, judgments go with "
    "--prefs or --qrels, once for each file or as one quoted pattern."
)
FORMATS = (
    "clarke 'query doc doc best'; luo 'query winner loser'; jelsas 'query doc doc "
    "-2..2'; trec-prefs 'query group subgroup doc level'; trec-qrels-prefs 'query "
    "group doc level'"
)

# What a file x.… holds, and what is said of it as RUN.
RUNS = {
    ("x.txt", "q1 Q0 a 1 3 t\nq1 Q0 b 2\n"): (
        "x.txt:2: expected 'query Q0 doc rank score tag', found 4 fields: 'q1 Q0 b 2'. "
        "All lines of a run have 6 columns, or all have 3."
    ),
    ("x.txt", "q1 Q0 a 1 high t\n"): (
        "x.txt:1: expected a finite number as score, found 'high'. Every row needs one."
    ),
    ("x.txt", "q1 Q0 a 1 3 t\n\nq1 Q0 b 2 NaN t\n"): (
        "x.txt:3: expected a finite number as score, found 'NaN'. Every row needs one."
    ),
    ("x.txt", "q1 Q0 a 1 ９.5 t\n"): (
        "x.txt:1: expected a finite number as score, found '９.5'. Every row needs one."
    ),
    ("x.txt", "q1 Q0 a 1 -inf t\n"): (
        "x.txt:1: expected a finite number as score, found '-inf'. Every row needs one."
    ),
    ("x.txt", "q1 Q0 a 1 3 t\nq1 Q0 a 2 2 t\n"): (
        "x.txt:2: document 'a' is twice in query 'q1' of run 't': line 1 and line 2. "
        "Keep one of the two."
    ),
    ("x.txt", ""): "x.txt: is empty. Expected lines of data.",
    ("x.txt", "# nothing\n"): "x.txt: holds comments only. Expected lines of data.",
    ("x.txt", b"q1 Q0 a 1 3 t\nq1 Q0 caf\xe9 1 3 t\n"): (
        "x.txt:2: expected UTF-8 text, found byte 0xe9. Name its encoding: "
        "pgcjax.files.reading(encoding=…), --encoding on the command line; for "
        "instance latin-1."
    ),
    ("x.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"): (
        "x.png:1: expected UTF-8 text, found byte 0x89. Name its encoding: "
        "pgcjax.files.reading(encoding=…), --encoding on the command line; for "
        "instance latin-1."
    ),
    ("x.bin", b"q1 Q0 a\x00 1 3 t\n"): (
        "x.bin:1: expected text, found a NUL character. Is this a text file in UTF-8?"
    ),
    ("x.gz", GZ[:-100]): (
        "x.gz: cannot decompress it as gz: Compressed file ended before the "
        "end-of-stream marker was reached. It may be cut off: fetch it again."
    ),
    ("x.gz", DAMAGED): (
        "x.gz: cannot decompress it as gz: Error -3 … . It "
        "may be cut off: fetch it again."
    ),
    ("x.zst", ZST[:-100]): (
        "x.zst: cannot decompress it as zst: it ends in the middle of a frame. It may "
        "be cut off: fetch it again."
    ),
    ("x.zst", ZST + ZST[:99]): (
        "x.zst: cannot decompress it as zst: it ends in the middle of a frame. It may "
        "be cut off: fetch it again."
    ),
    ("x.csv", "q1,a,3\n"): (
        "x.csv:1: expected a header with column names such as query_id and doc_id, "
        "separated by ',', found 'q1,a,3'. Add it, or name the file otherwise (.txt) "
        "if it is in a TREC format; --columns names other columns of votes."
    ),
    ("x.csv", "qid,docno,score\nq1,a,3\nq1,b\n"): (
        "x.csv:3: expected 3 fields as in the header, found 2: 'q1,b'. Quote fields "
        "that hold the separator."
    ),
    ("x.csv", 'qid,docno,score\nq1,"a,3\n'): (
        "x.csv:2: expected fields separated by ',': unexpected end of data. Is a quote "
        "not closed?"
    ),
    ("x.csv", "qid,docno,score\nq1,a,\n"): (
        "x.csv:2: expected a finite number as score, found nothing. Every row needs "
        "one."
    ),
    ("x.csv", "qid,docno,score\nq1, a,3\n"): (
        "x.csv:2: expected doc_id, found ' a'. Ids are whole numbers, or text "
        "without tabs and without blanks at its ends."
    ),
    ("x.csv", "qid,docno,docno,score\nq1,a,a,3\n"): (
        "x.csv:1: has more than one column 'docno'. Rename or drop one."
    ),
    ("x.csv", "qid,winner,loser\nq1,a,b\n"): (
        "x.csv: missing column score (or rank) (found ['qid', 'winner', 'loser']). "
        "Needed: "
        f"query_id, doc_id, score. {JUDGMENTS}"
    ),
    ("x.csv", "qid,score\nq1,1\n"): (
        "x.csv: missing columns ['doc_id'] (found ['qid', 'score']). Needed: query_id, "
        "doc_id."
    ),
    ("x.txt", "qid docno score\nq1 a 1\n"): (
        "x.txt:1: expected tabs or commas between the columns of a header, found 'qid "
        "docno score'. Separate all columns so, or remove the header."
    ),
    ("x.jsonl", '{"qid": "q1", "docno": "a", "score": 1}\n{"qid": "q1",\n'): (
        "x.jsonl:2: expected one JSON object a line, found '{\"qid\": \"q1\",'. Write "
        "each record on a line of its own."
    ),
    ("x.jsonl", '{"qid": "q1", "docno": "a"}\n{"qid": "q1", "qid": "q2"}'): (
        "x.jsonl:2: the key 'qid' is twice in one object. Keep one of the two."
    ),
    ("x.jsonl", '{"qid": "q1", "docno": 1.5, "score": 1}\n'): (
        "x.jsonl:1: expected doc_id, found 1.5. Ids are text or whole numbers; a "
        "missing value turns them into floats in pandas."
    ),
    ("x.jsonl", '{"qid": "q1", "docno": "a"}\n{"qid": "q1", "score": 1}\n'): (
        "x.jsonl:2: expected doc_id, found nothing. Ids are whole numbers, or text "
        "without tabs and without blanks at its ends."
    ),
    ("x.parquet", b"PAR1 and no more"): (
        "x.parquet: cannot read it as Parquet: … . It may be cut off, or in another "
        "format than its suffix says."
    ),
    ("x.txt", "q1 Q0 a 1 3 one\n"): (
        "x.txt: claims the run name 'one', as run.txt does. Rename one, or name "
        "runs by file: name_by=file (--name-by on the command line)."
    ),
    # Judgments, as when a shell expands `--prefs judge.*`.
    ("x.txt", "q1 a b a\n"): (
        "x.txt:1: expected 'query Q0 doc rank score tag', found 4 fields: 'q1 a b a'. "
        + JUDGMENTS
    ),
    ("x.txt", "q1 a b\n"): (
        f"x.txt:1: expected 'query doc score', found 'q1 a b'. {JUDGMENTS}"
    ),
    ("x.txt", "q1 0 a 1\n"): (
        "x.txt:1: expected 'query Q0 doc rank score tag', found 4 fields: 'q1 0 a 1'. "
        + JUDGMENTS
    ),
}  # fmt: skip

# … as --prefs.
PREFS = {
    ("x.txt", "q1 a b a\n31_1 A B\n"): (
        "x.txt:2: expected 'query doc doc best', found 3 fields: '31_1 A B'. Read as "
        "clarke; if that is wrong, name the format."
    ),
    ("x.txt", "q1 a b a\nq1 a c c\nq1 b c d\n"): (
        "x.txt:3: 'q1 b c d' fits no format of 4 columns: not clarke (line 3: the "
        "fourth is neither the second nor the third); not jelsas (line 1: the fourth "
        "is not -2, -1, 0, 1 or 2); not trec-qrels-prefs (line 1: the last is not a "
        "level of 0 or more). Mend the line, or name the format: format=… "
        "(--prefs-format on the command line)."
    ),
    ("x.txt", "q1 a b b\nq1 a a a\n"): (
        "x.txt:2: document 'a' is compared with itself. Remove the judgment."
    ),
    ("x.txt", "q1 0 a 1\nq1 0 b 2\n"): (
        "x.txt: fits trec-qrels-prefs ('query group doc level'), but its second column "
        "is always '0', as in qrels. If it holds preferences, name their "
        "format: --prefs-format trec-qrels-prefs (format= in Python)."
    ),
    ("x.txt", "q1 a b 1\nq1 b c 0\n"): (
        "x.txt: fits jelsas ('query doc doc -2..2') and trec-qrels-prefs ('query group "
        "doc level'). If it holds preferences, name their format: --prefs-format "
        "jelsas or trec-qrels-prefs (format= in Python)."
    ),
    ("x.txt", "q1 Q0 a 1 3 t\n"): (
        "x.txt:1: expected preferences, found 6 fields as in a run, which goes without "
        "an "
        f"option: 'q1 Q0 a 1 3 t'. Formats: {FORMATS}; or a table with a header."
    ),
    ("x.txt", "q1 a 3.5\nq1 b 2\n"): (
        "x.txt: fits luo ('query winner loser'), but its third column holds numbers, "
        "as a run's scores. If it holds preferences, name their format: --prefs-format "
        "luo (format= in Python)."
    ),
    ("x.txt", "q1 a\n"): (
        "x.txt:1: expected preferences, found 2 fields: 'q1 a'. Formats: "
        f"{FORMATS}; or a table with a header."
    ),
    ("x.txt", "q1 g s a 1\nq1 g s b 0\nq1 g t a 1\nq1 g t b 1\n"): (
        "x.txt:4: document 'b' has level 0 (line 2) and level 1 (line 4) in one group. "
        "Level 0 says not relevant, for all subgroups of a group."
    ),
    ("x.txt", "q1 g s a 1\nq1 g s b 2\nq1 g t a 2\nq1 g t b 1\n"): (
        "x.txt:4: group 'g' of query 'q1' prefers 'a' to 'b', and also says otherwise "
        "(line 3, line 4). Judgments that conflict belong to different groups."
    ),
    ("x.csv", "qid,docno,score\nq1,a,1\n"): (
        "x.csv: missing columns ['other_doc_id', 'preference'] (found ['qid', 'docno', "
        "'score']). Needed: query_id, doc_id, other_doc_id, preference."
    ),
    ("x.csv", "qid,docno,other,pref\nq1,a,b,yes\n"): (
        "x.csv:2: expected which of 'a' and 'b' is better as pref, found 'yes'. Say "
        "what the words mean, such as --answers a=yes or --answers b=yes (answers= in "
        "Python)."
    ),
    ("x.csv", "qid,docno,other,winner,loser\nq1,a,b,b,b\n"): (
        "x.csv:2: loser is 'b', but the rest of the row says 'a'. Mend the row, or "
        "rename a column that means something else."
    ),
    ("x.csv", "qid,winner,loser,weight\nq1,a,b,-1\n"): (
        "x.csv:2: expected a weight above 0, found -1. Leave out judgments that nobody "
        "made."
    ),
    ("x.txt", "1 a b a\n2 a b a\n"): (
        "judgments and runs have no query in common: judged are '1', '2'; runs have "
        "'q1', 'q2'. Do both name queries in the same way?"
    ),
}  # fmt: skip

# … as --qrels.
QRELS = {
    ("x.txt", "q1 0 a ١\n"): (
        "x.txt:1: expected a finite number as grade, found '١'. Every row needs one; "
        "preferences go with preferences= (--prefs on the command line)."
    ),
    ("x.txt", "q1 a b -1\nq1 b c 1\n"): (
        "x.txt:2: expected 'query iteration doc grade', found preferences of Jelsas: "
        "'q1 b c 1'. Preferences go with preferences= (--prefs on the command line)."
    ),
    ("x.txt", "q1 0 a 1\nq1 0 b 0\nq1 0 a 2\n"): (
        "x.txt:3: document 'a' of query 'q1' has two grades: 1 (x.txt:1) and 2. Keep "
        "one of the two."
    ),
    ("x.txt", "q1 1 a 1\nq1 2 a 0\n"): (
        "x.txt:2: document 'a' of query 'q1' has two grades: 1 (x.txt:1) and 0. Grades "
        "per intent or judge (the second column) are not plain qrels."
    ),
    ("x.txt", "q1 a b a\n"): (
        "x.txt:1: expected a finite number as grade, found 'a'. Every row needs one; "
        "preferences go with preferences= (--prefs on the command line)."
    ),
    ("x.txt", "q1 Q0 a 1 3 t\n"): (
        "x.txt:1: expected 'query iteration doc grade', found 6 fields: 'q1 Q0 a 1 3 "
        "t'. Qrels have 4 columns, or a header; runs go without an option."
    ),
    ("x.txt", "q9 0 a 1\n"): (
        "judgments and runs have no query in common: judged are 'q9'; runs have 'q1', "
        "'q2'. Do both name queries in the same way?"
    ),
}  # fmt: skip

OPTIONS = {
    "run.txt": "no judgments: give --prefs FILE, --qrels FILE or both",
    "--prefs prefs.txt": "Missing argument 'RUN...'.",
    "--prefs prefs.txt none.txt": (
        "none.txt: no such file or folder. Check the path."
    ),
    "--prefs none.txt run.txt": "none.txt: no such file or folder. Check the path.",
    "--prefs prefs.txt '*.run'": "*.run: no file matches. Check the path.",
    "--prefs prefs.txt empty": "empty: is a folder that holds no file. Check the path.",
    "--prefs prefs.txt run.txt ./run.txt": "run.txt: is named twice. Name it once.",
    "--prefs prefs.txt --prefs prefs.txt run.txt": (
        "prefs.txt: is named twice. Name it once."
    ),
    "--prefs prefs.txt run.txt -m PCG": (
        "no measure is called 'PCG': did you mean PGC?; `pgcjax measures` lists them"
    ),
    "--prefs prefs.txt run.txt -m 'PGC(p=1)'": "p=1: expected persistence, a number …",
    "--prefs prefs.txt run.txt -m 'PGC(p=high)'": "p=high: expected persistence, …",
    "--prefs prefs.txt run.txt -m 'PGC(p=0.９)'": "p=0.９: expected persistence, …",
    "--qrels qrels.txt run.txt -m 'ERR(gmax=４)'": "gmax=４: expected highest grade, …",
    "--qrels qrels.txt run.txt -m nDCG@1０": (
        "nDCG@1０: expected a whole number from 1 to 9999999 as cutoff, found '1０'"
    ),
    "--qrels qrels.txt run.txt -m ndcg_cut_1０": (
        "no measure is called 'ndcg_cut_1０'; `pgcjax measures` lists them"
    ),
    "--prefs prefs.txt run.txt --memory ２GB": (
        "memory '２GB': expected a size such as 2GB or 500MB"
    ),
    "--prefs prefs.txt run.txt --part １/1": (
        "--part １/1: expected I/N such as 3/16, 1 <= I <= N"
    ),
    "--qrels qrels.txt run.txt --prefs-format luo": (
        "--prefs-format needs --prefs FILE"
    ),
    "--prefs prefs.txt run.txt --part= -o x.csv": (
        "--part : expected I/N such as 3/16, 1 <= I <= N"
    ),
    f"--prefs prefs.txt run.txt --memory {'9' * 400}": (
        f"memory '{'9' * 400}': expected a size such as 2GB or 500MB"
    ),
    "--prefs prefs.txt --name-by file 'line\nend.txt'": (
        r"line\nend.txt: its name would name the run, but has a tab, a line end or a …"
    ),
    "--prefs prefs.txt run.txt --verify 0_1": (
        "Invalid value for '--verify': '0_1' is not a valid float range."
    ),
    "--prefs prefs.txt run.txt -m 'PGC(deep=5)'": (
        "PGC has no parameter 'deep': did you mean depth?; it has p, depth, graph, …"
    ),
    "--prefs prefs.txt run.txt -m 'PGC(p=.5'": (
        "'PGC(p=.5' is not a measure such as PGC, PGC(p=0.95), nDCG@10"
    ),
    "--prefs prefs.txt run.txt -m Compat": (
        "Compat needs qrels: give qrels=…, or --qrels FILE on the command line"
    ),
    "--qrels qrels.txt run.txt -m PGC": (
        "PGC needs preferences: give preferences=…, or --prefs FILE on the command line"
    ),
    "--prefs prefs.txt run.txt -o out.doc": (
        "out.doc: the suffix of an output file is one of .trec, .tsv, .csv, .jsonl, "
        ".parquet"
    ),
    "--prefs prefs.txt run.txt -o out": (
        "out: the suffix of an output file is one of .trec, .tsv, .csv, .jsonl, "
        ".parquet"
    ),
    "--prefs prefs.txt run.txt -o none/out.csv": (
        "none/out.csv: cannot write there: No such file or directory. Name a file in a "
        "folder that exists and that you may write to."
    ),
    "--prefs prefs.txt run.txt -o folder.csv": (
        "folder.csv: is a folder; name a file, or folder.csv/ for a folder of parts"
    ),
    "--prefs prefs.txt run.txt --verify 2": (
        "Invalid value for '--verify': 2.0 is not in the range 0<=x<=1."
    ),
    "--prefs prefs.txt run.txt --order best": (
        "Invalid value for '--order': 'best' is not one of 'trec', 'clarke', 'rank', …"
    ),
    "--prefs prefs.txt run.txt --missing x": (
        "Invalid value for '--missing': 'x' is not one of 'zero', 'skip', 'error'."
    ),
    "--prefs prefs.txt run.txt --name-by x": (
        "Invalid value for '--name-by': 'x' is not one of 'tag', 'file', 'filename'."
    ),
    "--prefs prefs.txt run.txt --prefs-format trec": (
        "format is one of auto, clarke, luo, jelsas, trec-prefs, trec-qrels-prefs, "
        "csv, tsv, jsonl, parquet, xie, not 'trec'"
    ),
    "--prefs prefs.txt run.txt --run-format trec": (
        "format is one of auto, csv, tsv, jsonl, parquet, columns, not 'trec'"
    ),
    "--prefs prefs.txt run.txt --measures PGC": (
        "No such option…--measures…--measure…"
    ),
    "--prefs prefs.txt run.txt --missing error": (
        "run 'one' lacks query 'q3', which is judged for PGC. Complete it, or choose "
        "missing zero or skip."
    ),
    "--prefs prefs.txt ranks.txt --order rank": (
        "run 't' gives 'a' and 'b' of query 'q1' the same rank 1. Mend the rank "
        "column, or order runs by score: order=trec or clarke (--order on the command "
        "line)."
    ),
    "--prefs prefs.txt no-ranks.txt --order rank": (
        "run 't' has no usable rank for document 'b' of query 'q1'. Mend the "
        "rank column, or order runs by score: order=trec or clarke (--order on the "
        "command line)."
    ),
    "--prefs prefs.txt three.txt --order rank": (
        "run 'three' has no usable rank for document 'a' of query 'q1'. Mend "
        "the rank column, or order runs by score: order=trec or clarke (--order on the "
        "command line)."
    ),
    "--prefs prefs.txt several.csv --name-by file": (
        "several.csv: holds 2 runs, such as 'x' and 'y', which its name cannot tell "
        "apart. Name runs by tag: name_by=tag (--name-by on the command line)."
    ),
}  # fmt: skip

CASES = [
    *((file, "--prefs prefs.txt run.txt {0}", said) for file, said in RUNS.items()),
    *((file, "--prefs {0} run.txt", said) for file, said in PREFS.items()),
    *((file, "--qrels {0} run.txt", said) for file, said in QRELS.items()),
    *((None, line, said) for line, said in OPTIONS.items()),
]


@pytest.mark.parametrize(("file", "line", "said"), CASES)
def test_malformed(pgcjax, here, file, line, said):
    if file:
        name, content = file
        text = content if isinstance(content, bytes) else content.encode()
        (here / name).write_bytes(text)
        line = line.format(name)
    else:
        prepare(here)
    (here / "out.csv").write_text("of an earlier job")
    before = {p: p.read_bytes() if p.is_file() else None for p in here.rglob("*")}
    own_output = " -o " not in line
    done = pgcjax("evaluate", *shlex.split(line), *["-o", "out.csv"] * own_output)
    # An ellipsis stands for the words of a library.
    wanted = re.escape(f"pgcjax: error: {said}\n").replace(r"…\ \.", ".+[.]")
    assert re.fullmatch(wanted.replace("…", ".+"), done.err), done.err
    assert (done.code, done.out) == (2, "")
    after = {p: p.read_bytes() if p.is_file() else None for p in here.rglob("*")}
    assert after == before


def prepare(here):
    """Make what the lines of `OPTIONS` name."""
    (here / "empty").mkdir()
    (here / "folder.csv").mkdir()
    (here / "ranks.txt").write_text("q1 Q0 a 1 2 t\nq1 Q0 b 1 1 t\n")
    (here / "no-ranks.txt").write_text("q1 Q0 a 1 2 t\nq1 Q0 b - 1 t\n")
    (here / "three.txt").write_text("q1 a 1\n")
    (here / "line\nend.txt").write_text("q1 a 1\n")
    (here / "several.csv").write_text("run,qid,docno,score\nx,q1,a,1\ny,q1,a,1\n")
    with (here / "prefs.txt").open("a") as file:
        file.write("q3 a b a\n")


def test_there_are_enough_of_them():
    assert len(CASES) >= 80


def test_text_of_utf_16_without_its_mark(pgcjax, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    for order in ("utf-16-le", "utf-16"):
        text = "q1 Q0 d1 1 2.0 r\n"
        (tmp_path / "runs" / "a.txt").write_bytes(text.encode(order))
        (tmp_path / "qrels.txt").write_bytes("q1 0 d1 1\n".encode("utf-16"))
        call = ("files", "pack", "--qrels", "qrels.txt", "runs", "--encoding", "utf-16")
        done = pgcjax(*call, "-o", "packed.parquet")
        if order == "utf-16":
            assert done.code == 0
            continue
        assert (done.code, done.err) == (
            2,
            "pgcjax: error: runs/a.txt: expected utf-16 text, which begins with a "
            "byte-order mark, found none. Name the order: "
            "pgcjax.files.reading(encoding='utf-16-le'), or -be; --encoding on the "
            "command line.\n",
        )
        assert not (tmp_path / "packed.parquet").exists()


def test_missing_of_other_verbs(pgcjax):
    done = pgcjax("evaluate", "--qrels", "q", "--missing", "shared", "runs")
    assert done.code == 2 and done.err.count("\n") == 1
    assert "shared leaves queries out of existing scores" in done.err
