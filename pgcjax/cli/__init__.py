"""The command line: one verb per function, thin. Loads JAX and pandas only to work."""

import os
import sys
import warnings
from contextlib import suppress

import click
import platformdirs

from pgcjax.cli import (  # noqa: F401 - they add their verbs
    comparing,
    findings,
    judgments,
    predicting,
    rankings,
    reporting,
    scoring,
)
from pgcjax.cli.commands import cli
from pgcjax.errors import DataWarning, PgcjaxError, VerificationError, one_line
from pgcjax.report.progress import say


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 2 wrong use or data, 1 a defect of ours.

    Results go to stdout; every message is one line on stderr.
    """
    _keep_compiled()
    with warnings.catch_warnings():
        warnings.simplefilter("always", DataWarning)
        warnings.showwarning = _show_warning
        sys.exit(_run(args))


def _keep_compiled() -> None:
    """Let JAX keep what it compiles for the next call, unless the user decides."""
    folder = platformdirs.user_cache_path("pgcjax") / "jax"
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
        with suppress(OSError):  # JAX warns, and compiles each time
            # What is kept there is code, which the next call runs: nobody else's.
            for path in (folder.parent, folder):
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


def _run(args: list[str] | None) -> int:
    try:
        return cli.main(args, prog_name="pgcjax", standalone_mode=False) or 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.ClickException as error:
        return _fail(error.format_message(), 2)
    except VerificationError as error:
        return _fail(str(error), 1)
    except PgcjaxError as error:
        return _fail(str(error), 2)
    except (click.Abort, KeyboardInterrupt):
        return _fail("stopped", 130)
    except SystemExit:
        # So click leaves where the reader of a pipe has gone, as with `| head`.
        return 0


def _fail(message: str, code: int) -> int:
    click.echo(f"pgcjax: error: {one_line(message)}", err=True)
    return code


def _show_warning(message, category, filename, lineno, file=None, line=None) -> None:
    if issubclass(category, DataWarning):
        say(f"warning: {message}")
