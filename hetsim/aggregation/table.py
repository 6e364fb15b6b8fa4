"""The aggregation policies that have a name."""

from collections.abc import Mapping
from typing import Final

from hetsim.aggregation.byteps import byteps
from hetsim.aggregation.halving_doubling import halving_doubling
from hetsim.aggregation.hierarchical import hierarchical
from hetsim.aggregation.parameter_server import parameter_server
from hetsim.aggregation.ring import ring
from hetsim.aggregation.tree import tree
from hetsim.contracts import Aggregator

POLICIES: Final[Mapping[str, Aggregator]] = {
    "parameter-server": Aggregator(function=parameter_server, needs_servers=True),
    "ring": Aggregator(function=ring, needs_servers=False),
    "tree": Aggregator(function=tree, needs_servers=False),
    "halving-doubling": Aggregator(function=halving_doubling, needs_servers=False),
    "hierarchical": Aggregator(function=hierarchical, needs_servers=False),
    "byteps": Aggregator(function=byteps, needs_servers=True, sharding="even"),
}
"""A new policy is a file in this folder and a line here."""
