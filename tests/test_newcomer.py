"""The four tasks of a newcomer, each done in one folder of a copy of the package and used from the command line."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).parent.parent / "hetsim"

SCENARIO = """
name: newcomer
seed: 1
cluster:
  hosts:
    - name: busy
      count: 2
      devices: [{type: V100}]
      cpu: {type: Xeon-E5-2686v4, cores: 16}
      memory: 64 GiB
      nic: 10 Gbit/s
      background: {gpu: 0.5}
    - name: idle
      count: 2
      devices: [{type: V100}]
      cpu: {type: Xeon-E5-2686v4, cores: 16}
      memory: 64 GiB
      nic: 10 Gbit/s
  topology: {kind: star, latency: 25 us}
jobs:
  - name: train
    compute: 10 ms
    gradient: [1 MB, 1 MB]
    workers: 2
    servers: 2
    steps: 3
    placement: {policy: default-tensorflow}
    aggregation: {policy: parameter-server}
"""

PLACEMENT = '''"""The cluster spec from its end."""

from hetsim.contracts import PlacementView
from hetsim.model.placement import Placement


def last_first(view: PlacementView, *, skip: int = 0) -> Placement:
    """Take the last devices and hosts of the cluster spec.

    Parameters
    ----------
    view : PlacementView
        What may be seen.
    skip : int
        Devices left alone at the end.

    Returns
    -------
    Placement
        In reverse order of the spec.
    """
    free = [slot.device for slot in reversed(view.slots) if not slot.taken]
    hosts = [host.name for host in reversed(view.hosts)]
    return Placement(tuple(free[skip : skip + view.job.n_workers]), tuple(hosts[: view.job.n_servers]))
'''

AGGREGATION = '''"""All parameters on one server."""

from hetsim.contracts import AggregationView
from hetsim.model.aggregation import Group, Rank


def one_server(view: AggregationView) -> Group:
    """Keep all parameters on the first of the job's servers.

    Parameters
    ----------
    view : AggregationView
        What may be seen.

    Returns
    -------
    Group
        All ranks in one group.
    """
    ranks = tuple(Rank(index) for index in range(len(view.ranks)))
    return Group(members=ranks, architecture="parameter-server", servers=view.servers[:1])
'''

METRIC = '''"""The longest step."""

from hetsim.model.result import JobRun


def step_time_max_s(run: JobRun) -> float:
    """Return the time between the ends of consecutive steps of rank 0, at most.

    Parameters
    ----------
    run : JobRun
        What was recorded.

    Returns
    -------
    float
        Seconds.
    """
    ends = [0, *run.trace.step_end[:, 0].tolist()]
    return max(later - earlier for earlier, later in zip(ends, ends[1:], strict=False)) / 1e12
'''


@dataclass(frozen=True)
class Newcomer:
    """A copy of the package in a folder of its own, and a scenario beside it."""

    folder: Path
    before: dict[str, bytes]

    def write(self, path: str, text: str) -> None:
        (self.folder / "hetsim" / path).write_text(text, "utf-8")

    def list_in_table(self, path: str, import_line: str, entry: str) -> None:
        """Add an import above the first one of the folder, and a line at the top of the literal table."""
        table = self.folder / "hetsim" / path
        text = table.read_text("utf-8")
        marker = f"from hetsim.{path.partition('/')[0]}."
        assert text.count("] = {\n") == 1
        text = text.replace(marker, f"{import_line}\n{marker}", 1).replace("] = {\n", f"] = {{\n    {entry}\n")
        table.write_text(text, "utf-8")

    def hetsim(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "hetsim", *arguments],
            cwd=self.folder,
            env={
                **os.environ,
                "PYTHONPATH": str(self.folder),
                "PYTHONDONTWRITEBYTECODE": "1",
                "NUMBA_DISABLE_JIT": "1",  # compiling for every copy takes longer than these few steps
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def compare(self, *arguments: str) -> list[dict[str, Any]]:
        rows = json.loads(self.hetsim("compare", "scenario.yaml", "--json", "--no-save", *arguments))["rows"]
        assert isinstance(rows, list)
        return rows

    def changed(self) -> set[str]:
        after = contents(self.folder / "hetsim")
        return {name for name in self.before.keys() | after.keys() if self.before.get(name) != after.get(name)}


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture
def newcomer(tmp_path: Path) -> Newcomer:
    shutil.copytree(PACKAGE, tmp_path / "hetsim", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "scenario.yaml").write_text(SCENARIO, "utf-8")
    return Newcomer(tmp_path, contents(tmp_path / "hetsim"))


def test_add_a_device(newcomer: Newcomer) -> None:
    csv = newcomer.folder / "hetsim/catalog/devices.csv"
    header = csv.read_text("utf-8").partition("\n")[0].split(",")
    row = {
        "name": "Tortoise",
        "kind": "gpu",
        "peak_fp32_flop_per_s": "1e12",
        "memory_bytes": "8589934592",
        "memory_bytes_per_s": "100e9",
        "dies_per_card": "1",
        "card_capacity_devices": "1.0",
        "n_cores": "0",
        "description": "A slow one",
        "source": "made up for a test",
    }
    newcomer.write("catalog/devices.csv", csv.read_text("utf-8") + ",".join(row[column] for column in header) + "\n")
    assert "Tortoise" in newcomer.hetsim("list", "devices")
    model = ["--set", "jobs[train]={name: train, model: lenet5, dataset: mnist, batch: 64, workers: 2, steps: 3,"]
    model[-1] += " placement: {policy: default-tensorflow}, aggregation: {policy: parameter-server}}"
    axis = ["--axis", "cluster.hosts[busy].devices[0].type=V100,Tortoise"]
    fast, slow = newcomer.compare(*model, *axis)
    assert slow["mean"] > fast["mean"]
    assert newcomer.changed() == {"catalog/devices.csv"}


def test_add_a_placement_policy(newcomer: Newcomer) -> None:
    newcomer.write("placement/last_first.py", PLACEMENT)
    newcomer.list_in_table(
        "placement/table.py", "from hetsim.placement.last_first import last_first", '"last-first": last_first,'
    )
    assert "Take the last devices" in newcomer.hetsim("list", "placements")
    axis = ["--axis", "jobs[train].placement.policy=default-tensorflow,last-first"]
    default, last = newcomer.compare(*axis)
    assert last["mean"] < default["mean"]
    (skipping,) = newcomer.compare("--axis", "jobs[train].placement={policy: last-first, skip: 2}")
    assert skipping["mean"] == pytest.approx(default["mean"], rel=0.2)
    assert newcomer.changed() == {"placement/last_first.py", "placement/table.py"}


def test_add_an_aggregation_policy(newcomer: Newcomer) -> None:
    newcomer.write("aggregation/one_server.py", AGGREGATION)
    newcomer.list_in_table(
        "aggregation/table.py",
        "from hetsim.aggregation.one_server import one_server",
        '"one-server": Aggregator(function=one_server, needs_servers=True),',
    )
    assert "Keep all parameters" in newcomer.hetsim("list", "aggregations")
    two, one = newcomer.compare("--axis", "jobs[train].aggregation.policy=parameter-server,one-server")
    assert one["mean"] > two["mean"]
    assert newcomer.changed() == {"aggregation/one_server.py", "aggregation/table.py"}


def test_add_a_metric(newcomer: Newcomer) -> None:
    newcomer.write("metrics/longest.py", METRIC)
    newcomer.list_in_table(
        "metrics/table.py",
        "from hetsim.metrics.longest import step_time_max_s",
        '"step_time_max_s": Metric(function=step_time_max_s, unit="s", better="lower"),',
    )
    assert "step_time_max_s" in newcomer.hetsim("list", "metrics")
    axis = ["--axis", "jobs[train].placement.policy=default-tensorflow,infrastructure-aware"]
    default, aware = newcomer.compare(*axis, "--metric", "step_time_max_s")
    # two workers of 10 ms, on devices with half of their time left, or on idle ones
    assert 0.02 < default["mean"] < 0.03
    assert 0.01 < aware["mean"] < 0.02
    assert newcomer.changed() == {"metrics/longest.py", "metrics/table.py"}
