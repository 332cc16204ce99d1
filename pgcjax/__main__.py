"""Run the command line: `python -m pgcjax`."""

import runpy

runpy.run_module("pgcjax.cli", run_name="__main__", alter_sys=True)
