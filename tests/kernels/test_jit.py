"""Small runs do without numba, and give the same bytes as compiled ones."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

RUN = """
import json, sys
from hetsim import load, run
from hetsim.kernels import jit
if sys.argv[2] == "compiled":
    jit.compile_all()
result = run(load(sys.argv[1]))
print(json.dumps({"numba": "numba" in sys.modules, "result": result.to_dict()}))
"""


def answer(scenario: Path, mode: str) -> dict[str, Any]:
    command = [sys.executable, "-W", "error", "-c", RUN, str(scenario), mode]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def scenario(small: dict[str, Any], tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(small), "utf-8")
    return path


def test_a_small_run_does_not_import_numba_and_says_the_same(scenario: Path) -> None:
    plain, compiled = answer(scenario, "plain"), answer(scenario, "compiled")
    assert (plain["numba"], compiled["numba"]) == (False, True)
    assert plain["result"] == compiled["result"]


def test_a_process_that_goes_on_compiles_in_the_end(small: dict[str, Any], tmp_path: Path) -> None:
    small["jobs"][0]["steps"] = 2000
    path = tmp_path / "long.yaml"
    path.write_text(yaml.safe_dump(small), "utf-8")
    assert answer(path, "plain")["numba"]


DRAW = """
import numpy as np
from hetsim.kernels import draws, jit
jit.compile_all()
print(draws.uniforms(1, 2, 3, 4).tolist())
"""


@pytest.mark.slow
@pytest.mark.parametrize("content", [None, b"", b"garbage"])
def test_a_damaged_cache_costs_time_and_not_the_run(tmp_path: Path, content: bytes | None) -> None:
    def drawn() -> str:
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
        done = subprocess.run([sys.executable, "-c", DRAW], env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    first = drawn()
    files = [path for path in tmp_path.rglob("*") if path.suffix in {".nbi", ".nbc"}]
    assert files
    for path in files:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if content is None else content)
    assert drawn() == first
    assert drawn() == first
