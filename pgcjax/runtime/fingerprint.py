"""Fingerprints of functions: equal only if they compute the same of the same arrays.

A fingerprint is of what is in memory: of code, of the values that a function closes
over, and of all that it refers to in files of pgcjax, other functions included. What a
method computes that is called on an object by name alone is missing from it, and so it
is a part of the key of `runtime.programs`, beside the text of the files.
"""

import functools
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from pgcjax.later import Later


def _folder(package: str) -> str:
    """Name the folder of a package, which may not be imported; of none, no path's."""
    try:
        spec = find_spec(package)
    except ValueError:  # `benchmarks.gpu` has put something in its place
        spec = None
    return str(Path(spec.origin).parent) + os.sep if spec and spec.origin else "\0"


PACKAGE = Path(__file__).parents[1]
_OURS = str(PACKAGE) + os.sep
_THEIRS = _folder("jax")  # such as what `jax.vmap` returns
_CHECKS = _folder("jaxtyping")  # what tests wrap ours in; benchmarks.gpu does without
_LIBRARIES = {"jax", "jaxlib", "numpy", "builtins", "functools", "math", "_operator"}
_TYPING = {"typing", "collections", "jaxtyping"}  # of them programs use types alone
_PLAIN = (type(None), type(...), bool, int, float, complex, str, bytes)
_RUNTIME = __name__.rpartition(".")[0]
_CACHED = type(functools.cache(len))
_NOT_RUN = ("__doc__", "__module__", "__orig_bases__")


class ForeignError(Exception):
    """A function is not of pgcjax, or a value is of a kind that has no fingerprint."""


def fingerprint(value: Any) -> str:
    """Compute the SHA-256 of a function or value, by what it is and not where.

    Args:
        value: a function of pgcjax, or data: numbers, text, tuples, lists, dicts, sets,
            arrays, data classes, and functions in them.

    Raises:
        ForeignError: a part is of other origin, such as a user's measure, or an object
            that is not known by its content.
    """
    walk = _Walk()
    walk.add(value)
    return walk.digest.hexdigest()


class _Walk:
    """Goes through a value, and what it refers to, in an order of its own content."""

    def __init__(self):
        self.digest = sha256()
        self._numbers: dict[int, int] = {}  # of functions, classes and objects
        self._alive: list[Any] = []  # so that no other object has their id
        self._of_files = False  # whether what is added is a constant of a file

    def add(self, value: Any) -> None:
        """Add a value of any kind."""
        kind = type(value)
        if kind in _PLAIN:
            self._say(kind.__name__, repr(value))  # of floats it is exact
        elif kind in (tuple, list):
            self._items(kind.__name__, value)
        elif kind is dict:
            self._items("dict", [part for item in value.items() for part in item])
        elif kind in (set, frozenset):
            self._items(kind.__name__, sorted(map(fingerprint, value)))
        elif isinstance(value, np.ndarray | np.generic):
            self._array(np.asarray(value))
        elif isinstance(value, np.dtype) and value.isbuiltin:
            self._say("dtype", value.str)
        elif isinstance(value, CodeType):
            self._code(value)
        elif isinstance(value, ModuleType):
            self._say("module", value.__name__)
        elif isinstance(value, Later):  # as if it was imported
            self._say("module", value.module)
        elif kind is object:  # it stands for what is not given, and has no content
            self._say("object", "")
        elif id(value) in self._numbers:
            self._say("again", str(self._numbers[id(value)]))
        else:
            self._numbers[id(value)] = len(self._alive)
            self._alive.append(value)
            self._object(value)

    def _object(self, value: Any) -> None:
        if isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, functools.partial):
            self._items("partial", [value.func, value.args, value.keywords])
        elif isinstance(value, MethodType):
            self._items("method", [value.__func__, value.__self__])
        elif isinstance(value, _CACHED):
            self._items("cached", [value.__wrapped__])
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, tuple):  # a NamedTuple
            self._items("named", [type(value), *value])
        elif is_dataclass(value):
            names = [field.name for field in fields(value)]
            parts = [getattr(value, name) for name in names]
            self._items("data", [type(value), *names, *parts])
        else:
            self._named(value)

    def _say(self, kind: str, text: str | bytes) -> None:
        """Add a piece with its length, so that no other pieces look the same."""
        data = text.encode(errors="surrogatepass") if isinstance(text, str) else text
        self.digest.update(f"{kind} {len(data)}:".encode() + data)

    def _items(self, kind: str, items: Iterable[Any]) -> None:
        items = list(items)
        self._say(kind, str(len(items)))
        for item in items:
            self.add(item)

    def _array(self, array: np.ndarray) -> None:
        if array.dtype.hasobject:
            raise ForeignError("an array of objects")
        self._say("array", f"{array.dtype.str} {array.shape}")
        self._say("bytes", array.tobytes())

    def _code(self, code: CodeType) -> None:
        self._say("code", code.co_code)
        numbers = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
        names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
        self._items("of", [*numbers, code.co_flags, *names, code.co_exceptiontable])
        self._items("constants", code.co_consts)

    def _function(self, function: FunctionType) -> None:
        code = function.__code__
        if code.co_filename.startswith(_CHECKS):
            self._items("checked", [vars(function)["__wrapped__"]])
            return
        ours = code.co_filename.startswith(_OURS)
        if not ours and not code.co_filename.startswith(_THEIRS):
            raise ForeignError(f"{function.__qualname__} of {code.co_filename}")
        self._say("function", function.__name__)
        self._code(code)
        before, self._of_files = self._of_files, False
        self._items("defaults", [function.__defaults__, function.__kwdefaults__])
        cells = function.__closure__ or ()
        try:
            self._items("closure", [cell.cell_contents for cell in cells])
        except ValueError:  # a cell that is not filled yet
            raise ForeignError(function.__qualname__) from None
        # Of libraries the version is enough. What runtime computes is no part of
        # programs, and its files are in the key.
        if ours and function.__module__.rpartition(".")[0] != _RUNTIME:
            self._of_files = True
            self._referred(function.__globals__, _names(code), set())
        self._of_files = before

    def _referred(
        self, scope: Mapping[str, Any], names: list[str], inside: set[str]
    ) -> None:
        """Add what names mean in a module, and in modules of pgcjax that they name."""
        for name in names:
            value = sys.modules.get(name) if "." in name else scope.get(name)
            if name not in scope and value is None:
                continue  # of Python, of an object, or not imported yet
            self._say("name", name)
            self.add(value)
            module = value.__name__ if isinstance(value, ModuleType) else ""
            if module.partition(".")[0] == PACKAGE.name and module not in inside:
                self._referred(vars(value), names, inside | {module})

    def _class(self, kind: type) -> None:
        self._say("class", f"{kind.__module__} {kind.__qualname__}")
        if kind.__module__.partition(".")[0] != PACKAGE.name:
            self._named(kind)
            return
        self._items("bases", kind.__bases__)
        for name, value in sorted(vars(kind).items()):
            for one in _functions_of(value):
                if one.__code__.co_filename.startswith(_OURS):
                    self._say("attribute", name)
                    self.add(one)
            if type(value) in (*_PLAIN, tuple) and name not in _NOT_RUN:
                self._say("attribute", name)
                self.add(value)

    def _named(self, value: Any) -> None:
        """Add what a library has under a name; its version is in the key."""
        module = getattr(value, "__module__", None) or ""
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
        top = module.partition(".")[0]
        if isinstance(value, np.ufunc):
            module, name, top = "numpy", value.__name__, "numpy"
        found: Any = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        known = found is value or isinstance(value, type)  # types may have moved
        if self._of_files and not callable(value):
            module, name = type(value).__module__, type(value).__qualname__
        elif top not in _LIBRARIES | _TYPING or not known:
            raise ForeignError(f"{type(value).__qualname__}: {module} {name}")
        self._say("library", f"{module} {name}")


def _names(code: CodeType) -> list[str]:
    """List the names that code and the functions in it refer to."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names.update(_names(constant))
    return sorted(names)


def _functions_of(value: Any) -> list[FunctionType]:
    """List the functions behind an attribute of a class."""
    ways: list[Callable[..., Any] | None] = [value]
    if isinstance(value, property):
        ways = [value.fget]
    elif isinstance(value, staticmethod | classmethod):
        ways = [value.__func__]
    elif isinstance(value, functools.cached_property):
        ways = [value.func]
    return [way for way in ways if isinstance(way, FunctionType)]
