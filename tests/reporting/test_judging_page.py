"""The page on which a person judges: nothing in a text is more than text."""

import pytest

import pgcjax
from pgcjax.reporting.judging_page import write_page

HOSTILE = "</script><script>document.title = 'taken'</script><img src=x onerror=x>\x07"
IDS = ('a"1', "<b>,'2", "c")


@pytest.fixture
def tournament(tmp_path):
    grades = {"q<i>": dict.fromkeys(IDS, 1)}
    return pgcjax.ask.Tournament.start(tmp_path / "state", grades)


def test_everything_is_escaped(tournament, tmp_path):
    texts = dict.fromkeys(IDS, HOSTILE)
    table = tournament.requests(topics={"q<i>": HOSTILE}, texts=texts)
    html = write_page(table, tmp_path / "r.html", judge='"><b>').read_text()
    assert html.count("<script") == 2 and html.count(r"x&gt;\x07<") == 3 + 2 * 3
    assert not any(mark in html for mark in ("<img", "<i>", "<b>", "\x07"))


def test_answers_are_saved_as_they_were_given(tournament, tmp_path, browser):
    table = tournament.requests(topics={"q<i>": HOSTILE}, texts=lambda doc: HOSTILE)
    write_page(table, tmp_path / "r.html")
    tab, errors = browser.new_page(accept_downloads=True), []
    tab.on("pageerror", lambda error: errors.append(error))
    tab.on("console", lambda message: errors.append(message))
    tab.goto((tmp_path / "r.html").as_uri())
    tab.get_by_label("The second is better").nth(2).check()
    tab.get_by_label("The first is better").nth(0).check()
    tab.get_by_label("A tie").nth(0).check()
    assert tab.title() == "Which document is better?"
    assert tab.locator("output").text_content() == "2 of 3 answered"
    assert tab.locator("button").is_disabled()
    tab.get_by_label("Your name").fill('O"Neil, Ann')
    with tab.expect_download() as download:
        tab.locator("button").click()
    download.value.save_as(tmp_path / "answers.csv")
    assert download.value.suggested_filename == "answers.csv" and errors == []
    tab.close()
    added = tournament.add(tmp_path / "answers.csv")
    assert (added.counted, len(added.aside)) == (2, 0)
    votes = tournament.finish(partial=True).votes
    assert votes["doc_id"].tolist() == votes["first"].tolist()
    assert {*votes["judge"]} == {'O"Neil, Ann'}
    asked = table.loc[[2, 0], ["doc_id", "other_doc_id"]].to_numpy().tolist()
    assert votes[["doc_id", "other_doc_id"]].to_numpy().tolist() == asked
    assert votes["preference"].tolist() == [-1, 0]
