"""Compiled programs on disk: another process loads them, and traces nothing.

JAX's own cache spares compiling alone: a program is still traced and lowered, 30 to 120
ms of Python, to learn which one it is. Here a key says it beforehand. It is of all that
the machine code depends on, and of more: the function, by its content; the arguments'
shapes, types and places; the files of the package; versions, processor and settings.
What has no such key is compiled by JAX, as everywhere else. A key leads to the text of
the program, and the text to its machine code: another version of the package, whose
keys are others, compiles no text again.
"""

import logging
import os
import pickle
import platform
import re
import sys
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from weakref import WeakSet

import jax
import numpy as np
from jax.core import Tracer
from jax.experimental import serialize_executable
from jax.experimental.compilation_cache import compilation_cache
from jax.interpreters import partial_eval
from jaxlib.version import __version__ as jaxlib_version

from pgcjax._version import BEGAN
from pgcjax.runtime import own_cache
from pgcjax.runtime.fingerprint import PACKAGE, ForeignError, fingerprint

FOLDER, CACHE = "PGCJAX_PROGRAMS", "PGCJAX_CACHE_DIR"
"""Variables that name the folder; `programs` in the second. None is kept if empty."""

ROOMS = ("kernels", "tensors", "measures", "stats", "engine", "runtime")
"""Folders of the package with all that makes programs."""

# They change where programs are kept and what is said of them, and no program.
_SILENT = (
    *("jax_compilation_cache", "jax_enable_compilation_cache", "jax_persistent_cache"),
    *("jax_log", "jax_debug_log", "jax_explain", "jax_pprint", "jax_traceback"),
)
_CALLED = re.compile(r"custom_call[^@]*@([\w.$]+)")
_OF_COMPILER = {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"}
_Made = tuple[Callable[..., Any], Any]  # a program; its result, if it was run, or None
_config: Any = jax.config  # its settings are no attributes that types know
_log = logging.getLogger(__name__)
_every: "WeakSet[Kept]" = WeakSet()
_compiling = threading.Lock()


def kept(program: Callable[..., Any], jitted: Any, devices: int = 1) -> Any:
    """Let other processes find a program on disk, if programs are kept.

    Args:
        program: what is compiled; its result depends on nothing but its arguments.
        jitted: the same by `jax.jit`.
        devices: over which `jitted` spreads it; one that leaves others out has no file.

    Returns:
        A function of the same arrays, with the same results.
    """
    return Kept(program, jitted, devices) if _place() else jitted


def forget_loaded() -> None:
    """Drop the programs that this process holds; `jax.clear_caches` drops JAX's."""
    for each in list(_every):
        each.made.clear()


class Kept:
    """A program for arguments of any shapes, each of which has a file.

    Attributes:
        made: what is called, by the signature of arguments.
        trace: as of what `jax.jit` gives.
        lower: likewise.
    """

    def __init__(self, program: Callable[..., Any], jitted: Any, devices: int):
        """Compile nothing yet."""
        self._program, self._jitted, self._devices = program, jitted, devices
        self.trace, self.lower = jitted.trace, jitted.lower
        self.made: dict[Hashable, Callable[..., Any]] = {}
        self._making = threading.Lock()
        _every.add(self)

    def __call__(self, *arguments: Any) -> Any:
        """Call the program for such arguments; the first time, load or compile it."""
        signature = _signature(arguments)
        made = self.made.get(signature)
        return made(*arguments) if made else self._first(signature, arguments)

    def _first(self, signature: Hashable, arguments: tuple) -> Any:
        with self._making:
            made = self.made.get(signature)
            if made is None:
                made, result = self._made(arguments)
                self.made[signature] = made
                if result is not None:
                    return result
        return made(*arguments)

    def _made(self, arguments: tuple) -> _Made:
        folder = own_cache.own_folder(_place()) if _place() else None
        key = self.key(*arguments) if folder else None
        if not folder or not key:
            return self._jitted, None
        return _found(folder, key, arguments) or self._compiled(folder, key, arguments)

    def key(self, *arguments: Any) -> str | None:
        """Name a program by all that it depends on; None if that cannot be named."""
        here = jax.default_backend() == "cpu" and jax.process_count() == 1
        alone = self._devices == jax.device_count()  # there are no other devices
        source = source_digest() if here and alone else None
        if not source or _config.jax_disable_jit:
            return None  # elsewhere loading was never tried
        try:
            what, given = fingerprint(self._program), _described(arguments)
        except ForeignError as error:
            _log.debug("not kept: %s", error)
            return None
        return _digest(machine(), settings(), source, what, given)

    def _compiled(self, folder: Path, key: str, arguments: tuple) -> _Made:
        """Compile a program, unless its text is that of one that is kept."""
        traced = self._jitted.trace(*arguments)
        lowered = traced.lower()
        text = lowered.as_text()
        if calls_libraries(text):
            return self._jitted, None
        given = _described(arguments), str(lowered.out_tree), _outside(traced.jaxpr)
        name = _digest(machine(), settings(), *given, text)
        own_cache.save(folder, key, name.encode())
        if found := _found(folder, key, arguments):
            return found
        with _afresh():
            compiled = lowered.compile()
        try:
            body = pickle.dumps(serialize_executable.serialize(compiled))
        except Exception as error:  # whatever JAX cannot do with a kind of program
            _log.debug("not kept: %s: %s", name, error)
            return compiled, None
        own_cache.save(folder, name, body)
        _log.debug("kept %s", name)
        return compiled, None


def _outside(program: Any) -> str:
    """Describe what the text of a program lacks: it has only arguments that are used.

    So two programs may have one text, and take another argument each. Of results it
    does not say whether their type is weak.
    """
    every = [True] * len(program.out_avals)
    used = partial_eval.dce_jaxpr(program.jaxpr, every)[1]
    return repr((used, program.out_avals))


def calls_libraries(text: str) -> bool:
    """Say whether a program calls functions outside of its own machine code.

    JAX prepares them, such as those of LAPACK, when it lowers a program. A process that
    loads one has not, and would jump to no function at all.
    """
    return bool({*_CALLED.findall(text)} - _OF_COMPILER)


def _found(folder: Path, key: str, arguments: tuple) -> _Made | None:
    """Load a program and run it; None if there is none, or it is damaged, or fails."""
    name = own_cache.load(folder, key)
    body = own_cache.load(folder, name.decode()) if name else None
    if body is None:
        return None
    try:
        made = _unpickled(body)
        if made.in_tree != jax.tree.structure((arguments, {})):
            return None
        # What was kept may lack functions, which shows when it runs.
        result = jax.block_until_ready(made(*arguments))
    except Exception as error:  # whatever a library says: JAX compiles it again
        _log.debug("not loaded: %s: %s", name, error)
        return None
    _log.debug("loaded %s", name)
    return made, result


def _unpickled(body: bytes) -> Any:
    """Load a program from bytes that were checked, and are this user's own."""
    return serialize_executable.deserialize_and_load(*pickle.loads(body))


@contextmanager
def _afresh() -> Iterator[None]:
    """Let JAX compile by itself: what it finds in its cache cannot be kept again.

    A program that was loaded and is serialised lacks functions when it runs.
    """
    with _compiling:
        before = _config.jax_enable_compilation_cache
        _config.update("jax_enable_compilation_cache", False)
        compilation_cache.reset_cache()  # it looked at the setting before
        try:
            yield
        finally:
            _config.update("jax_enable_compilation_cache", before)
            compilation_cache.reset_cache()


def _signature(arguments: tuple) -> Hashable:
    """Tell arguments apart that need other programs, quickly: at every call."""
    leaves, tree = jax.tree.flatten(arguments)
    kinds = [(x.shape, x.dtype) if type(x) is np.ndarray else _kind(x) for x in leaves]
    return tree, _config.jax_enable_x64, _config.jax_default_device, *kinds


def _kind(x: Any) -> Hashable:
    if isinstance(x, jax.Array) and not isinstance(x, Tracer):
        return x.shape, x.dtype, x.sharding, x.committed, x.aval.weak_type
    return (x.shape, x.dtype) if isinstance(x, np.generic) else type(x)


def _described(arguments: tuple) -> str:
    """Describe arguments, as far as a program depends on them.

    Raises:
        ForeignError: one is no array, or is not spread over all devices.
    """
    leaves, tree = jax.tree.flatten(arguments)
    return "\n".join([str(tree), *map(_described_array, leaves)])


def _described_array(x: Any) -> str:
    if isinstance(x, np.ndarray | np.generic):
        return f"{x.dtype.str} {x.shape}"
    if not isinstance(x, jax.Array) or isinstance(x, Tracer):
        raise ForeignError(f"an argument of type {type(x).__name__}")
    parts = x.sharding.devices_indices_map(x.shape)
    if len(parts) != jax.device_count():
        raise ForeignError("an argument that is not on all devices")
    where = {device.id: part for device, part in parts.items()}
    return f"{x.dtype.str} {x.shape} {x.aval.weak_type} {x.committed} {where}"


@cache
def machine() -> str:
    """Describe machine and libraries, by a digest."""
    device = jax.devices()[0]
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    # Where processors do not list their instructions, every machine is another one.
    may_use = [line for line in lines if line.startswith(("flags", "Features"))][:1]
    may_use = may_use or [platform.node()]
    return _digest(
        *(jax.__version__, jaxlib_version, np.__version__, sys.version),
        *(platform.machine(), platform.processor(), *may_use),
        *(device.device_kind, device.client.platform_version),
        *(str(jax.device_count()), str(len(cores) or os.cpu_count())),
    )


def settings() -> str:
    """Describe the settings of JAX and of its compiler, as they are now."""
    flags = sorted(item for item in os.environ.items() if item[0].startswith("XLA_"))
    values = _config.values.items()
    all_set = sorted((k, repr(v)) for k, v in values if not k.startswith(_SILENT))
    return repr((flags, all_set))


@cache
def source_digest(package: Path = PACKAGE, began: float = BEGAN) -> str | None:
    """Compute the SHA-256 of the files that programs are made by.

    Returns:
        None if there are no such files, or if one has changed since this process began
        to import them: what is in memory is another program then.
    """
    digest, files = sha256(), 0
    for room in ROOMS:
        for path in sorted((package / room).rglob("*.py")):
            about = path.stat()
            if max(about.st_mtime, about.st_ctime) >= began:
                return None
            data, files = path.read_bytes(), files + 1
            name = path.relative_to(package).as_posix()
            digest.update(f"{name} {len(data)}:".encode() + data)
    return digest.hexdigest() if files else None


def _place() -> str:
    """Name the folder; nothing if programs are not kept."""
    cache = os.environ.get(CACHE)
    return os.environ.get(FOLDER, os.path.join(cache, "programs") if cache else "")


def _digest(*parts: str) -> str:
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return sha256(joined.encode(errors="surrogateescape")).hexdigest()
