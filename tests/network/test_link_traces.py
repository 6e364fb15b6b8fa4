"""Recordings of links, as the tools print them."""

import json
from pathlib import Path

import pytest

from hetsim.errors import TraceError
from hetsim.network.link_traces import read_iperf3, read_ping

PING = """PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.
64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=20.5 ms
64 bytes from 10.0.0.2: icmp_seq=2 ttl=64 time=20.5 ms
64 bytes from host-2 (10.0.0.2): icmp_seq=4 ttl=64 time=41 ms

--- 10.0.0.2 ping statistics ---
4 packets transmitted, 3 received, 25% packet loss, time 3004ms
rtt min/avg/max/mdev = 20.500/27.333/41.000/9.663 ms
"""

INTERVAL = '{"intervals": [{"sum": {"start": 0, "bits_per_second": %s}}]}'


def written(folder: Path, text: str) -> Path:
    path = folder / "recording"
    path.write_text(text, encoding="utf-8")
    return path


def test_answers_of_ping_are_a_second_apart(tmp_path: Path) -> None:
    assert read_ping(written(tmp_path, PING)) == [(0.0, 0.0205), (3.0, 0.041)]


def test_times_of_ping_are_taken(tmp_path: Path) -> None:
    lines = [f"[{1_700_000_000 + t:.6f}] 64 bytes from 10.0.0.2: icmp_seq={i} ttl=64 time={ms} ms" for i, t, ms in [
        (1, 0.25, 1.0), (2, 0.5, 2.0), (3, 0.75, 2.0),
    ]]  # fmt: skip
    assert read_ping(written(tmp_path, "\n".join(lines))) == [(0.0, 0.001), (0.25, 0.002)]


def test_intervals_of_iperf3(tmp_path: Path) -> None:
    content = {
        "intervals": [{"sum": {"start": s, "bits_per_second": b}} for s, b in [(0, 8e6), (1.0, 0.0), (2.0, 8e6)]]
    }
    assert read_iperf3(written(tmp_path, json.dumps(content))) == [(0.0, 1e6), (1.0, 0.0), (2.0, 1e6)]


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (read_ping, "nothing", "no answer of ping"),
        (read_iperf3, "{", "no JSON: "),
        (read_iperf3, "[]", "no 'intervals' of iperf3"),
        (read_iperf3, '{"intervals": [{"sum": {"start": 0}}]}', "interval 0 has no sum"),
        (read_iperf3, INTERVAL % "-1", "interval 0 must be finite and not negative"),
        (read_iperf3, INTERVAL % "NaN", "interval 0 must be finite and not negative"),
        (read_iperf3, '{"intervals": [3]}', "interval 0 has no sum"),
    ],
)
def test_what_is_no_recording_is_named(read, text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError) as caught:
        read(written(tmp_path, text))
    assert message in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read: no such file or directory"):
        read_ping(tmp_path / "none")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(TraceError, match="no text in UTF-8"):
        read_iperf3(tmp_path / "binary")


def test_requests_are_counted_beyond_16_bits(tmp_path: Path) -> None:
    lines = [
        f"64 bytes from 10.0.0.2: icmp_seq={seq} ttl=64 time={ms} ms" for seq, ms in [(65534, 1), (65535, 2), (0, 3)]
    ]
    assert read_ping(written(tmp_path, "\n".join(lines))) == [(0.0, 0.001), (1.0, 0.002), (2.0, 0.003)]


def test_intervals_may_come_in_any_order(tmp_path: Path) -> None:
    content = {"intervals": [{"sum": {"start": s, "bits_per_second": b}} for s, b in [(5, 8e6), (0, 16e6)]]}
    assert read_iperf3(written(tmp_path, "\ufeff" + json.dumps(content))) == [(0.0, 2e6), (5.0, 1e6)]


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (read_ping, "64 bytes from " + " icmp_seq=1 time=1" * 30_000),
        (read_ping, "64 bytes from a: icmp_seq=" + "9" * 5000 + " ttl=64 time=1 ms"),
        (read_ping, "64 bytes from a: icmp_seq=1 ttl=64 time=" + "9" * 400 + " ms"),
        (read_iperf3, INTERVAL % ("9" * 401)),
        (read_iperf3, INTERVAL % ("9" * 5001)),
        (read_iperf3, INTERVAL % "true"),
        (read_iperf3, "[" * 200_000),
    ],
)
def test_odd_files_are_refused_at_once(read, text: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError):
        read(written(tmp_path, text))


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    for path in (Path("/dev/zero"), tmp_path, tmp_path / "a\0b"):
        with pytest.raises(TraceError):
            read_ping(path)
