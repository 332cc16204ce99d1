"""Campaigns of attacks that must not succeed; see docs/reliability.md."""
