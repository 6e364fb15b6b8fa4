"""``hetsim netem``."""

from pathlib import Path

import click

from hetsim.commands.output import say


@click.command("netem")
@click.argument("spec")
@click.option("--packets", required=True, metavar="FILE", help="CSV: seq, t_send_us, size in bytes on the wire.")
@click.option("--out", metavar="FILE", help="Where the CSV of arrivals goes, instead of standard output.")
@click.option("--seed", type=click.IntRange(min=0), help="Key of all random draws; 0, or that of SPEC, if left out.")
def netem_command(*, spec: str, packets: str, out: str | None, seed: int | None) -> None:
    """Send packets through a netem or tbf qdisc, as Linux would.

    SPEC is the text of a tc command: 'delay 50ms 10ms 25% loss 1%', 'tbf rate 10mbit burst 10kb latency 50ms', or all
    of it from 'tc qdisc add dev eth0 root' on. Each arrival has a row (seq, t_recv_us, copy, lost), and each packet of
    which nothing arrives. A column ect of 0 and 1 says which packets can carry marks, for 'ecn'.
    """
    from hetsim.network.netem import Chance, Netem
    from hetsim.network.packet_file import packets_csv, read_packets
    from hetsim.network.qdisc import parse, pass_through

    qdisc = parse(spec)
    if isinstance(qdisc, Netem) and qdisc.seed is not None and seed is not None:
        raise click.UsageError("a seed is in SPEC, and another in --seed: leave one out")
    sent = read_packets(Path(packets))
    passed = pass_through(qdisc, sent.send_ns, sent.size_bytes, seed or 0, can_be_marked=sent.can_be_marked)
    text = packets_csv(
        sent.seq,
        passed,
        corrupt=isinstance(qdisc, Netem) and qdisc.corrupt != Chance(),
        marked=isinstance(qdisc, Netem) and qdisc.ecn,
    )
    if out is None:
        say(text.removesuffix("\n"))
    else:
        Path(out).write_text(text, "utf-8")
        say(f"{len(sent.seq)} sent, {passed.is_lost.sum()} lost, {passed.is_copy.sum()} came twice; wrote {out}")
