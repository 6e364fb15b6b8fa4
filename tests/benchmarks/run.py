"""Time hetsim against its peers, each pair in the same run: ``python tests/benchmarks/run.py [--only NAME] --json``.

The output is one object, name -> {ours_s, peer_s, ratio, unit, note}; the ratio says how many times faster than its
peer ours is. Medians of several repetitions, taken in turn.
"""

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

BENCHMARKS: Final = {
    "kernel": "executors:kernel_against_engine",
    "engine": "executors:engine_against_loop",
    "ring-128": "simgrid:ring_against_simgrid",
    "two-level-512": "simgrid:two_level_against_simgrid",
    "maxmin-solve": "maxmin:solve_against_scan",
    "maxmin-drain": "maxmin:drain_against_simgrid",
    "maxmin-incremental": "maxmin:incremental",
    "composite-ring-4096": "executors:composite_ring",
    "recurrence": "recurrence:recurrence_against_events",
    "ready-draws": "recurrence:ready_draws_against_memory",
    "netem": "packets:packets_against_heap",
    "help": "startup:help_text",
    "check": "startup:check",
    "second-run": "startup:second_run",
}
"""A new benchmark is a function in a module of this folder and a line here."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for and write the figures."""
    parser = argparse.ArgumentParser(description="Time hetsim against its peers.")
    parser.add_argument("--only", action="append", choices=BENCHMARKS, metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--json", action="store_true", help="one JSON object, and not lines for people")
    options = parser.parse_args(arguments)
    # `clusters` is beside this folder.
    sys.path.insert(0, str(Path(__file__).parents[1]))
    figures = {name: measure(name) for name in options.only or BENCHMARKS}
    if options.json:
        sys.stdout.write(json.dumps(figures, indent=2) + "\n")
    else:
        sys.stdout.writelines(f"{name:20} {_ratio(figure)}  {figure['note']}\n" for name, figure in figures.items())
    return 0


def measure(name: str) -> dict[str, object]:
    """Return the figure of one benchmark."""
    module, _, function = BENCHMARKS[name].partition(":")
    figure: dict[str, object] = getattr(importlib.import_module(module), function)().to_dict()
    return figure


def _ratio(figure: dict[str, object]) -> str:
    ratio = figure["ratio"]
    return f"{ratio:10.3g} x" if isinstance(ratio, float) else "     no peer"


if __name__ == "__main__":
    sys.exit(main())
