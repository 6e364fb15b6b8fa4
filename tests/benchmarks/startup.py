"""How long a command takes before it does anything, and that nothing is compiled twice."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import Figure, interleaved, timed

from hetsim.scenario.load import shipped

N_REPETITIONS = 5
# Compiles, or loads, all that a small plan needs, and says how long the compiler was at work.
CHILD = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
import numba.core.event as event
from clusters import known_job, placed, plan_of, star
from hetsim.engine.compiled import CompiledPlan
job = known_job([0.1, 0.2], [4000], n_steps=3, jitter_cv=0.1)
plan = CompiledPlan(plan_of(star([1e9] * 2), placed(job, ["h0/gpu0", "h1/gpu0"], ["h0"])), events_only=True)
listener = event.RecordingListener()
start = time.perf_counter()
with event.install_listener("numba:compile", listener):
    end = plan.run(seed=0, replication=0).end
print(json.dumps({"s": time.perf_counter() - start, "n_compiled": len(listener.buffer) // 2, "end": end}))
"""


def help_text() -> Figure:
    """``hetsim --help`` against Python with click."""
    return _command(["--help"], "import click", "python -c 'import click'")


def check() -> Figure:
    """``hetsim check`` of a shipped scenario against Python with the libraries that parsing needs."""
    scenario = str(sorted(shipped())[0])
    code = "import click, numpy, pydantic, yaml"
    return _command(["check", scenario], code, f"python -c '{code}'")


def _command(arguments: list[str], code: str, peer: str) -> Figure:
    ours_s, peer_s = interleaved(
        lambda: timed(lambda: _python("-m", "hetsim", *arguments)),
        lambda: timed(lambda: _python("-c", code)),
        n_repetitions=N_REPETITIONS,
    )
    command = " ".join(["hetsim", *arguments])
    return Figure(ours_s=ours_s, peer_s=peer_s, unit="one command", note=f"{command} against {peer}")


def second_run() -> Figure:
    """The first run of the kernel with an empty cache, by two processes at once, and the second run."""
    with tempfile.TemporaryDirectory() as folder:
        first = [_start(folder) for _ in range(2)]
        cold = [_answer(process) for process in first]
        warm = [_answer(_start(folder)) for _ in range(3)]
    ends = {answer["end"] for answer in cold + warm}
    n_compiled = sum(answer["n_compiled"] for answer in warm)
    if len(ends) != 1 or n_compiled:
        raise AssertionError(f"a second run compiled {n_compiled} functions; ends {ends}")
    warm_s = sorted(answer["s"] for answer in warm)[1]
    note = (
        f"a run with the cache on disk against the first one, two processes at once: they compiled"
        f" {' and '.join(str(answer['n_compiled']) for answer in cold)} functions, the second run 0"
    )
    return Figure(ours_s=warm_s, peer_s=max(answer["s"] for answer in cold), unit="first call", note=note)


def _start(cache: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(Path(__file__).parents[1])],
        env=os.environ | {"NUMBA_CACHE_DIR": cache},
        stdout=subprocess.PIPE,
        text=True,
    )


def _answer(process: "subprocess.Popen[str]") -> dict[str, float]:
    output, _ = process.communicate()
    if process.returncode:
        raise AssertionError(f"exit code {process.returncode}")
    answer: dict[str, float] = json.loads(output)
    return answer


def _python(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
