"""Collect judgments: tournaments of documents, and the cost of their designs."""

from pgcjax.asking.program import Judged as Judged
from pgcjax.asking.simulate import SimulatedAsking as SimulatedAsking
from pgcjax.asking.simulate import simulate_asking as simulate
from pgcjax.asking.tournament import Added as Added
from pgcjax.asking.tournament import Finished as Finished
from pgcjax.asking.tournament import Tournament as Tournament

__all__ = ["Added", "Finished", "Judged", "SimulatedAsking", "Tournament", "simulate"]
