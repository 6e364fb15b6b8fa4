"""The placement policies that have a name."""

from collections.abc import Mapping
from typing import Final

from hetsim.contracts import PlacementFunction
from hetsim.placement.default_tensorflow import default_tensorflow
from hetsim.placement.explicit import explicit
from hetsim.placement.infrastructure_aware import infrastructure_aware
from hetsim.placement.random import random
from hetsim.placement.round_robin import round_robin

POLICIES: Final[Mapping[str, PlacementFunction]] = {
    "default-tensorflow": default_tensorflow,
    "random": random,
    "round-robin": round_robin,
    "infrastructure-aware": infrastructure_aware,
    "explicit": explicit,
}
"""A new policy is a file in this folder and a line here."""
