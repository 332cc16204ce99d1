"""Remote files, such as `s3://bucket/runs/a.run`.

fsspec reaches them with its library for the scheme, and finds credentials as the tools
of that store do. Files are not copied to this machine before reading: bytes are fetched
when they are needed, in growing blocks while a file is read on, and only the needed
parts of packed runs. A `RemoteFile` is a path with `open`, `stat` and `is_file`, so
readers treat it like a local one; errors of libraries become a `DataError` of one line.
"""

import errno
import io
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pgcjax.errors import DataError, UsageError
from pgcjax.io.nest import nest
from pgcjax.later import pa

if sys.platform == "win32":
    from pathlib import WindowsPath as _Path
else:
    from pathlib import PosixPath as _Path

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)(?:::[^/]+)*://", re.IGNORECASE)
WEB = ("http", "https")
# Attributes of stores that identify the content of a file; the first one counts.
_VERSIONS = ("ETag", "etag", "Content-MD5", "md5Hash", "generation", "sha256", "mtime")
_VERSIONS += ("LastModified", "last_modified", "Last-Modified", "modified", "created")
_KINDS = (FileNotFoundError, PermissionError)
_ABSENT = "no such file or folder"
_AT_ONCE = 16  # requests, because stores answer slowly
_MEND = "Check the address, the network and your credentials."
_LEAST, _MOST = 2**16, 2**23  # bytes that are requested at once
_BLOCKS = {"block_size": 2**20, "cache_options": {"maxblocks": 64}}


def is_remote(source: Any) -> bool:
    """Return whether a name is that of a remote file: it begins with `scheme://`."""
    return isinstance(source, RemoteFile) or (
        isinstance(source, (str, os.PathLike))
        and bool(_SCHEME.match(str(os.fspath(source))))
    )


class RemoteFile(_Path):
    """A remote file, as a path.

    Attributes:
        url: Address of the file.
        size: Bytes of the file; 1 if the store does not report them.
        told: Text that changes with the content; empty if the store reports none.
        version: The same, but with each call a new text if the store reports none.
    """

    def __new__(cls, url: str, *options: Any) -> "RemoteFile":
        """Make a path from the address, which has the suffix of the file."""
        return super().__new__(cls, url)

    def __init__(self, url: str, fs: Any = None, path: str = "", about: Any = None):
        if sys.version_info >= (3, 12):
            super().__init__(url)
        self.url, self.fs, self.path = url, fs, path
        about = about or {}
        self.size = int(about.get("size") or 1)
        versions = (str(about[key]) for key in _VERSIONS if about.get(key))
        self.told = next(versions, "")
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
        """Canonical address of the file, for any spelling."""
        return scheme_of(self.url), self.path or self.url

    @property
    def name(self) -> str:
        """The last part of the path; of a web address, without its query."""
        url = self.url
        if scheme_of(url) in WEB:
            url = re.split("[?#]", url)[0]
        return url.rstrip("/").rpartition("/")[2]

    def resolve(self, strict: bool = False) -> "RemoteFile":
        """Return the file itself, because it is no link."""
        return self

    def is_file(self) -> bool:
        """Whether it is a file: always, because only files are listed."""
        return True

    def stat(self, *, follow_symlinks: bool = True) -> Any:
        """Return the size, and a time of change that changes with the content."""
        return SimpleNamespace(st_size=self.size, st_mtime_ns=self.version, st_mode=0)

    def open(self, *mode: Any, jumping: bool = False, **options: Any) -> Any:
        """Open the file for reading; with `jumping`, parts of it in any order.

        Raises:
            DataError: the file cannot be reached, now or while it is read.
        """
        return io.BufferedReader(_Stream(self, jumping), 1 if jumping else _LEAST)


def size_on_disk(path: Path) -> int:
    """Return the size of a file; 0 for a pipe, or if reading will raise an error."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0


def arrow_file(path: Path) -> Any:
    """Open a local or remote file for a reader of Parquet."""
    if isinstance(path, RemoteFile):
        return pa.PythonFile(path.open("rb", jumping=True), mode="r")
    return pa.OSFile(str(path), "r")


class _Stream(io.RawIOBase):
    """Bytes of a remote file, fetched in blocks that grow while it is read on."""

    def __init__(self, file: RemoteFile, jumping: bool):
        caching: dict[str, Any] = {"cache_type": "none"}
        if jumping:
            caching = {"cache_type": "blockcache", **_BLOCKS}
        elif scheme_of(file.url) in WEB:
            caching = {"block_size": 0}  # some servers cannot send parts
        self._jumping, self._next = jumping, 0 if jumping else _LEAST
        self._held = memoryview(b"")
        with _asked(file.url):
            self._file = file.fs.open(file.path, "rb", **caching)
        self._url = file.url

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._jumping

    def readinto(self, buffer: Any) -> int:
        if not self._held:
            with _asked(self._url):
                data = self._file.read(max(len(buffer), self._next))
            self._held = memoryview(data)
            self._next = min(2 * self._next, _MOST)
        count = min(len(buffer), len(self._held))
        buffer[:count] = self._held[:count]
        self._held = self._held[count:]
        return count

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        if not self._jumping:
            raise io.UnsupportedOperation("seek")
        if whence == os.SEEK_CUR:
            place -= len(self._held)
        self._held = memoryview(b"")
        with _asked(self._url):
            return self._file.seek(place, whence)

    def tell(self) -> int:
        return self._file.tell() - len(self._held)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def path_of(source: str | os.PathLike) -> Path:
    """Return the path of a local or remote file."""
    if isinstance(source, RemoteFile):
        return source
    return RemoteFile(os.fspath(source)) if is_remote(source) else Path(source)


def scheme_of(url: str) -> str:
    """Return the scheme of an address, such as `s3`; "" for a path."""
    match = _SCHEME.match(url)
    return match[1].lower() if match else ""


def find(source: str | os.PathLike) -> tuple[list[RemoteFile], bool]:
    """List the file of an address, or those of a folder or pattern in a store.

    Returns:
        The files by name, without hidden ones, and whether they are those of a folder.

    Raises:
        DataError: there is no such file, or it cannot be reached.
    """
    if isinstance(source, RemoteFile) and source.fs:
        return [source], False
    url = os.fspath(source)
    fs, path = filesystem(url)
    pattern = scheme_of(url) not in WEB and any(mark in url for mark in "*?[")
    with _asked(url):
        fs.invalidate_cache()  # of listings
        if pattern and not fs.exists(path):
            entries, folder = [*fs.glob(path, detail=True).values()], False
        else:
            about = fs.info(path)
            folder = about["type"] == "directory"
            entries = fs.ls(path, detail=True) if folder else [about]
        one = not (folder or pattern)
        entries = [about for about in entries if one or about["type"] == "file"]
        entries.sort(key=lambda about: about["name"])
    files = [
        RemoteFile(url if one else fs.unstrip_protocol(a["name"]), fs, a["name"], a)
        for a in entries
    ]
    if not files and not folder:
        raise DataError("no file matches", where=url, mend="Check the path.")
    return [file for file in files if one or file.name[:1] != "."], folder


def each(ask: Callable[[Any], Any], things: Sequence[Any]) -> list[Any]:
    """Call a function for each item, several at once, because answers take a while."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = [pool.submit(copy_context().run, ask, thing) for thing in things]
        return [answer.result() for answer in answers]


def place(source: str | os.PathLike) -> str:
    """Return the canonical address of a file.

    Raises:
        DataError: as in `find`.
    """
    return f"{scheme_of(str(source))}://{filesystem(os.fspath(source))[1]}"


def local_folder(path: str | os.PathLike) -> Path:
    """Return the path of a folder to write.

    Raises:
        UsageError: the folder is remote.
    """
    if is_remote(path):
        raise UsageError(
            f"{path}: is remote, but folders are written only on this machine: name a "
            "local one"
        )
    return Path(path)


def unreadable(path: str | os.PathLike, error: OSError) -> DataError:
    """Return the error of a local or remote file or folder that cannot be read."""
    if isinstance(error, FileNotFoundError) and error.strerror == _ABSENT:
        return DataError(_ABSENT, where=str(path), mend="Check the path.")
    return DataError(
        f"cannot read it: {error.strerror or error}",
        where=str(path),
        mend=_MEND if is_remote(path) else "Check the path and its permissions.",
    )


@contextmanager
def _asked(url: str) -> Iterator[None]:
    """Convert all errors of a library during reading to a `DataError`."""
    try:
        with _failing(url):
            yield
    except OSError as error:
        raise unreadable(url, error) from None


@contextmanager
def _failing(url: str) -> Iterator[None]:
    """Convert all errors of a library to an `OSError` with the reason."""
    try:
        yield
    except (MemoryError, DataError, UsageError):
        raise
    except Exception as error:  # a dozen libraries have no common base of errors
        kind = type(error) if type(error) in _KINDS else OSError
        raise kind(errno.EIO, _reason(error, url)) from error


def _reason(error: BaseException, url: str) -> str:
    """Return the message of a library's error, or that of its cause, in one line."""
    text = str(getattr(error, "strerror", None) or error).strip()
    if not text or text.strip("/") in url:  # the path alone
        cause = error.__cause__
        if cause is not None and getattr(cause, "status", 0) != 404:
            return _reason(cause, url)
        text = _ABSENT if isinstance(error, FileNotFoundError) else type(error).__name__
    return text.partition("\n")[0].rstrip(".")


def filesystem(url: str) -> tuple[Any, str]:
    """Return the file system of a file, and its path there.

    Raises:
        DataError: a library for the scheme is missing, or the address is invalid.
    """
    try:
        import fsspec
    except ImportError:
        raise DataError(
            "a remote file needs fsspec, which is not installed",
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
    except Exception as error:  # from any library for the scheme
        problem = f"cannot be reached: {_reason(error, '')}"
        raise DataError(problem, where=url, mend=_MEND) from None


@contextmanager
def sent(url: str) -> Iterator[Path]:
    """Yield a temporary local path, and send its file if the body succeeds.

    Stores with transactions, such as all stores of objects, get the file whole or not
    at all.

    Raises:
        DataError: the file cannot be written; an existing one is unchanged.
    """
    fs, path = filesystem(url)
    with nest(Path(tempfile.gettempdir(), path_of(url).name)) as folder:
        beside = folder / path_of(url).name
        yield beside
        try:
            with _failing(url), fs.transaction, beside.open("rb") as file:
                with fs.open(path, "wb") as target:
                    shutil.copyfileobj(file, target, _MOST)
        except OSError as error:
            raise unwritable(url, error) from None


def check_target(url: str) -> None:
    """Refuse a remote file that cannot be written, as far as the store reports it.

    Raises:
        UsageError: it is a folder, or an address of the web. DataError: its bucket does
            not exist, or cannot be reached.
    """
    if scheme_of(url) in WEB:
        raise UsageError(
            f"{url}: web addresses can only be read; name a file in a store, such as s3://bucket/scores.csv"
        )
    fs, path = filesystem(url)
    try:
        with _failing(url):
            if fs.isdir(path):
                raise UsageError(f"{url}: is a folder; name a file")
            fs.info(path)
    except PermissionError:
        pass  # users may have the right to write, but not to read
    except FileNotFoundError as error:
        if "bucket" in (reason := _reason(error, url)):
            raise unwritable(url, OSError(errno.ENOENT, reason)) from None
    except OSError as error:
        raise unwritable(url, error) from None


def unwritable(path: str | os.PathLike, error: OSError, mend: str = _MEND) -> DataError:
    """Return the error of a file or folder that cannot be written."""
    problem = f"cannot write there: {error.strerror or error}"
    return DataError(problem, where=str(path), mend=mend)
