"""Run the command line: `python -m pgcjax`."""

from pgcjax.cli import main

main()
