"""Local copies of the public data: where they lie, and what reads them."""

import gzip
from functools import cached_property
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd

import pgcjax
from pgcjax.io.graded import read_intent_qrels
from pgcjax.io.grids import read_grids
from pgcjax.io.intents import read_intents
from pgcjax.io.xie import read_xie_votes

FOLDERS = {
    "xie2020": "image search: Image_position.json, SERP_level_preference, "
    "image_pairs_annotation, relevance_data",
    "dl21": "TREC Deep Learning 2021, passages: runs, qrels, judgments.txt.gz of "
    "people, gpt4o/judge.* of a model",
    "cast2019": "TREC CAsT 2019: runs, qrels, clarke-prefs",
    "web-diversity": "TREC Web Track 2009-2012: runs, topics, diversity qrels",
}
"""Folders that are read, and what is in them."""


class Data:
    """A folder with `FOLDERS`, of which any may be absent."""

    def __init__(self, root: Path):
        self.root = root

    def __contains__(self, name: str) -> bool:
        return (self.root / name).is_dir()

    @cached_property
    def grids(self) -> pd.DataFrame:
        """Where each image is shown: 102 queries, two engines."""
        return read_grids(self.root / "xie2020/Image_position.json")

    @cached_property
    def votes(self) -> pd.DataFrame:
        """Three votes on each pair of images."""
        return read_xie_votes(self.root / "xie2020")

    @cached_property
    def votes_without_decimals(self) -> pd.DataFrame:
        """The votes that Luo's numbers are made of: those written `1.0` are lost."""
        return read_xie_votes(self.root / "xie2020", drop_decimal=True)

    @cached_property
    def image_grades(self) -> pd.DataFrame:
        """Relevance of each image, 0 to 100: qrels."""
        names = ["query_id", "doc_id", "relevance"]
        table = self._tabbed("relevance_data", names)
        return table.astype({"relevance": float})

    @cached_property
    def people(self) -> pd.DataFrame:
        """Which result page people prefer, as `agree` takes it: a Sogou, b Baidu."""
        table = self._tabbed("SERP_level_preference", ["query_id", "label"])
        sides = {"run_a": "sogou", "run_b": "baidu"}
        return table.assign(**sides, preference=1 - table.pop("label").astype(int))

    def _tabbed(self, name: str, columns: list[str]) -> pd.DataFrame:
        path = self.root / "xie2020" / name
        how = {"dtype": str, "quoting": 3, "keep_default_na": False}
        return pd.read_csv(path, sep="\t", names=columns, skiprows=1, **how)

    @cached_property
    def dl21_runs(self) -> pd.DataFrame:
        """63 runs."""
        return pgcjax.files.read_runs(self.root / "dl21/runs").table

    @cached_property
    def dl21_qrels(self) -> pd.DataFrame:
        """Grades 0 to 3."""
        return pgcjax.files.read_qrels(self.root / "dl21/qrels.dl21-passage.txt.gz")

    @cached_property
    def dl21_people(self) -> pd.DataFrame:
        """Preferences of people."""
        return pgcjax.files.read_preferences(self.root / "dl21/judgments.txt.gz")

    @cached_property
    def dl21_model(self) -> pd.DataFrame:
        """Preferences of a language model."""
        return pgcjax.files.read_preferences(str(self.root / "dl21/gpt4o/judge.*"))

    @cached_property
    def cast_runs(self) -> pd.DataFrame:
        """26 runs, named by their files, as seven share a tag."""
        return pgcjax.files.read_runs(self.root / "cast2019/runs", name_by="file").table

    @cached_property
    def cast_qrels(self) -> pd.DataFrame:
        """Grades 0 to 4, as the track made them."""
        return pgcjax.files.read_qrels(self.root / "cast2019/qrels/2019qrels.txt.gz")

    @cached_property
    def cast_total(self) -> pd.DataFrame:
        """The total order of a tournament above the grades: levels 10 to 50."""
        folder = self.root / "cast2019/clarke-prefs"
        return pgcjax.files.read_qrels(folder / "TREC-CAsT-2019.qrels.gz")

    @cached_property
    def cast_preferences(self) -> pd.DataFrame:
        """Preferences of crowd workers."""
        folder = self.root / "cast2019/clarke-prefs"
        return pgcjax.files.read_preferences(folder / "TREC-CAsT-2019.pref.gz")

    def web_intents(self, year: int) -> pd.DataFrame:
        """Intents of the Web Track, with their kinds."""
        return read_intents(self.root / f"web-diversity/topics/wt{year}.topics.xml.gz")

    def web_kinds(self, year: int) -> pd.Series:
        """Kind of each topic, by query_id: ambiguous or faceted."""
        path = self.root / f"web-diversity/topics/wt{year}.topics.xml.gz"
        topics = ElementTree.fromstring(gzip.decompress(path.read_bytes()))
        found = {topic.get("number"): topic.get("type") for topic in topics}
        return pd.Series(found, name="kind")

    def web_qrels(self, year: int) -> pd.DataFrame:
        """Grades per intent."""
        return read_intent_qrels(
            self.root / f"web-diversity/qrels/{year}.diversity.qrels.gz"
        )

    def web_runs(self, year: int) -> pd.DataFrame:
        """Runs of a year, named by their files, as all share a tag."""
        found = sorted((self.root / "web-diversity/runs").glob(f"*{year}*.run.gz"))
        return pgcjax.files.read_runs(
            [str(path) for path in found], name_by="file"
        ).table
