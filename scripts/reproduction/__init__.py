"""The papers' tables, from local copies of public data: `scripts/reproduce`."""
