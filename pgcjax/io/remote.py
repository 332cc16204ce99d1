"""Files elsewhere, such as `s3://bucket/runs/a.run`: their names, and what is there.

fsspec reaches them, with whatever it has for a scheme, and finds credentials as the
tools of that store do.
"""

import errno
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import Any

from pgcjax.errors import DataError, UsageError

if sys.platform == "win32":
    from pathlib import WindowsPath as _Path
else:
    from pathlib import PosixPath as _Path

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)(?:::[^/]+)*://", re.IGNORECASE)
WEB = ("http", "https")
# What stores say of the content of a file; the first of them that one says.
_VERSIONS = ("ETag", "etag", "Content-MD5", "md5Hash", "generation", "sha256", "mtime")
_VERSIONS += ("LastModified", "last_modified", "Last-Modified", "modified", "created")
_KINDS = (FileNotFoundError, PermissionError)
_ABSENT = "no such file or folder"
_AT_ONCE = 16  # questions: a store answers each after a while
MEND = "Check the address, the network and your credentials."


def is_remote(source: Any) -> bool:
    """Say whether a name is of a file elsewhere: it begins with `scheme://`."""
    return isinstance(source, RemoteFile) or (
        isinstance(source, (str, os.PathLike))
        and bool(_SCHEME.match(str(os.fspath(source))))
    )


class RemoteFile(_Path):
    """The name of a file elsewhere, as a path; `open_file` opens it.

    Attributes:
        url: of the file.
        size: its bytes, and 1 where the store does not say.
        told: changes with its content; empty where the store says nothing of that.
        version: the same, but changes with each call where the store says nothing.
    """

    def __new__(cls, url: str, *found: Any) -> "RemoteFile":
        """Make a path of the address, which has the suffix of the file."""
        return super().__new__(cls, url)

    def __init__(self, url: str, fs: Any = None, path: str = "", about: Any = None):
        if sys.version_info >= (3, 12):
            super().__init__(url)
        self.url, self.fs, self.path = url, fs, path
        about = about or {}
        self.size = int(about.get("size") or 1)
        told = (str(about[key]) for key in _VERSIONS if about.get(key))
        self.told = next(told, "")
        self.version = self.told or os.urandom(16).hex()

    def __str__(self) -> str:
        return self.url

    def __repr__(self) -> str:
        return f"RemoteFile({self.url!r})"

    def __hash__(self) -> int:
        return hash(self._place)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemoteFile) and self._place == other._place

    @property
    def _place(self) -> tuple[str, str]:
        """Where the file is, however its address is spelled."""
        return scheme_of(self.url), self.path or self.url

    @property
    def name(self) -> str:
        """The last part of the path, without a query."""
        return _plain(self.url).rstrip("/").rpartition("/")[2]

    def resolve(self, strict: bool = False) -> "RemoteFile":
        """Give the file itself: it is no link."""
        return self


def size_on_disk(path: Path) -> int:
    """Return the size of a file; 0 of a pipe, or where reading says what is wrong."""
    if isinstance(path, RemoteFile):
        return path.size
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0


def version_of(path: Path) -> int | str:
    """Return what changes when the content of a file does."""
    if isinstance(path, RemoteFile):
        return path.version
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def path_of(source: str | os.PathLike) -> Path:
    """Give the path of a file, here or elsewhere."""
    if isinstance(source, RemoteFile):
        return source
    return RemoteFile(os.fspath(source)) if is_remote(source) else Path(source)


def _plain(url: str) -> str:
    """Leave the query of an address of the web out."""
    return re.split("[?#]", url)[0] if scheme_of(url) in WEB else url


def scheme_of(url: str) -> str:
    """Give the scheme of an address, such as `s3`; nothing of a path."""
    match = _SCHEME.match(url)
    return match[1].lower() if match else ""


def find(source: str | os.PathLike) -> tuple[list[RemoteFile], bool]:
    """List the file that an address names, or those of a folder or pattern.

    A folder of the web is a page of links, whose address ends with `/`.

    Returns:
        The files by name, and whether they are those of a folder; hidden ones are not
        among them.

    Raises:
        DataError: nothing is there, or it cannot be reached.
    """
    if isinstance(source, RemoteFile) and source.fs:
        return [source], False
    url = os.fspath(source)
    fs, path = filesystem(url)
    pattern = any(mark in _plain(url) for mark in "*?[")
    with _asked(url):
        fs.invalidate_cache()  # of listings
        if pattern and not fs.exists(path):
            found, folder = [*fs.glob(path, detail=True).values()], False
        else:
            web_folder = scheme_of(url) in WEB and _plain(url).endswith("/")
            about = {"type": "directory"} if web_folder else fs.info(path)
            folder = about["type"] == "directory"
            found = fs.ls(path, detail=True) if folder else [about]
        one = not (folder or pattern)
        found = [about for about in found if one or about["type"] == "file"]
        if not one:
            told = each(lambda a: fs.info(a["name"]) if a["size"] is None else a, found)
            found = sorted(told, key=lambda about: about["name"])
    files = [
        RemoteFile(url if one else fs.unstrip_protocol(a["name"]), fs, a["name"], a)
        for a in found
    ]
    if not files and not folder:
        raise DataError("no file matches", where=url, mend="Check the path.")
    return [file for file in files if one or file.name[:1] != "."], folder


def each(ask: Callable[[Any], Any], things: Sequence[Any]) -> list[Any]:
    """Ask something of each, of several at once: answers take a while."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        asked = [pool.submit(copy_context().run, ask, thing) for thing in things]
        return [answer.result() for answer in asked]


def place(source: str | os.PathLike) -> str:
    """Tell where a file is, however its address is spelled.

    Raises:
        DataError: as of `find`.
    """
    return f"{scheme_of(str(source))}://{filesystem(os.fspath(source))[1]}"


def local_folder(path: str | os.PathLike) -> Path:
    """Give the path of a folder that is written.

    Raises:
        UsageError: it is elsewhere.
    """
    if is_remote(path):
        raise UsageError(
            f"{path}: is elsewhere, and a folder is written: name one of this machine"
        )
    return Path(path)


def unreadable(url: str, error: OSError) -> DataError:
    """Say that a file elsewhere cannot be read, and why."""
    if isinstance(error, FileNotFoundError) and error.strerror == _ABSENT:
        return DataError(_ABSENT, where=url, mend="Check the path.")
    return DataError(f"cannot read it: {error.strerror or error}", where=url, mend=MEND)


@contextmanager
def _asked(url: str) -> Iterator[None]:
    """Say what is wrong with an address as a `DataError`."""
    try:
        with failing(url):
            yield
    except OSError as error:
        raise unreadable(url, error) from None


@contextmanager
def failing(url: str) -> Iterator[None]:
    """Let all that a library raises be an `OSError` that says why."""
    try:
        yield
    except (MemoryError, DataError, UsageError):
        raise
    except Exception as error:  # of a dozen libraries, which have no base in common
        kind = type(error) if type(error) in _KINDS else OSError
        raise kind(errno.EIO, reason(error, url)) from error


def reason(error: BaseException, url: str) -> str:
    """Say in a line what a library says, or the error that it tells of."""
    said = str(getattr(error, "strerror", None) or error).strip()
    if not said or said.strip("/") in url:  # the path alone
        cause = error.__cause__
        if cause is not None and getattr(cause, "status", 0) != 404:
            return reason(cause, url)
        said = _ABSENT if isinstance(error, FileNotFoundError) else type(error).__name__
    return said.partition("\n")[0].rstrip(".")


def filesystem(url: str) -> tuple[Any, str]:
    """Give what reaches a file, and its path there.

    Raises:
        DataError: a library for that is missing, or the address is none.
    """
    try:
        import fsspec
    except ImportError:
        raise DataError(
            "a file elsewhere needs fsspec, which is not installed",
            where=url,
            mend="pip install 'pgcjax[remote]', and s3fs, gcsfs or aiohttp for s3://, "
            "gs:// or https://.",
        ) from None
    try:
        return fsspec.url_to_fs(url)
    except ImportError as error:
        raise DataError(
            f"a library is missing: {error}",
            where=url,
            mend="pip install s3fs, gcsfs or aiohttp for s3://, gs:// or https://.",
        ) from None
    except Exception as error:  # of whatever library has the scheme
        problem = f"cannot be reached: {reason(error, '')}"
        raise DataError(problem, where=url, mend=MEND) from None
