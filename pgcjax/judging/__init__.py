"""Judgments and judges: votes, agreement, transitivity, strength, prediction."""
