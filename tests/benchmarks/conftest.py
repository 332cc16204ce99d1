"""Races in which nothing depends on a time: a sample is one call."""

from unittest import mock

import pytest


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Take no more samples than there are rounds, nor look through pytest's objects."""
    harness = pytest.importorskip("benchmarks.harness", reason="not in a checkout")
    monkeypatch.setattr(harness, "LEAST", 0.0)
    monkeypatch.setattr(harness, "gc", mock.Mock())


@pytest.fixture
def report():
    """A report of two rounds, so that ratios have a spread."""
    harness = pytest.importorskip("benchmarks.harness", reason="not in a checkout")
    return harness.Report(rounds=2)
