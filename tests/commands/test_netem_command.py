"""``hetsim netem``: files in and out, and what is said where they are wrong."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from hetsim.__main__ import cli, exit_code
from hetsim.network.qdisc import send

SENT = "seq,t_send_us,size\n3,0,1000\n1,1000.5,1000\n2,2000,1500\n"


@pytest.fixture
def sent(tmp_path: Path) -> Path:
    path = tmp_path / "sent.csv"
    path.write_text(SENT)
    return path


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_arrivals_go_to_standard_output(sent: Path) -> None:
    done = CliRunner().invoke(cli, ["netem", "delay 10ms rate 8mbit", "--packets", str(sent)])
    assert done.exit_code == 0
    assert done.stdout == ("seq,t_recv_us,copy,lost\n3,11000.000,0,0\n1,12000.500,0,0\n2,13500.500,0,0\n")


def test_arrivals_go_to_a_file(sent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.csv"
    assert exit_code(["netem", "loss 100%", "--packets", str(sent), "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"3 sent, 3 lost, 0 came twice; wrote {out}\n"
    assert out.read_text() == "seq,t_recv_us,copy,lost\n3,,0,1\n1,,0,1\n2,,0,1\n"


def test_the_command_is_the_function_and_the_seed_its_key(sent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["netem", "delay 10ms 5ms duplicate 50%", "--packets", str(sent), "--seed", "4"]) == 0
    found = rows(capsys.readouterr().out)
    packets = send("delay 10ms 5ms duplicate 50%", [0.0, 0.0010005, 0.002], 1000, seed=4)
    assert [float(row["t_recv_us"]) for row in found] == pytest.approx((packets.receive_s * 1e6).tolist(), abs=1e-3)
    assert [row["copy"] for row in found] == [str(int(x)) for x in packets.is_copy]


def test_columns_for_corruption_and_marks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sent.csv"
    path.write_text("t_send_us,ect,other,seq,size\n0,1,x,0,100\n1,0,y,1,100\n")
    assert exit_code(["netem", "loss 100% ecn corrupt 100%", "--packets", str(path)]) == 0
    found = rows(capsys.readouterr().out)
    assert [(row["lost"], row["corrupt"], row["marked"]) for row in found] == [("0", "1", "1"), ("1", "0", "0")]


def test_a_tbf_is_a_qdisc_too(sent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["netem", "tbf rate 8kbit burst 1kb limit 1kb", "--packets", str(sent)]) == 0
    # The second is not gone when the third, larger than the bucket anyway, comes.
    assert [row["lost"] for row in rows(capsys.readouterr().out)] == ["0", "0", "1"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ":1:1: the header has no column 'seq'. Needed: seq, t_send_us, size"),
        ("seq,t_sent_us,size\n", ":1:1: the header has no column 't_send_us'; did you mean 't_sent_us'?"),
        ("seq,t_send_us,size,size\n", "the column 'size' is there twice"),
        ("seq,t_send_us,size\n1,0,100\n2,abc,100\n", ":3:3: t_send_us 'abc' is no number of microseconds"),
        ("seq,t_send_us,size\n1,nan,100\n", ":2:3: t_send_us 'nan'"),
        ("seq,t_send_us,size\n1,1e300,100\n", ":2:3: t_send_us '1e300'"),
        ("seq,t_send_us,size\n1,0,1.5\n", ":2:5: size '1.5' is no whole number from 0 to 4294967295"),
        ("seq,t_send_us,size\n1,0,-4\n", ":2:5: size '-4'"),
        ("seq,t_send_us,size\n1,0\n", ":2:3: 2 cells, and none for 'size'"),
        ("seq,t_send_us,size\n1,0,9\n1,5,9\n", ":3:1: packet 1 is in line 2 already"),
        ("seq,t_send_us,size,ect\n1,0,9,2\n", ":2:7: ect '2'"),
        ('seq,t_send_us,size\n1,0,"9\n', "unexpected end of data"),
        ("\x00\x01", "the header has no column"),
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    done = CliRunner().invoke(cli, ["netem", "delay 1ms", "--packets", str(path)])
    assert f"bad.csv{message}" in str(done.exception) or message in str(done.exception)
    assert exit_code(["netem", "delay 1ms", "--packets", str(path)]) == 2


def test_mistakes_in_the_command(sent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["dely 1ms", "--packets", str(sent)], "column 1: no option 'dely'; did you mean 'delay'?"),
        (["delay 1ms", "--packets", str(tmp_path / "none.csv")], "none.csv: No such file"),
        (["delay 1ms", "--packets", str(tmp_path)], "Is a directory"),
        (["delay 1ms"], "Missing option '--packets'"),
        (["delay 1ms 1ms seed 3", "--packets", str(sent), "--seed", "4"], "leave one out"),
        (["delay 1ms", "--packets", str(sent), "--out", str(tmp_path / "no" / "x.csv")], "No such file"),
    ):
        assert exit_code(["netem", *arguments]) == 2
        assert message in capsys.readouterr().err
    (tmp_path / "latin.csv").write_bytes(b"seq,t_send_us,size\n1,\xe9,4\n")
    assert exit_code(["netem", "delay 1ms", "--packets", str(tmp_path / "latin.csv")]) == 2
    assert "not a text file" in capsys.readouterr().err


def test_a_process_gives_the_same_bytes_twice_without_a_compiler(sent: Path) -> None:
    code = (
        "import sys; from hetsim.__main__ import exit_code; code = exit_code(sys.argv[1:]);"
        "sys.exit(code or 'numba' in sys.modules)"
    )
    spec = "delay 10ms 2ms 25% distribution normal loss 10% duplicate 10%"
    command = [sys.executable, "-c", code, "netem", spec, "--packets", str(sent)]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2))
    assert first == second
    assert len(first.splitlines()) >= 4
