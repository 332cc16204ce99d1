"""Votes on pairs of images as Xie et al. published them."""

import gzip

import pytest

from pgcjax.errors import DataError
from pgcjax.files import read_preferences
from pgcjax.io.xie import read_xie_votes

HEADER = "Query\tImage_pair(Search engine/query_imageID.jpg)\tthree preference_tags\n"
LINE = "山\tsogou/山_0.jpg,baidu/山_10.jpg\t-2\t0\t1.0\n"


def rows(votes):
    return list(votes.itertuples(index=False, name=None))


def test_left_is_above_zero_and_each_vote_is_a_row(put):
    votes = read_xie_votes(put("votes", HEADER + LINE))
    left, right = "sogou/山_0.jpg", "baidu/山_10.jpg"
    assert list(votes) == ["query_id", "doc_id", "other_doc_id", "preference", "judge"]
    assert rows(votes) == [
        ("山", left, right, 2.0, "1"),
        ("山", left, right, 0.0, "2"),
        ("山", left, right, -1.0, "3"),
    ]
    assert votes.attrs == {"dropped": 0}
    # They are canonical: nothing changes when they are read again.
    again = read_preferences(votes)
    assert rows(again) == rows(votes) and (again.dtypes == votes.dtypes).all()


def test_a_format_of_preferences(put):
    votes = put("image_pairs_annotation", LINE)
    for source in (votes, [votes], votes.parent, [votes.parent]):
        found = read_preferences(source, format="xie")
        assert found.equals(read_xie_votes(votes))
        assert found.attrs == {"dropped": 0, "comments": 0, "silent": 0}


def test_votes_written_with_a_point_can_be_left_out(put):
    votes = read_xie_votes(put("votes", LINE), drop_decimal=True)
    assert votes["judge"].tolist() == ["1", "2"]
    assert votes.attrs == {"dropped": 1}


def test_a_folder_and_files(put, tmp_path):
    put("all/image_pairs_annotation", HEADER + LINE)
    put("all/relevance_data", "Query\tImage\tScore\n")
    one = put("one.txt.gz", gzip.compress((HEADER + LINE).encode()))
    two = put("two.txt", "q\ta,b\t0\t0\t0\n")
    assert len(read_xie_votes(tmp_path / "all")) == 3
    assert read_xie_votes([one, two])["query_id"].tolist() == ["山"] * 3 + ["q"] * 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q\ta,b\t0\t0\n", ":2: expected query, image,image and votes of -2, -1, 0, "),
        ("q\ta\t0\t0\t0\n", "found 'q a 0 0 0'. The layout is that of image_pairs_an"),
        ("q\ta,b,c\t0\t0\t0\n", "found 'q a,b,c 0 0 0'"),
        ("q\ta,a\t0\t0\t0\n", ":2: image 'a' is compared with itself"),
        ("q\ta,b\t0\t3\t0\n", "found 'q a,b 0 3 0'"),
        ("q\ta,b\t0\t\t0\n", "found 'q a,b 0 0'"),
        ("q\ta,\t0\t0\t0\n", ":2: expected other_doc_id, found nothing"),
        ("", ": holds a header only"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(put, text, message):
    with pytest.raises(DataError) as error:
        read_xie_votes(put("votes", HEADER + text))
    assert message in str(error.value) and "votes" in str(error.value)


def test_a_folder_without_votes(put, tmp_path):
    put("relevance_data", "Query\tImage\tScore\n")
    with pytest.raises(DataError, match="expected one file image_pairs_annotation"):
        read_xie_votes(tmp_path)


def test_the_published_votes(data):
    votes = read_xie_votes(data / "xie2020")
    assert len(votes) == 3 * 41_538 and votes["query_id"].nunique() == 102
    counts = votes["preference"].value_counts().to_dict()
    assert counts == {2: 1962, 1: 30457, 0: 44260, -1: 44386, -2: 3549}
    dropped = read_xie_votes(data / "xie2020", drop_decimal=True)
    assert len(votes) - len(dropped) == dropped.attrs["dropped"] == 252
