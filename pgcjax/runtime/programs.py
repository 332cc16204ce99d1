"""Compiled programs on disk: another process loads them, and traces nothing.

JAX's own cache spares compiling alone: a program is still traced and lowered, 30 to 120
ms of Python, to learn which one it is. Here a key says it beforehand. It is of all that
the machine code depends on, and of more: the function, by its content; the arguments'
shapes, types and places; the files of the package; versions, processor and settings.
What has no such key is compiled by JAX, as everywhere else. A key leads to the text of
the program, and the text to its machine code: another version of the package, whose
keys are others, compiles no text again. A process with one CPU that finds all of its
programs does not import JAX.
"""

import logging
import pickle
import re
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np

from pgcjax._version import BEGAN
from pgcjax.later import jax
from pgcjax.runtime import own_cache, surroundings, trees
from pgcjax.runtime.direct import Direct, serialized
from pgcjax.runtime.fingerprint import PACKAGE, ForeignError, fingerprint
from pgcjax.runtime.surroundings import digest, machine, settings, without_jax

ROOMS = ("kernels", "tensors", "measures", "stats", "engine", "runtime")
"""Folders of the package with all that makes programs."""

_DIRECT = "-direct"  # the end of names of what `runtime.direct` loads
_CALLED = re.compile(r"custom_call[^@]*@([\w.$]+)")
_OF_COMPILER = {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"}
_Made = tuple[Callable[..., Any], Any]  # a program; its result, if it was run, or None
_log = logging.getLogger(__name__)
_every: "WeakSet[Kept]" = WeakSet()
_compiling = threading.Lock()


def forget_loaded() -> None:
    """Drop the programs that this process holds; `jax.clear_caches` drops JAX's."""
    for each in list(_every):
        each.made.clear()


class Kept:
    """A program for arguments of any shapes, each of which has a file.

    It computes in 64 bits where its arguments have them: JAX's x64 mode is switched on
    around its calls alone, never for the program that imports pgcjax.

    Attributes:
        made: what is called, by the signature of arguments.
    """

    def __init__(
        self, program: Callable[..., Any], jit: Callable[[], Any], devices: int = 1
    ):
        """Compile nothing yet.

        Args:
            program: what is compiled; its result depends on its arguments alone.
            jit: gives the same by `jax.jit`.
            devices: over which that spreads it; a program that leaves others out has no
                file.
        """
        self._program, self._jit, self._devices = program, jit, devices
        self.made: dict[Hashable, Callable[..., Any]] = {}
        self._making = threading.Lock()
        self._keeps = bool(own_cache.place())
        _every.add(self)

    def __call__(self, *arguments: Any) -> Any:
        """Call the program for such arguments; the first time, load or compile it."""
        if not self._keeps:
            return self._jitted(*arguments)
        signature = _signature(arguments)
        made = self.made.get(signature)
        return made(*arguments) if made else self._first(signature, arguments)

    def trace(self, *arguments: Any) -> Any:
        """Trace the program, as what `jax.jit` gives."""
        with jax.enable_x64(True):
            return self._in_jax.trace(*arguments)

    def lower(self, *arguments: Any) -> Any:
        """Lower the program, likewise."""
        with jax.enable_x64(True):
            return self._in_jax.lower(*arguments)

    @cached_property
    def _in_jax(self) -> Any:
        return self._jit()

    @cached_property
    def _jitted(self) -> Callable[..., Any]:
        return _in_x64(self._in_jax)

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
        place = own_cache.place()
        folder = own_cache.own_folder(place) if place else None
        key = self.key(*arguments) if folder else None
        if not folder or not key:
            return self._jitted, None
        if without_jax() and (found := _found_alone(folder, key, arguments)):
            return found
        alone = self._devices == 1 and surroundings.keep()
        with jax.enable_x64(True):
            found = _found(folder, key, arguments, alone)
            made, result = found or self._compiled(folder, key, arguments, alone)
        return _in_x64(made), result

    def key(self, *arguments: Any) -> str | None:
        """Name a program by all that it depends on; None if that cannot be named."""
        source = source_digest() if without_jax() or self._is_over_all() else None
        if not source:
            return None
        try:
            what, given = fingerprint(self._program), _described(arguments)
        except ForeignError as error:
            _log.debug("not kept: %s", error)
            return None
        return digest(machine(), settings(), source, what, given)

    def _is_over_all(self) -> bool:
        """Say whether there are no other devices; elsewhere loading was never tried."""
        config: Any = jax.config  # its settings are no attributes that types know
        here = jax.default_backend() == "cpu" and jax.process_count() == 1
        alone = self._devices == jax.device_count()
        return here and alone and not config.jax_disable_jit

    def _compiled(self, folder: Path, key: str, arguments: tuple, alone: bool) -> _Made:
        """Compile a program, unless its text is that of one that is kept."""
        from jax.experimental.serialize_executable import serialize

        traced = self._in_jax.trace(*arguments)
        lowered = traced.lower()
        text = lowered.as_text()
        if calls_libraries(text):
            return self._in_jax, None
        given = _described(arguments), str(lowered.out_tree), _outside(traced.jaxpr)
        name = digest(machine(), settings(), *given, text)
        own_cache.save(folder, key, name.encode())
        if found := _found(folder, key, arguments, alone):
            return found
        with _afresh():
            compiled = lowered.compile()
        try:
            body = pickle.dumps(serialize(compiled))
            direct = serialized(compiled) if self._devices == 1 else None
        except Exception as error:  # whatever JAX cannot do with a kind of program
            _log.debug("not kept: %s: %s", name, error)
            return compiled, None
        own_cache.save(folder, name, body)
        if self._devices == 1:  # empty where only JAX can run it
            own_cache.save(folder, name + _DIRECT, direct or b"")
        _log.debug("kept %s", name)
        return compiled, None


def _in_x64(call: Callable[..., Any]) -> Callable[..., Any]:
    def wide(*arguments: Any) -> Any:
        with jax.enable_x64(True):
            config: Any = jax.config
            if config.jax_disable_jit:  # then nothing else brings them to JAX
                arguments = jax.tree.map(jax.numpy.asarray, arguments)
            return call(*arguments)

    return wide


def _outside(program: Any) -> str:
    """Describe what the text of a program lacks: it has only arguments that are used.

    So two programs may have one text, and take another argument each. Of results it
    does not say whether their type is weak.
    """
    from jax.interpreters.partial_eval import dce_jaxpr

    every = [True] * len(program.out_avals)
    used = dce_jaxpr(program.jaxpr, every)[1]
    return repr((used, program.out_avals))


def calls_libraries(text: str) -> bool:
    """Say whether a program calls functions outside of its own machine code.

    JAX prepares them, such as those of LAPACK, when it lowers a program. A process that
    loads one has not, and would jump to no function at all.
    """
    return bool({*_CALLED.findall(text)} - _OF_COMPILER)


def _found(folder: Path, key: str, arguments: tuple, alone: bool) -> _Made | None:
    """Load a program and run it; None if there is none, or it is damaged, or fails.

    Args:
        folder: of programs.
        key: of the program.
        arguments: for which it is run.
        alone: whether a program counts only if `runtime.direct` can load it, too.
    """
    name = (own_cache.load(folder, key) or b"").decode()
    body = own_cache.load(folder, name) if name else None
    if body is None or (alone and not own_cache.has(folder, name + _DIRECT)):
        return None
    try:
        made = _unpickled(body)
        if made.in_tree != trees.flatten((arguments, {}))[1]:
            return None
        # What was kept may lack functions, which shows when it runs.
        result = jax.block_until_ready(made(*arguments))
    except Exception as error:  # whatever a library says: JAX compiles it again
        _log.debug("not loaded: %s: %s", name, error)
        return None
    _log.debug("loaded %s", name)
    return made, result


def _found_alone(folder: Path, key: str, arguments: tuple) -> _Made | None:
    """Do what `_found` does, without JAX."""
    name = (own_cache.load(folder, key) or b"").decode()
    body = own_cache.load(folder, name + _DIRECT) if name else None
    if not body:
        return None
    try:
        made = Direct(body)
        result = made(*arguments)
    except Exception as error:  # as above
        _log.debug("not loaded without JAX: %s: %s", name, error)
        return None
    _log.debug("loaded without JAX: %s", name)
    return made, result


def _unpickled(body: bytes) -> Any:
    """Load a program from bytes that were checked, and are this user's own."""
    from jax.experimental.serialize_executable import deserialize_and_load

    return deserialize_and_load(*pickle.loads(body))


@contextmanager
def _afresh() -> Iterator[None]:
    """Let JAX compile by itself: what it finds in its cache cannot be kept again.

    A program that was loaded and is serialised lacks functions when it runs.
    """
    from jax.experimental.compilation_cache import compilation_cache

    config: Any = jax.config
    with _compiling:
        before = config.jax_enable_compilation_cache
        config.update("jax_enable_compilation_cache", False)
        compilation_cache.reset_cache()  # it looked at the setting before
        try:
            yield
        finally:
            config.update("jax_enable_compilation_cache", before)
            compilation_cache.reset_cache()


def _signature(arguments: tuple) -> Hashable:
    """Tell arguments apart that need other programs, quickly: at every call."""
    leaves, tree = trees.flatten(arguments)
    kinds = [(x.shape, x.dtype) if type(x) is np.ndarray else _kind(x) for x in leaves]
    config: Any = None if without_jax() else jax.config
    return tree, config and config.jax_default_device, *kinds


def _kind(x: Any) -> Hashable:
    if _is_of_jax(x):
        return x.shape, x.dtype, x.sharding, x.committed, x.aval.weak_type
    return (x.shape, x.dtype) if isinstance(x, np.generic) else type(x)


def _is_of_jax(x: Any) -> bool:
    """Say whether a value is an array of JAX, and not what stands for one in traces."""
    if without_jax():
        return False
    from jax.core import Tracer

    return isinstance(x, jax.Array) and not isinstance(x, Tracer)


def _described(arguments: tuple) -> str:
    """Describe arguments, as far as a program depends on them.

    Raises:
        ForeignError: one is no array, or is not spread over all devices.
    """
    leaves, tree = trees.flatten(arguments)
    return "\n".join([str(tree), *map(_described_array, leaves)])


def _described_array(x: Any) -> str:
    if isinstance(x, np.ndarray | np.generic):
        return f"{x.dtype.str} {x.shape}"
    if not _is_of_jax(x):
        raise ForeignError(f"an argument of type {type(x).__name__}")
    parts = x.sharding.devices_indices_map(x.shape)
    if len(parts) != jax.device_count():
        raise ForeignError("an argument that is not on all devices")
    where = {device.id: part for device, part in parts.items()}
    return f"{x.dtype.str} {x.shape} {x.aval.weak_type} {x.committed} {where}"


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
