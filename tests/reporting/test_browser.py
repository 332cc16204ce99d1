"""The page to explore, in a browser: what people do there, and what names cannot do."""

import csv
import re
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from urllib.parse import urlencode

import pandas as pd
import pytest

import pgcjax
from pgcjax.datasets.files import demo_folder
from pgcjax.io.runs import Options, open_runs, read_runs
from pgcjax.io.text_tables import Column, cell_of, latex, latex_text, text_table
from pgcjax.reference.order import ordered
from pgcjax.reference.pgc import greedy_ideal
from pgcjax.reporting import interactive, judged_queries
from pgcjax.reporting.score_findings import find
from pgcjax.reporting.score_reasons import explain_scores

DEMO = demo_folder()
HOSTILE = "</script><script>window.bad=1</script>"
QUOTED = "\"'><img src=x onerror=window.bad=1>"
COMMENT = "<!--<script> {{ 7*7 }} &lt; é"


@pytest.fixture(scope="module")
def demo():
    """Judgments, runs and findings of the demo collection."""
    preferences = pgcjax.files.read_preferences(DEMO / "preferences.csv")
    qrels = pgcjax.files.read_qrels(DEMO / "qrels.txt")
    with pytest.warns(pgcjax.errors.DataWarning):
        scores = pgcjax.evaluate(DEMO / "runs", preferences=preferences, qrels=qrels)
    return preferences, qrels, find(scores, test="t")


@pytest.fixture(scope="module")
def file(demo, tmp_path_factory):
    preferences, qrels, findings = demo
    runs = read_runs(DEMO / "runs")
    read = judged_queries.read(
        findings.queries, findings.runs, preferences, qrels, runs
    )
    target = tmp_path_factory.mktemp("page") / "demo.html"
    judgments = {"preferences": preferences, "qrels": qrels}
    explainer = partial(pgcjax.rankings.Explainer, judgments=judgments)
    opened = partial(open_runs, DEMO / "runs", Options())
    why = explain_scores(findings, lambda m: explainer(measure=m), opened, cells=16)
    return interactive.write(findings, target, title="Demo", judged=read, reasons=why)


@contextmanager
def opened(browser, file, complaints=0, **how):
    """Open a page, which asks for nothing but its file, and complains as expected."""
    context = browser.new_context(**how)
    page = context.new_page()
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]")
    yield page
    context.close()
    assert len(said) == complaints, said
    assert {url.split("#")[0] for url in asked} == {file.as_uri()}


def column(page, table, place):
    """Texts of a column of a table, from 1."""
    return page.locator(f"{table} tbody tr > :nth-child({place})").all_inner_texts()


def edges(judged):
    """Preferred and other document of each judgment that is no tie."""
    columns = judged.doc_id, judged.other_doc_id, judged.preference
    rows = zip(*columns, strict=True)
    return [(a, b) if sign > 0 else (b, a) for a, b, sign in rows if sign]


def drawn(page):
    """Wait until charts are drawn: a frame after their place has its width."""
    page.wait_for_selector("html[data-ready]")
    page.evaluate(
        "() => new Promise((done) => {"
        "requestAnimationFrame(() => requestAnimationFrame(done)); })"
    )


def shows(page, heading):
    """The page shows a detail of this heading, or does so soon.

    A browser announces a new address after the click that made it.
    """
    page.wait_for_function(
        "heading => document.querySelector('#detail h2')?.innerText === heading",
        arg=heading,
    )
    drawn(page)
    return True


def go(page, **chosen):
    """Open an address of the page, by names, and wait until the page has shown it."""
    page.evaluate(
        """address => new Promise((done) => {
        addEventListener("hashchange", done, {once: true});
        location.hash = address;
        })""",
        urlencode(chosen, doseq=True),
    )
    drawn(page)


def test_a_leaderboard_says_how_far_the_judgments_carry(browser, demo, tmp_path):
    """Of the measure that has replicates: intervals, tiers and ranks."""
    preferences, qrels, findings = demo
    with pytest.warns(pgcjax.errors.DataWarning):
        drawn = pgcjax.uncertainty(
            DEMO / "runs", preferences=preferences, measures="PGC", replicates=8
        )
    found = replace(findings, uncertainty=drawn)
    file = interactive.write(found, tmp_path / "page.html")
    ranks = drawn.ranks()
    ends = drawn.means().set_index("run_id").loc[ranks["run_id"]]
    with opened(browser, file) as page:
        assert column(page, "#board", 7) == [""] * 8  # drawn, and said to who hears
        drawn = page.locator("#board tbody tr > :nth-child(7) svg")
        assert [one.get_attribute("aria-label") for one in drawn.all()] == [
            f"{cell_of(low)} to {cell_of(high)}"
            for low, high in zip(ends["low"], ends["high"], strict=True)
        ]
        assert column(page, "#board", 8) == [str(tier) for tier in ranks["tier"]]
        assert column(page, "#board", 9) == [
            f"{low}" if low == high else f"{low}–{high}"
            for low, high in zip(ranks["low"], ranks["high"], strict=True)
        ]
        head = page.locator("#board th", has_text="tier").locator("button")
        assert "judgments drawn again 8 times (centred)" in head.get_attribute("title")
        page.select_option("#controls select", label="Compat")
        assert page.locator("#board th", has_text="tier").count() == 0


def test_a_leaderboard_sorts_filters_searches_and_changes_its_measure(
    browser, file, demo
):
    _, _, findings = demo
    with opened(browser, file) as page:
        assert page.title() == page.locator("h1").inner_text() == "Demo"
        for name in ("PGC", "Compat"):
            page.select_option("#controls select", label=name)
            runs = findings.compared[name].runs
            runs = runs.sort_values("mean", ascending=False)
            assert column(page, "#board", 3) == runs["run_id"].tolist()
            assert column(page, "#board", 2) == [str(rank) for rank in runs["rank"]]
            assert column(page, "#board", 4) == [cell_of(x) for x in runs["mean"]]
            assert column(page, "#board", 6) == runs["groups"].tolist()
        head = page.locator("#board th", has_text=re.compile("^run"))
        assert head.get_attribute("aria-sort") == "none"
        for how, names in (
            ("ascending", sorted(findings.runs)),
            ("descending", sorted(findings.runs, reverse=True)),
        ):
            head.get_by_role("button").click()
            assert head.get_attribute("aria-sort") == how
            assert column(page, "#board", 3) == names
        page.fill("#board input[type=search]", "R e")
        assert column(page, "#board", 3) == ["rose", "reed", "elder", "alder"]
        assert page.locator("#board .said").inner_text() == "4 of 8 runs"
        page.fill("#board input[type=search]", "")
        page.select_option("#board .bar select", "1")
        table = findings.compared["Compat"].table
        best = findings.compared["Compat"].runs.set_index("run_id")["mean"].idxmax()
        own = table[((table.run_a == best) | (table.run_b == best)) & table.significant]
        worse = {*own.run_a, *own.run_b} - {best}
        assert {*column(page, "#board", 3)} == {*findings.runs} - worse != set()
        cells = page.locator("#measures table").first.locator("tbody td")
        tau = cell_of(findings.correlations.set_index("coefficient")["value"]["tau"])
        assert cells.all_inner_texts() == ["PGC", "—", tau, "Compat", tau, "—"]
        values = [0.03125, 0.09375, -0.15625, 0.5, 0.12345, 0.00004, -3e-7, 0.0]
        printed = page.evaluate("(values) => values.map((x) => number(x))", values)
        assert printed == [cell_of(x).replace("e-0", "e-") for x in values]
        shown = page.locator("#conventions").inner_text().split("\n")
        assert shown[shown.index("test") + 1] == "t"


def test_a_score_is_explained_or_the_page_says_what_explains_it(browser, file, demo):
    """Ideal rankings are those of the reference, and what documents add is Python's."""
    preferences, _, findings = demo
    runs = pgcjax.files.read_runs(DEMO / "runs").table
    with opened(browser, file) as page:
        page.evaluate("Promise.all([report.judged.open(), report.why.open()])")
        cells = page.evaluate(
            """() => [...report.why.start.keys()].map((key) => {
            const at = key.split(" ").map(Number), [m, q, r] = at;
            state.measure = m;
            const shown = caseOf(q, r);
            return [report.measures[m].name, report.queries[q], report.runs[r],
              shown.graph.docs.map((doc, i) => [shown.place[i], doc]), shown.nearest];
            })"""
        )
        neutral = page.evaluate(
            """() => {
            const {graph, place} = caseOf(0, null);
            return graph.docs.map((doc, i) => [place[i], doc]);
            }"""
        )
    first = preferences[preferences["query_id"] == findings.queries[0]]
    assert [doc for _, doc in sorted(neutral)] == greedy_ideal(edges(first), [])
    peeled = [cell for cell in cells if cell[0] == "PGC"]
    assert len(peeled) == 16 and len(cells) == 32 and all(cell[4] for cell in peeled)
    for _, query, run, places, _ in peeled:
        rows = runs[(runs["query_id"] == query) & (runs["run_id"] == run)]
        rows = rows[["doc_id", "score", "rank"]].itertuples(index=False, name=None)
        judged = preferences[preferences["query_id"] == query]
        true = greedy_ideal(edges(judged), ordered(list(rows)))
        assert [doc for _, doc in sorted(places)] == true
    _, query, run, *_ = peeled[0]
    explained = pgcjax.explain(
        DEMO / "runs", query, run_id=run, preferences=DEMO / "preferences.csv"
    )
    table = explained.table[explained.table["ideal_rank"].notna()]
    table = table.sort_values("ideal_rank")
    with opened(browser, file) as page:
        go(page, query=query, run=run)
        assert f"PGC of {run} is {explained.score:.4f}" in page.inner_text("#detail")
        grid = page.locator(".grid", has_text="What each document adds")
        with page.expect_download() as saved:
            grid.get_by_text("CSV").click()
        rows = [*csv.DictReader(saved.value.path().read_text().splitlines())]
        assert [row["document"] for row in rows] == table["doc_id"].tolist()
        for name, column in (
            ("adds",) * 2,
            ("ideal adds", "ideal_adds"),
            ("moved",) * 2,
        ):
            assert [float(row[name]) for row in rows] == table[column].tolist()
        placed = [row["placed, as"].partition(";")[0] for row in rows]
        assert placed == table["rule"].tolist()
        other = next(r for _, q, r, *_ in peeled if q == query and r != run)
        gap = pgcjax.explain(
            DEMO / "runs",
            query,
            run_id=run,
            other=other,
            preferences=DEMO / "preferences.csv",
        )
        go(page, query=query, run=[other, run])
        grid = page.locator(".grid", has_text="What each document makes of PGC")
        with page.expect_download() as saved:
            grid.get_by_text("CSV").click()
        rows = [*csv.DictReader(saved.value.path().read_text().splitlines())]
        table = gap.table[gap.table["difference"] != 0]
        assert {row["document"]: float(row["difference"]) for row in rows} == dict(
            zip(table["doc_id"], table["difference"], strict=True)
        )
        worst = findings.runs[findings.compared["PGC"].runs["mean"].argmin()]
        go(page, query=query, run=[run, worst])
        line = page.locator("#detail pre").first.inner_text()
        assert f"--run-id {run} --other {worst} --query {query} -m PGC" in line
        go(page, query=query, run=worst)
        line = page.locator("#detail pre").inner_text()
        assert line == (
            f"pgcjax explain --prefs judgments.txt runs/ --run-id {worst} "
            f"--query {query} -m PGC"
        )
        assert page.locator(".grid", has_text="The judged documents").count() == 1


def test_a_graph_has_layers_and_can_be_searched_and_enlarged(browser, file, demo):
    _, _, findings = demo
    with opened(browser, file) as page:
        go(page, query=findings.queries[0])
        bad = page.evaluate(
            """() => {
            const {graph, place} = caseOf(0, null), at = layout(graph, place, 600);
            const wrong = graph.edges.filter(([a, b]) =>
              Math.sign(at.y[b] - at.y[a]) !== Math.sign(place[b] - place[a]));
            return [wrong.length, graph.edges.length];
            }"""
        )
        assert bad[0] == 0 and bad[1] > 20  # each judgment is between two layers
        red = page.locator("#detail .zoom .edge.ideal").get_attribute("d")
        unmet = page.evaluate("caseOf(0, null).edges.filter((e) => e.ideal).length")
        assert red.count("M") == unmet > 0
        rings = page.evaluate("caseOf(0, null).documents.filter((d) => d.cycle).length")
        assert page.locator("#detail .doc .ring").count() == rings > 0
        page.get_by_label("Find a document in the graph").fill("38")
        hits = page.locator("#detail .hit-doc")
        assert hits.count() == 1 and "-38" in hits.get_attribute("aria-label")
        assert "find=38" in page.evaluate("location.href")
        svg = page.locator("#detail .zoom svg")
        before = svg.bounding_box()["width"]
        page.get_by_label("Larger graph").click()
        assert svg.bounding_box()["width"] == pytest.approx(1.5 * before, abs=12)
        page.get_by_label("Smaller graph").click()
        kept = page.locator(".chart .edge.kept")
        few = len(kept.get_attribute("d"))
        arrows = page.locator("#detail label", has_text="Arrows").locator("select")
        arrows.select_option(label="every judgment")
        assert len(kept.get_attribute("d")) > few
        assert "arrows=all" in page.evaluate("location.href")


def test_from_a_run_to_two_to_a_query_and_back(browser, file, demo):
    _, _, findings = demo
    matrix, found = findings.scores["PGC"], findings.compared["PGC"]
    score = pd.DataFrame(matrix.values, matrix.run_ids, matrix.query_ids)
    with opened(browser, file) as page:
        page.click("#board a:text-is('oak')")
        assert shows(page, "oak") and page.locator("#overview").is_hidden()
        rows = dict(
            zip(
                column(page, "#detail", 1),
                column(page, "#detail", 2),
                strict=True,
            )
        )
        assert rows == {q: cell_of(score.loc["oak", q]) for q in score.columns}
        page.go_back()
        page.locator("#detail").wait_for(state="hidden")
        for run in ("reed", "oak"):
            page.check(f"#board input[aria-label='Compare {run}']")
        page.click("#chosen >> text=Compare")
        assert shows(page, "reed and oak")
        gap = score.loc["reed"] - score.loc["oak"]
        order = gap.abs().sort_values(ascending=False, kind="stable").index
        shown = column(page, "#detail", 1)
        assert [abs(gap[q]) for q in shown] == [abs(gap[q]) for q in order]
        assert column(page, "#detail", 5) == [cell_of(abs(gap[q])) for q in shown]
        facts = page.locator("#detail .facts").inner_text().split("\n")
        pair = found.table.set_index(["run_a", "run_b"]).loc["oak", "reed"]
        p = cell_of(pair.p_adjusted).replace("e-0", "e-")
        assert facts[facts.index(f"p, {found.tested}") + 1] == p
        bounds = f"+{cell_of(-pair.high)} to +{cell_of(-pair.low)}"
        assert facts[facts.index("interval of the difference") + 1] == bounds
        page.click(f"#detail a:text-is('{order[0]}')")
        assert shows(page, f"Query {order[0]}, reed")
        graph = page.locator("#detail figure svg").first
        assert graph.locator(".doc").count() == 20
        said = re.search(r"reed contradicts (\d+) of them", page.inner_text("#detail"))
        table = page.locator(".grid", has_text="that the run contradicts")
        if table.locator(".more").is_visible():
            table.locator(".more").click()
        times = table.locator("tbody tr > :nth-child(5)").all_inner_texts()
        assert said and int(said[1]) == sum(map(int, times)) > 0


def test_every_table_is_handed_over(browser, file, demo):
    """CSV at full precision, LaTeX as the package writes it, and what is pasted."""
    _, _, findings = demo
    runs = findings.compared["PGC"].runs.sort_values("rank", kind="stable")
    with opened(browser, file, permissions=["clipboard-read"]) as page:
        board = page.locator("#board .exports")
        page.fill("#board input[type=search]", "r")
        runs = runs[runs["run_id"].str.contains("r")]
        with page.expect_download() as saved:
            board.get_by_text("CSV").click()
        assert saved.value.suggested_filename == "runs.csv"
        rows = [*csv.DictReader(saved.value.path().read_text().splitlines())]
        assert [row["run"] for row in rows] == runs["run_id"].tolist()
        for name in ("mean", "low", "high"):
            assert [float(row[name]) for row in rows] == runs[name].tolist()
        board.get_by_text("Copy").click()
        board.get_by_text("copied").wait_for()
        pasted = page.evaluate("navigator.clipboard.readText()").split("\n")
        assert [row.split("\t") for row in pasted[1:]] == [[*r.values()] for r in rows]
        # A table of the page's own text, and the square of measures.
        count = page.locator("table").count()
        assert page.locator(".exports").count() == count >= 8
        with page.expect_download() as saved:
            page.locator("#measures .exports").first.get_by_text("LaTeX").click()
        tau = findings.correlations.set_index("coefficient").loc["tau", "value"]
        names = ["PGC", "Compat"]
        caption = "Kendall's τ of the orders in which two measures put the runs"
        true = text_table(pd.DataFrame([[tau], [tau]]))
        cells = [cell_of(tau), "—"]
        columns = [Column("measure", names)]
        columns += [
            Column(name, cells[::step], right=True)
            for name, step in zip(names, (-1, 1), strict=True)
        ]
        true = latex(replace(true, columns=columns, title=caption))
        assert saved.value.path().read_text("utf-8") == f"{true}\n"
        hard = ["a & b", "50 %", "~^\\_{}$#", "x--y''", "α–τ"]
        assert page.evaluate("(texts) => texts.map(latexText)", hard) == [
            latex_text(text) for text in hard
        ]
        made = {"labels": ["x"], "numeric": [False], "values": [["=1+1"], ['a"b,']]}
        texts = page.evaluate("(t) => [FORMATS.CSV(t), FORMATS.Copy(t)]", made)
        assert texts == ['x\n=1+1\n"a""b,"\n', "x\n'=1+1\na\"b,"]


def test_a_link_shows_what_its_sender_saw(browser, file, demo):
    _, _, findings = demo
    with opened(browser, file) as page:
        page.select_option("#controls select", label="Compat")
        page.locator("#board th button", has_text=re.compile("^run")).click()
        page.locator("#board th button", has_text=re.compile("^run")).click()
        page.fill("#board input[type=search]", "e")
        page.check("#board input[aria-label='Compare reed']")
        page.select_option("#board .bar select", "2")
        page.select_option("#measures select >> nth=0", label="Compat")
        address = page.evaluate("location.href")
        seen = page.locator("#overview").inner_text(), column(page, "#board", 3)
        assert seen[1] == ["reed"]
        page.click("#board a:text-is('reed')")
        assert shows(page, "reed")
        page.locator("#detail th button", has_text="mean").first.click()
        page.fill("#detail input[type=search]", "10")
        detail = page.evaluate("location.href"), column(page, "#detail", 1)
        page.click("#detail .trail a")  # back where the overview was left
        page.locator("#detail").wait_for(state="hidden")
        assert column(page, "#board", 3) == ["reed"]
    assert "measure=Compat&runs.sort=-run&runs.find=e&ticked=reed" in address
    for url, what in ((address, None), detail):
        with opened(browser, file) as page:
            page.goto(f"{file.as_uri()}#{url.partition('#')[2]}")
            page.reload()
            page.wait_for_selector("html[data-ready]")
            if what is None:
                text = page.locator("#overview").inner_text()
                assert (text, column(page, "#board", 3)) == seen
                assert page.locator("#board [aria-sort=descending]").count() == 1
                assert page.locator("#chosen").is_visible()
            else:
                assert page.locator("#detail h2").inner_text() == "reed"
                assert column(page, "#detail", 1) == what
            assert page.locator("#lost").inner_text() == ""
    with opened(browser, file) as page:
        go(page, run="none", query=findings.queries[0], measure="AP")
        said = page.locator("#lost").inner_text()
        assert said == "This page has no run none, no measure AP."


def test_pairs_and_points_have_names(browser, file, demo):
    _, _, findings = demo
    with opened(browser, file) as page:
        drawn(page)
        names = (
            page.locator("#measures figure").first.locator("text").all_text_contents()
        )
        assert {"PGC", "Compat"} < {*names} and len({*names} & {*findings.runs}) >= 6
        boxes = (
            page.locator("#measures figure")
            .first.locator("text")
            .evaluate_all(
                """(texts, runs) => texts.filter((t) => runs.includes(t.textContent))
            .map((t) => t.getBoundingClientRect().toJSON())""",
                findings.runs,
            )
        )
        for i, a in enumerate(boxes):
            for b in boxes[:i]:
                aside = a["right"] <= b["left"] or b["right"] <= a["left"]
                assert (
                    aside or a["bottom"] <= b["top"] + 3 or b["bottom"] <= a["top"] + 3
                )
        # The pointer finds the cell below the names of the columns.
        canvas = page.locator("#significance canvas")
        box = canvas.bounding_box()
        canvas.hover(position={"x": box["width"] - 4, "y": box["height"] - 4})
        order = findings.compared["PGC"].runs.sort_values("rank")["run_id"].tolist()
        status = page.locator("#significance [role=status]")
        assert status.inner_text() == order[-1]
        canvas.hover(position={"x": box["width"] - 4, "y": 116})
        assert status.inner_text().startswith(f"1. {order[0]} is ")
        canvas.hover(position={"x": box["width"] - 4, "y": 100})
        assert status.inner_text().startswith("Blue")


def test_it_can_be_used_with_keys_alone(browser, file):
    with opened(browser, file, viewport={"width": 390, "height": 800}) as page:
        wide = "document.documentElement.scrollWidth - innerWidth"
        assert page.evaluate(wide) <= 0
        page.locator("#board th button", has_text="rank").focus()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        focused = page.locator(":focus")
        assert focused.inner_text() == "run"
        assert focused.locator("..").get_attribute("aria-sort") == "ascending"
        page.locator("#board tbody a").first.focus()
        page.keyboard.press("Enter")
        assert shows(page, "alder")
        assert page.locator(":focus").inner_text() == "alder"
        go(page, query="q101", run="aspen")
        page.locator("#detail pre").wait_for()
        without = page.evaluate(
            """() => [...document.querySelectorAll(".wide, .zoom, pre")].filter((one) =>
            one.tabIndex !== 0 && !one.querySelector("a, button, input")).length"""
        )
        assert without == 0  # whatever scrolls can be reached by keys
        page.locator("#detail .doc[tabindex='0']").focus()
        says = page.locator("#detail .says[role=status]")
        assert says.inner_text().startswith("1. ")
        page.keyboard.press("ArrowRight")
        assert says.inner_text().startswith("2. ")
        assert page.evaluate(wide) <= 0
        go(page)
        page.locator("#significance canvas").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        status = page.locator("#significance [role=status]").inner_text()
        assert re.match(
            r"2\. rose is .*than 3\. alder: \+0\.0146, p = 0\.\d{4}", status
        )
        page.keyboard.press("Enter")
        assert shows(page, "rose and alder")

        go(page)
        page.locator("#measures figure [tabindex='0']").first.focus()
        said = page.locator("#measures figure .says").first
        first = said.inner_text()
        page.keyboard.press("ArrowRight")
        second = said.inner_text()
        assert re.match(r"\w+: ", first) and first != second
        name = second.partition(":")[0]
        page.keyboard.press("Enter")
        assert shows(page, name)


def views(page):
    """Show the overview, and each kind of detail, of what the page has."""
    first = """report.why.open().then(() => {
        const [m, query, run] = [...report.why.start.keys()][0].split(" ").map(Number);
        return {measure: report.measures[m].name, query: report.queries[query],
          run: report.runs[run]}; })"""
    explained = page.evaluate(first)
    unexplained = {"query": explained["query"], "run": "oak"}
    for chosen in (
        {},
        {"run": "oak"},
        {"run": ["oak", "reed"]},
        unexplained,
        explained,
    ):
        if chosen:
            go(page, **chosen)
        yield chosen


def serious(page, context=None):
    """What axe-core finds that keeps people from reading the page."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    # What it finds right is not asked for: it takes time, and is not looked at.
    found = axe.run(page, context, options={"resultTypes": ["violations"]})
    violations = found.response["violations"]
    return [
        (one["id"], one["nodes"][0]["html"])
        for one in violations
        if one["impact"] in ("serious", "critical")
    ]


def looks(page):
    """Go through screens: of a computer, which is light, and of a phone in the dark."""
    for width, scheme in ((1280, "light"), (390, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        drawn(page)
        yield width, scheme


@pytest.mark.slow
def test_nobody_is_kept_out(browser, file, demo, tmp_path):
    """No view, nor the page of an arena, has serious findings of axe-core."""
    with opened(browser, file) as page:
        for chosen in views(page):
            for look in looks(page):
                # Rows of a table share their colours: the dark ones need a few.
                rest = {"exclude": ["tbody tr:nth-child(n+9)"]}
                found = serious(page, rest if look[1] == "dark" else None)
                assert found == [], (chosen, look)
    pytest.importorskip("matplotlib")
    preferences = demo[0][demo[0]["query_id"].isin(demo[2].queries[:2])]
    arena = pgcjax.judgments.report(preferences, tmp_path / "arena.html")
    page = browser.new_page(viewport={"width": 390, "height": 900})
    page.goto(arena.as_uri())
    assert serious(page) == []
    page.add_style_tag(content="p { color: #ccc }")  # what it would find
    assert {name for name, _ in serious(page, "p")} == {"color-contrast"}
    page.close()


def test_on_paper_tables_are_whole_and_controls_are_absent(browser, file):
    with opened(browser, file, viewport={"width": 720, "height": 1000}) as page:
        page.emulate_media(media="print", color_scheme="dark")
        for chosen in views(page):
            controls = "button, input, .exports, .trail, #contents, main select"
            shown = (
                page.locator(controls)
                .locator("visible=true")
                .evaluate_all(
                    "all => all.filter((one) => !one.closest('th'))"
                    ".map((one) => one.outerHTML)"
                )
            )
            assert shown == [], chosen
            cut = page.locator(".wide:visible").evaluate_all(
                "all => all.filter((one) => one.scrollWidth > one.clientWidth + 1)"
                ".map((one) => one.innerText)"
            )
            assert cut == [], chosen
        ink = page.locator("#detail td").first.evaluate(
            "e => getComputedStyle(e).color"
        )
        assert ink == "rgb(28, 32, 36)"  # dark on paper, whatever the screen was


def test_scores_alone_and_what_to_add(browser, tmp_path, demo):
    preferences, _, findings = demo
    file = tmp_path / "page.html"
    interactive.write(findings, file)
    with opened(browser, file) as page:
        assert page.locator("#judgments").count() == 0
        assert "made of scores alone" in page.locator("#about").inner_text()
        go(page, query=findings.queries[0])
        said = page.locator("#detail .note").inner_text()
        assert "make the page with --prefs and --runs" in said
    read = judged_queries.read(findings.queries, findings.runs, preferences)
    interactive.write(findings, file, judged=read)
    with opened(browser, file) as page:
        go(page, query=findings.queries[0], run=findings.runs[3])
        assert "make it with --runs" in page.locator("#detail .note").inner_text()
        assert page.locator("#detail .doc").count() == 20
        ideal = page.locator("#detail .doc").evaluate_all(
            "docs => docs.map((doc) => report.judged.graph(0).docs[doc.dataset.doc])"
        )
        judged = preferences[preferences["query_id"] == findings.queries[0]]
        assert ideal == greedy_ideal(edges(judged), [])


def test_what_no_order_follows_is_marked_and_votes_have_their_judges(browser, tmp_path):
    """Greedy takes v first, as it wins most: against a, which no cycle compels."""
    pairs = "ab bc ca av vw vx vy vz wx xy yz zw wv".split()
    votes = [("q1", *pair, 1.0, "ann") for pair in pairs]
    votes += [("q1", *"vw", 1.0, "bob"), ("q1", *"xw", 1.0, "cid")]
    votes += [("q2", *"ab", 1.0, "ann")]
    columns = ["query_id", "doc_id", "other_doc_id", "preference", "judge"]
    preferences = pgcjax.files.read_preferences(pd.DataFrame(votes, columns=columns))
    retrieved = {
        run: {query: {doc: -i for i, doc in enumerate(docs)} for query in ("q1", "q2")}
        for run, docs in (("r1", "abcvwxyz"), ("r2", "zyxwvcba"))
    }
    findings = find(pgcjax.evaluate(retrieved, preferences=preferences), test="t")
    read = judged_queries.read(["q1", "q2"], ["r1", "r2"], preferences)
    file = interactive.write(findings, tmp_path / "page.html", judged=read)
    ideal = greedy_ideal([(a, b) for query, a, b, *_ in votes if query == "q1"], [])
    assert ideal.index("v") < ideal.index("a")
    with opened(browser, file) as page:
        go(page, query="q1", judgments="all")
        spare = page.locator("#detail .chart .edge.spare").get_attribute("d")
        assert spare.count("M") == 1
        table = page.locator(".grid", has_text="judges against")
        rows = [
            row.split("\t") for row in table.locator("tbody").inner_text().split("\n")
        ]
        by_pair = {(row[0], row[1]): row[2:] for row in rows}
        against = ["contradicts it, in no cycle", ""]
        assert by_pair["a", "v"] == ["1", "0", "ann", "", *against]
        assert by_pair["v", "w"][:4] == ["2", "1", "ann, bob", "ann"]
        assert by_pair["w", "x"][:4] == ["1", "1", "ann", "cid"]
        assert [pair for pair, row in by_pair.items() if row[-2:] == against] == [
            ("a", "v")
        ]
        assert ", of which 1 in no cycle." in page.inner_text("#detail")
        assert "though in no cycle" in page.locator("#detail .legend").inner_text()


def test_names_are_text_whatever_they_hold(browser, tmp_path):
    runs, queries, docs = (
        [HOSTILE, QUOTED, COMMENT],
        [QUOTED, HOSTILE],
        [COMMENT, HOSTILE],
    )
    rows = [
        (run, query, measure, 0.1 * (i + 1) * (j + 1))
        for i, run in enumerate(runs)
        for j, query in enumerate(queries)
        for measure in (HOSTILE, QUOTED)
    ]
    scores = pd.DataFrame(rows, columns=["run_id", "query_id", "measure", "value"])
    judged = [(query, *docs, 1.0, HOSTILE) for query in queries]
    columns = ["query_id", "doc_id", "other_doc_id", "preference", "judge"]
    preferences = pgcjax.files.read_preferences(pd.DataFrame(judged, columns=columns))
    retrieved = {
        r: {q: {d: i for i, d in enumerate(docs)} for q in queries} for r in runs
    }
    findings = find(scores, test="t")
    read = judged_queries.read(
        findings.queries, findings.runs, preferences, None, read_runs(retrieved)
    )
    runs_again = partial(open_runs, retrieved, Options())
    scored = pgcjax.evaluate(runs_again(), preferences=preferences)
    table = scored.table.assign(measure="PGC")[
        ["run_id", "query_id", "measure", "value"]
    ]
    findings = find(pd.concat([table, scores]), test="t")
    explainer = pgcjax.rankings.Explainer(judgments={"preferences": preferences})
    why = explain_scores(findings, lambda _: explainer, runs_again)
    assert len(why.cells) == 6
    file = interactive.write(
        findings,
        tmp_path / "p.html",
        title=HOSTILE,
        judged=read,
        reasons=why,
        topics=dict.fromkeys(queries, HOSTILE),
        texts=dict.fromkeys(docs, QUOTED),
    )
    with opened(browser, file) as page:
        assert page.title() == HOSTILE
        assert {*column(page, "#board", 3)} == {*runs}
        scripts = page.locator("script").count()
        for chosen in (
            {"run": runs[1]},
            {"run": runs[:2]},
            {"query": queries[0], "run": runs[2]},
            {"query": queries[1], "measure": QUOTED},
        ):
            go(page, **chosen)
            assert page.locator("#lost").inner_text() == ""
            assert page.locator("script").count() == scripts == 2
            assert page.locator("img").count() == 0
        assert set(page.locator("#detail .row title").all_text_contents()) <= {*docs}
        assert page.evaluate("window.bad") is None
    with opened(browser, file, complaints=1) as page:  # what names cannot do, a script
        page.evaluate(
            """() => new Promise((done) => {
            addEventListener("securitypolicyviolation", done);
            const script = document.createElement("script");
            script.textContent = "window.bad = 1";
            document.body.append(script);
            })"""
        )
        assert page.evaluate("window.bad") is None
