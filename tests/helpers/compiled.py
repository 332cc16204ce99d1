"""What tests compile with: where JAX keeps programs, and which compilers it has."""

import os
import platform
import shutil
import sys
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import pytest

_MOST = 2**30  # bytes; one version of the tests fills some 100 MB


def keep_compiled() -> None:
    """Let all processes of this environment share a folder of compiled programs.

    It is set before JAX is imported, and inherited by the processes of tests. JAX
    finds a program by its text alone: each kind of processor has a folder of its own,
    as it may lack an instruction of another. PGCJAX_TEST_CACHE names another place.
    """
    place = os.environ.get("PGCJAX_TEST_CACHE", f"{sys.prefix}/compiled-by-tests")
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(Path(place, _processor()))
    os.environ["PGCJAX_CACHE_DIR"] = ""  # optimal orders are searched for
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"


def forget_old_programs() -> None:
    """Empty the folder when programs of earlier versions have filled it."""
    folder = Path(os.environ["JAX_COMPILATION_CACHE_DIR"])
    if sum(file.stat().st_size for file in folder.glob("*")) > _MOST:
        shutil.rmtree(folder, ignore_errors=True)


def _processor() -> str:
    """Name what programs may use of this processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    flags = [line for line in lines if line.startswith(("flags", "Features"))][:1]
    named = [platform.machine(), platform.processor(), *flags]
    return sha256("\n".join(named).encode()).hexdigest()[:12]


def mosaic(*, interpreted: bool = False) -> ModuleType:
    """Return Mosaic GPU, or skip: JAX 0.10 needs absl, and has no interpreter of it."""
    import jax

    from pgcjax.engine.peel_programs import PROGRAMS

    [least] = [program.version for program in PROGRAMS if program.name == "mosaic"]
    if jax.__version_info__ < least:
        pytest.skip(f"JAX {jax.__version__} has an older Mosaic GPU")
    name = "jax.experimental.pallas.mosaic_gpu"
    module = pytest.importorskip(name, reason="Mosaic GPU needs absl-py")
    if interpreted and not hasattr(module, "InterpretGPUParams"):
        pytest.skip(f"JAX {jax.__version__} has no public interpreter of GPUs")
    return module
