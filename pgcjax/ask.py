"""Collect judgments: tournaments of documents, and what designs of them cost."""

from pgcjax.asking.program import Judged as Judged
from pgcjax.asking.result import Finished as Finished
from pgcjax.asking.session import Added as Added
from pgcjax.asking.session import Tournament as Tournament
from pgcjax.asking.simulate import SimulatedAsking as SimulatedAsking
from pgcjax.asking.simulate import simulate_asking as simulate

__all__ = ["Added", "Finished", "Judged", "SimulatedAsking", "Tournament", "simulate"]
