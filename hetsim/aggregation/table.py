"""The aggregation policies that have a name."""

from collections.abc import Mapping
from typing import Final

from hetsim.aggregation.ashl import ashl
from hetsim.aggregation.byteps import byteps
from hetsim.aggregation.esync import esync
from hetsim.aggregation.gossip import gossip
from hetsim.aggregation.grouped_ssp import grouped_ssp
from hetsim.aggregation.halving_doubling import halving_doubling
from hetsim.aggregation.hierarchical import hierarchical, needs_servers
from hetsim.aggregation.parameter_server import parameter_server
from hetsim.aggregation.partial import partial
from hetsim.aggregation.ring import ring
from hetsim.aggregation.tree import tree
from hetsim.contracts import Aggregator

POLICIES: Final[Mapping[str, Aggregator]] = {
    "parameter-server": Aggregator(function=parameter_server, needs_servers=True),
    "ring": Aggregator(function=ring, needs_servers=False),
    "tree": Aggregator(function=tree, needs_servers=False),
    "halving-doubling": Aggregator(function=halving_doubling, needs_servers=False),
    "hierarchical": Aggregator(function=hierarchical, needs_servers=needs_servers),
    "byteps": Aggregator(function=byteps, needs_servers=True, sharding="even"),
    "partial": Aggregator(function=partial, needs_servers=False),
    "gossip": Aggregator(function=gossip, needs_servers=False),
    "grouped-ssp": Aggregator(function=grouped_ssp, needs_servers=True),
    "ashl": Aggregator(function=ashl, needs_servers=True),
    "esync": Aggregator(function=esync, needs_servers=True),
}
"""A new policy is a file in this folder and a line here."""
