"""The command ``network``: the topology of a scenario, drawn, in tables, and as files."""

from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import click

from hetsim.commands.output import as_json_text, complain, say
from hetsim.commands.running import load_scenario

if TYPE_CHECKING:
    from hetsim.report.figure import FileKind

_DRAWINGS: Final = (".svg", ".png", ".pdf")


@click.command("network")
@click.argument("scenario")
@click.option("--set", "overrides", multiple=True, metavar="PATH=VALUE", help="Set a field of the scenario.")
@click.option("--out", metavar="FILE", help="Draw the topology: .svg, .png or .pdf.")
@click.option("--matrix", metavar="FILE.csv", help="Write bottleneck rate and latency of every pair of hosts.")
@click.option("--graphml", metavar="FILE", help="Export the network as GraphML.")
@click.option("--graph-json", metavar="FILE.json", help="Export the network as node-link JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else, to standard output.")
def network_command(
    *,
    scenario: str,
    overrides: tuple[str, ...],
    out: str | None,
    matrix: str | None,
    graphml: str | None,
    graph_json: str | None,
    as_json: bool,
) -> None:
    """Show hosts, links, and what the routes between hosts can carry.

    The bottleneck rate of a route is what background traffic leaves of its slowest link at the start. An exported
    network is read again by 'topology: {kind: graph, file: FILE}'.
    """
    from hetsim.scenario.build import build_cluster

    suffix = Path(out).suffix.lower() if out else ""
    if out and suffix not in _DRAWINGS:
        raise click.UsageError(f"--out {out!r} must end in {', '.join(_DRAWINGS[:-1])} or {_DRAWINGS[-1]}")
    if graph_json and Path(graph_json).suffix.lower() != ".json":
        raise click.UsageError(f"--graph-json {graph_json!r} must end in .json, by which it is told from GraphML")
    if graphml and Path(graphml).suffix.lower() == ".json":
        raise click.UsageError(f"--graphml {graphml!r} ends in .json, which would be read as node-link JSON")
    loaded = load_scenario(scenario, overrides, None, None, points=False)
    cluster = build_cluster(loaded)
    written: dict[str, bytes] = {}
    if graphml or graph_json:
        from hetsim.network.graph_files import to_graphml, to_json

        exports = ((graphml, to_graphml), (graph_json, to_json))
        written |= {file: make(cluster).encode() for file, make in exports if file}
    if matrix:
        from hetsim.report.network import matrix_csv

        written[matrix] = matrix_csv(cluster).encode()
    if out:
        from hetsim.report.figure import to_file
        from hetsim.report.network_figure import network_figure

        written[out] = to_file(network_figure(loaded.name, cluster), cast("FileKind", suffix[1:]))
    if as_json:
        from hetsim.report.network import network_dict

        say(as_json_text(network_dict(loaded.name, cluster)))
    else:
        from hetsim.report.network import network_table
        from hetsim.scenario.specs import host_names

        templates = {host.name: host_names(host) for host in loaded.document.cluster.hosts}
        say(network_table(loaded.name, cluster, templates))
    for file, content in written.items():
        _write(file, content)
        complain(f"wrote {file}") if as_json else say(f"\nwrote {file}")


def _write(file: str, content: bytes) -> None:
    try:
        Path(file).write_bytes(content)
    except OSError as error:
        error.filename = error.filename or file
        raise
