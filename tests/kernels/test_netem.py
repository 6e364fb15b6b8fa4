"""netem and tbf kernels: what they share with the kernel's arithmetic, and with their own plain Python."""

import json
import subprocess
import sys

import numpy as np
import pytest

from hetsim.kernels import netem, netem_state, tbf
from hetsim.kernels.jit import jit
from hetsim.network.qdisc import pass_through

SPECS = (
    "delay 50ms 10ms 25% loss 5% 25% duplicate 5% 30% corrupt 1% reorder 25% 50% gap 3",
    "delay 25ms 5ms distribution normal loss 1% rate 20mbit",
    "slot 5ms 15ms packets 5 limit 30",
    "loss state 5% 30% 20% 40% 2% slot distribution pareto 10ms 3ms bytes 5kb",
    "loss gemodel 1% 10% 70% 0.1% rate 1mbit -10 100 20 limit 50 ecn delay 1ms 5ms duplicate 20%",
    "delay 10ms 20ms distribution paretonormal reorder 50% duplicate 50% limit 20",
    "tbf rate 10mbit burst 10kb latency 50ms",
    "tbf rate 1mbit burst 10kb latency 50ms peakrate 2mbit mtu 1540 mpu 64 overhead 10 linklayer atm",
)

RUN = """
import json, sys
import numpy as np
from hetsim.network.qdisc import pass_through
send_ns = np.arange(120) ** 2 * 700
sizes = 60 + np.arange(120) * 7919 % 1455
answers = []
for spec in json.loads(sys.argv[1]):
    packets = pass_through(spec, send_ns, sizes, 3, can_be_marked=np.arange(120) % 2 == 0)
    answers.append([getattr(packets, name).tolist() for name in packets.__slots__])
print(json.dumps({"numba": "numba" in sys.modules, "answers": answers}))
"""


def test_plain_python_has_the_bits_of_the_compiled_kernel() -> None:
    command = [sys.executable, "-W", "error", "-c", RUN, json.dumps(SPECS)]
    plain = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert not plain["numba"]
    send_ns, sizes = np.arange(120) ** 2 * 700, 60 + np.arange(120) * 7919 % 1455
    for spec, answer in zip(SPECS, plain["answers"], strict=True):
        packets = pass_through(spec, send_ns, sizes, 3, can_be_marked=np.arange(120) % 2 == 0)
        assert [getattr(packets, name).tolist() for name in packets.__slots__] == answer, spec


@jit
def _spread(centre: int, scale: int, number: int, table: np.ndarray) -> int:
    return netem.spread(centre, scale, number, table)


@jit
def _packet_ns(parameters: np.ndarray, size: int) -> int:
    return netem.packet_ns(parameters, size)


@pytest.mark.parametrize("scale", [0, 1, 8191, 8192, 8193, 10_000_000, 2**31 - 1])
@pytest.mark.parametrize("number", [0, 1, 2, 4095, 2**31, 2**32 - 1])
def test_a_spread_is_scaled_in_integers_rounded_to_the_nearest(scale: int, number: int) -> None:
    table = np.array([-32768, -3, 0, 1, 12345, 32767])
    entry = int(table[number % 6])
    exact = 7 + scale * entry / 8192
    ours = _spread(7, scale, number, table)
    assert abs(ours - exact) <= 0.5 + 1e-6
    uniform = _spread(10**10, scale, number, np.zeros(0, dtype=np.int64))
    assert uniform == (10**10 if scale == 0 else 10**10 - scale + number % (2 * scale))


@pytest.mark.parametrize(
    ("size", "overhead", "cell", "cell_overhead", "n_bytes"),
    [
        (1000, 0, 0, 0, 1000),
        (1000, 20, 0, 0, 1020),
        (1000, -14, 0, 0, 986),
        (1000, 0, 100, 20, 1200),
        (1001, 0, 100, 20, 1320),
        (1000, 1, 48, 5, 21 * 53),
        (10, -50, 0, 0, 0),
    ],
)
def test_a_packet_occupies_its_bytes_or_cells(
    size: int, overhead: int, cell: int, cell_overhead: int, n_bytes: int
) -> None:
    parameters = np.zeros(netem_state.N_PARAMETERS, dtype=np.int64)
    parameters[netem_state.RATE], parameters[netem_state.OVERHEAD] = 125_000, overhead
    parameters[netem_state.CELL], parameters[netem_state.CELL_OVERHEAD] = cell, cell_overhead
    assert _packet_ns(parameters, size) == n_bytes * 8000


def test_tokens_come_at_the_rate_and_fill_the_bucket() -> None:
    # 1000 bytes a second, a bucket of 500: 500 go at once, the next 200 when they have come, and so on.
    parameters = np.zeros(tbf.N_PARAMETERS, dtype=np.int64)
    parameters[[tbf.RATE, tbf.BURST, tbf.LARGEST, tbf.LIMIT]] = 1000, 500, 500, 600
    send_ns = np.array([0, 0, 0, 0, 0, 5, 2], dtype=np.int64) * 10**9
    send_ns.sort()
    sizes = np.array([500, 200, 200, 200, 501, 400, 500])
    sent_ns = np.empty(7, dtype=np.int64)
    tbf.send(parameters, send_ns, sizes, sent_ns)
    # The fourth waits behind 400 bytes; the fifth is larger than the bucket; at 2 s it is full again.
    assert sent_ns.tolist() == [0, 200_000_000, 400_000_000, 600_000_000, -1, 2_000_000_000, 5_000_000_000]
