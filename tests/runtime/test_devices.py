"""Devices and programs: x64 around their calls alone, one line where none is there."""

import os
import subprocess
import sys

import jax
import numpy as np

from pgcjax.datasets.files import demo_folder
from pgcjax.runtime.programs import Program


def test_a_program_computes_in_64_bits_and_leaves_the_mode_alone():
    program = Program(lambda x: x * 3)
    given = np.array([2**40, 1 / 3])
    assert program(given).dtype == np.float64
    np.testing.assert_array_equal(np.asarray(program(given)), given * 3)
    with jax.disable_jit():
        np.testing.assert_array_equal(np.asarray(program(given)), given * 3)
    assert "f64" in program.lower(given).as_text()
    assert not jax.config.jax_enable_x64


def test_platforms_that_are_not_here_are_said_in_one_line(tmp_path):
    demo = demo_folder()
    given = ["--qrels", str(demo / "qrels.txt"), str(demo / "runs/oak.txt")]
    for call in (["evaluate", *given], ["devices"]):
        done = subprocess.run(
            [sys.executable, "-m", "pgcjax", *call],
            env={**os.environ, "JAX_PLATFORMS": "nonsense"},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.splitlines()[-1].startswith(
            "pgcjax: error: JAX finds no device of JAX_PLATFORMS=nonsense, set by the "
            "environment or the program: unset it, or name one that is here"
        )
        assert "Traceback" not in done.stderr
