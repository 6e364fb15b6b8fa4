"""Every problem of a scenario, those of its comparison apart."""

from typing import Any, cast

from pydantic import ValidationError

from hetsim.scenario.cluster_checks import check_cluster
from hetsim.scenario.graph_file import expand
from hetsim.scenario.job_checks import check_jobs
from hetsim.scenario.link_traces import with_traces
from hetsim.scenario.messages import problems_of
from hetsim.scenario.parts import parts_of
from hetsim.scenario.problems import Problem
from hetsim.scenario.schema import ScenarioFile
from hetsim.scenario.tree import Node, to_python


def validate(tree: Node) -> tuple[ScenarioFile | None, list[Problem]]:
    """Return the fields of a scenario and all its problems, those of its comparison apart.

    Parameters
    ----------
    tree : Node
        What was written: a mapping.

    Returns
    -------
    document : ScenarioFile or None
        None if a field is wrong by itself.
    problems : list of Problem
        Everything that is wrong.
    """
    expanded = expand(tree)
    tree, trace_problems = with_traces(expanded.tree)
    data = cast("dict[str, Any]", to_python(tree))
    document: ScenarioFile | None = None
    problems: list[Problem] = [*trace_problems]
    try:
        document = ScenarioFile.model_validate(data)
    except ValidationError as error:
        problems += problems_of(error, tree, ScenarioFile)
    parts = parts_of(data)
    problems += check_cluster(parts)
    problems += check_jobs(parts, tree)
    return document, expanded.explained(problems)
