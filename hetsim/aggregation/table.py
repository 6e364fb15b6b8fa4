"""The aggregation policies that have a name."""

from collections.abc import Mapping
from typing import Final

from hetsim.aggregation.parameter_server import parameter_server
from hetsim.aggregation.ring import ring
from hetsim.contracts import Aggregator

POLICIES: Final[Mapping[str, Aggregator]] = {
    "parameter-server": Aggregator(function=parameter_server, needs_servers=True),
    "ring": Aggregator(function=ring, needs_servers=False),
}
"""A new policy is a file in this folder and a line here."""
