"""The command line: one verb per function, thin. Loads JAX and pandas only to work."""

import errno
import gc
import os
import sys
import warnings

import click
import platformdirs

from pgcjax.cli.commands import OUT_OF_MEMORY, cli
from pgcjax.errors import DataWarning, PgcjaxError, VerificationError, one_line
from pgcjax.io.reading import address_space
from pgcjax.reporting.progress import say
from pgcjax.runtime.private_folder import make_private, others_place

_MEMORY = (
    "out of memory. Work on less at once (--memory SIZE, --part I/N, fewer files), "
    "or use a machine with more memory."
)


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit.

    Exit codes: 0 done, 1 a defect of pgcjax, 2 wrong use or data, 3 out of memory, 130
    stopped. Results go to stdout; every message is one line on stderr. Without `args`,
    the process is taken to serve this call alone, and starts and ends faster.
    """
    if args is None:
        gc.set_threshold(500_000, 10, 100)  # imported modules hold permanent objects
    _keep_for_later()
    _give_memory_back()
    # By default, idle threads of numpy's BLAS spin for a tenth of a second.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")
    with warnings.catch_warnings():
        warnings.simplefilter("always", DataWarning)
        warnings.showwarning = _show_warning
        code = _run(args)
    if args is None:
        code = _flush(code)
        os._exit(code)  # the teardown of libraries takes a third of a second
    sys.exit(code)


def _flush(code: int) -> int:
    """Flush the output; a full disk turns success into failure."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError as error:
        if error.errno != errno.EPIPE:  # the reader ended early, as with `| head`
            return _fail(f"cannot print: {error.strerror}", code or 2)
    return code


def _keep_for_later() -> None:
    """Choose folders for compiled programs and optimal orders, unless the user did."""
    cache = platformdirs.user_cache_path("pgcjax")
    os.environ.setdefault("PGCJAX_CACHE_DIR", str(cache))
    folder = cache / "compiled"
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        # The next call runs the code in this folder, so nobody else may write there.
        try:
            make_private(folder)
            problem = others_place(folder)
        except OSError as error:
            problem = f"{folder}: {error.strerror}"
        if problem:
            say(f"warning: compiled programs are not cached: {problem}", always=True)
        else:
            os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
            os.environ.setdefault("JAX_COMPILATION_CACHE_MAX_SIZE", str(2**29))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


def _give_memory_back() -> None:
    """Make libraries return unused memory to the system, unless the user decides.

    By default each library retains much freed memory, which others cannot use, and
    reserves far more addresses than memory, which matters if addresses are limited.
    """
    freed = "dirty_decay_ms:500,muzzy_decay_ms:0"
    if address_space():
        freed = "dirty_decay_ms:0,muzzy_decay_ms:0,retain:false,narenas:2"
        freed += ",background_thread:false"
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
        if sys.platform == "linux":
            import ctypes

            arenas = -8  # M_ARENA_MAX of the C library
            ctypes.CDLL(None).mallopt(arenas, 1)
    os.environ.setdefault("_RJEM_MALLOC_CONF", freed)
    os.environ.setdefault("MIMALLOC_PURGE_DELAY", "0")  # read by pyarrow


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
        # click exits thus if the reader of a pipe ended early, as with `| head`.
        return 0
    except BaseException as error:  # panics of polars are not Exceptions
        if _is_of_memory(error):
            return _fail(_MEMORY, OUT_OF_MEMORY)
        if type(error).__name__ == "PanicException":
            return _fail(f"polars failed to read a table: {error}", 2)
        if isinstance(error, OSError):  # errors of files are reported elsewhere
            return _fail(f"cannot print: {error.strerror}", 2)
        raise


def _is_of_memory(error: BaseException) -> bool:
    """Return whether an error of any library means that memory ran out."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    message = str(error)
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError)
        and ("RESOURCE_EXHAUSTED" in message or "can't start new thread" in message)
    )


def _fail(message: str, code: int) -> int:
    click.echo(f"pgcjax: error: {one_line(message)}", err=True)
    return code


def _show_warning(message, category, filename, lineno, file=None, line=None) -> None:
    if issubclass(category, DataWarning):
        say(f"warning: {message}", always=True)
