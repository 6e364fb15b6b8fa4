"""The kernels as plain Python: what numba compiles is also right as it is written."""

import os
import subprocess
import sys
from pathlib import Path


def test_kernels_are_right_without_compilation() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(Path(__file__).parent)]
    # Philox wraps around by design; numpy scalars warn of it where compiled code does not.
    command += [
        "-W",
        "ignore:overflow encountered:RuntimeWarning",
        "-k",
        "philox or quantile or rates or forward or capacity or popped or order or slots or parking",
    ]
    command += ["--deselect", "tests/kernels/test_fluid.py::test_kernels_are_compiled"]
    done = subprocess.run(
        command, env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
