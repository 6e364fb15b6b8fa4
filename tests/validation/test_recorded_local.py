"""Groups that average in every step, and with each other in every fourth one, over real TCP; nothing is fitted."""

import csv
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from validation.cases import Case, plan_for_tree, tree_of

from hetsim.engine.simulate import simulate
from hetsim.units import TICKS_PER_S

TABLE = Path(__file__).parent.parent / "data" / "training_local.csv"
PERIOD = 4


def rows() -> list[dict[str, str]]:
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def four_rounds_ms(row: Mapping[str, str], period: int) -> float:
    """From the end of the fourth step to that of the eighth, as in the recording."""
    numbers = {key: tuple(map(float, row[key].split())) for key in ("link_mbit", "uplink_mbit", "compute_ms")}
    case = Case(
        setting=row["setting"],
        scheme="two-level",
        groups=tuple(map(int, row["groups"].split())),
        server_mbit=float(row["server_mbit"]),
        gradient_bytes=int(row["gradient_bytes"]),
        round_s=0.0,
        **numbers,
    )
    tree = replace(tree_of(case), sync="local", period=period)
    (trace,) = simulate(plan_for_tree(case, tree, n_steps=3 * PERIOD), seed=0, replication=0).jobs
    ends = trace.step_end.max(axis=1)
    return float(ends[2 * PERIOD - 1] - ends[PERIOD - 1]) / TICKS_PER_S * 1e3


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["setting"])
def test_an_average_of_groups_in_every_fourth_step(row: Mapping[str, str]) -> None:
    measured = float(row["four_rounds_ms"])
    assert four_rounds_ms(row, PERIOD) == pytest.approx(measured, rel=0.03)
    # In every step it would take much longer.
    assert four_rounds_ms(row, 1) > 1.5 * measured


def test_the_table_has_what_was_recorded() -> None:
    assert np.all([len(row["compute_ms"].split()) == sum(map(int, row["groups"].split())) for row in rows()])
    assert len(rows()) == 3
