"""Run the command line: `python -m pgcjax.cli`, which `python -m pgcjax` starts."""

from pgcjax.cli import main

main()
