"""What programs depend on beside their text: the machine, versions, settings of JAX.

To import JAX takes as long as all else that a small command does. What JAX says of
itself, once it is imported and before anything is changed, is therefore kept on disk.
A later process in equal surroundings reads it there, and can do without JAX.
"""

import os
import platform
import sys
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib.metadata import entry_points
from importlib.util import find_spec
from json import dumps, loads
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from jaxlib.version import __version__ as jaxlib_version

from pgcjax.errors import UsageError
from pgcjax.later import jax, once_imported
from pgcjax.runtime import own_cache

Found = TypeVar("Found")

ABLE = ("0.10.2",)
"""Versions of jaxlib whose programs `runtime.direct` runs; others need JAX."""

# They change where programs are kept and what is said of them, and no program.
_SILENT = (
    *("jax_compilation_cache", "jax_enable_compilation_cache", "jax_persistent_cache"),
    *("jax_log", "jax_debug_log", "jax_explain", "jax_pprint", "jax_traceback"),
)
_PLUGINS = ("jax_plugins", "libtpu")
_PACKAGES = (".dist-info", ".egg-info", ".egg-link", ".pth", ".egg")
_imported: list[str] = []  # settings of JAX as they were when pgcjax imported it


class Said(NamedTuple):
    """What JAX says of a process that changed none of its settings.

    Attributes:
        device: kind of the one device, and version of its platform.
        settings: see `settings`.
    """

    device: tuple[str, str]
    settings: str


def without_jax() -> Said | None:
    """Tell what JAX would say of this process.

    Returns:
        None if JAX is imported, or nothing was kept for such a process.
    """
    return None if "jax" in sys.modules else _kept(own_cache.place())


def local_device_count() -> int:
    """Count the devices of this process, as `jax.local_device_count`."""
    return 1 if without_jax() else _asked(jax.local_device_count)


def default_backend() -> str:
    """Name the platform that programs run on, as `jax.default_backend`."""
    return "cpu" if without_jax() else _asked(jax.default_backend)


def _asked(of_devices: Callable[[], Found]) -> Found:
    """Ask JAX for devices.

    Raises:
        UsageError: there are none of the platforms that its setting names.
    """
    try:
        return of_devices()
    except (RuntimeError, AssertionError) as error:
        config: Any = jax.config
        if not config.jax_platforms:
            raise
        why = f": {error}" if str(error) else ""
        raise UsageError(
            f"JAX finds no device of JAX_PLATFORMS={config.jax_platforms}, set by the "
            f"environment or the program: unset it, or name one that is here{why}"
        ) from None


def machine() -> str:
    """Describe machine and libraries, by a digest."""
    if said := without_jax():
        return digest(*_machine(), *said.device, "1")
    return digest(*_machine(), *_device(), str(jax.device_count()))


def settings() -> str:
    """Describe the settings of JAX and of its compiler, as they are now."""
    flags = sorted(item for item in os.environ.items() if item[0].startswith("XLA_"))
    said = without_jax()
    return repr((flags, said.settings if said else _set()))


def keep() -> bool:
    """Keep what JAX says of this process, if a process can do without JAX.

    It can if programs run on one CPU, no plugin brings other devices, and nothing has
    changed JAX's settings since pgcjax imported it.
    """
    place, now = own_cache.place(), _set()  # which imports JAX
    if not place or {*_imported} != {now} or not _is_plain():
        return False
    _keep(place, dumps(Said(_device(), now)))
    return True


def digest(*parts: str) -> str:
    """Compute the SHA-256 of texts, one after another."""
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return sha256(joined.encode(errors="surrogateescape")).hexdigest()


@cache
def _kept(place: str) -> Said | None:
    folder = own_cache.own_folder(place) if place else None
    data = own_cache.load(folder, _name()) if folder else None
    if data is None or jaxlib_version not in ABLE:
        return None
    (kind, version), text = loads(data)
    return Said((kind, version), text)


@cache
def _keep(place: str, said: str) -> None:
    folder, name = own_cache.own_folder(place), _name()
    if folder and own_cache.load(folder, name) != said.encode():
        own_cache.save(folder, name, said.encode())


def _name() -> str:
    """Name a process by all that JAX looks at when it is imported and finds devices."""
    given = {
        key: value
        for key, value in os.environ.items()
        if key.startswith(("JAX_", "XLA_", "PJRT_"))
        and not key.lower().startswith(_SILENT)
    }
    return digest("said", *_machine(), repr(sorted(given.items())), repr(_packages()))


def _packages() -> list[tuple[str, list[str]]]:
    """List what is installed: a new package may be a plugin with other devices."""
    out = []
    for place in sys.path:
        try:
            names = sorted(os.listdir(place or "."))
        except OSError:
            names = []
        names = [n for n in names if n in _PLUGINS or n.endswith(_PACKAGES)]
        # Folders of scripts and of the user's work come and go: they install nothing.
        if names:
            out.append((place, names))
    return out


def _is_plain() -> bool:
    alone = jax.default_backend() == "cpu" and jax.device_count() == 1
    plugins = any(map(find_spec, _PLUGINS)) or entry_points(group="jax_plugins")
    return alone and not plugins and jaxlib_version in ABLE


def _device() -> tuple[str, str]:
    device = jax.devices()[0]
    return device.device_kind, device.client.platform_version


def _set() -> str:
    config: Any = jax.config  # its settings are no attributes that types know
    values = config.values.items()
    return repr(sorted((k, repr(v)) for k, v in values if not k.startswith(_SILENT)))


once_imported("jax", lambda: _imported.append(_set()))


@cache
def _machine() -> tuple[str, ...]:
    """Describe machine and libraries, but for devices."""
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    # Where processors do not list their instructions, every machine is another one.
    may_use = [line for line in lines if line.startswith(("flags", "Features"))][:1]
    may_use = may_use or [platform.node()]
    spec = find_spec("jax")  # which imports nothing
    version = (
        Path(spec.origin).with_name("version.py") if spec and spec.origin else None
    )
    jax_version = version.read_text() if version and version.exists() else ""
    return (
        *(jax_version, jaxlib_version, np.__version__, sys.version),
        *(platform.machine(), platform.processor(), *may_use),
        str(len(cores) or os.cpu_count()),
    )
