"""What is written about the updates that a job takes to its target."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from hetsim.catalog.convergence import convergences, efficiency_of, targets
from hetsim.lookup import unknown
from hetsim.model.efficiency import Efficiency
from hetsim.scenario.fields import Section
from hetsim.scenario.problems import Problem
from hetsim.scenario.specs import SOURCE
from hetsim.scenario.tree import Loc

if TYPE_CHECKING:
    from hetsim.scenario.schema import JobSection

TARGET: Final = "the target of the scenario"
"""Where figures are stated and not what they are for."""


class ConvergenceSection(Section):
    """Updates to a target accuracy: those of the catalog if left out, where it knows model and data set."""

    min_steps: Annotated[float, Field(gt=0, le=1e15)] | None = Field(
        default=None, description="Updates that no batch goes below, with noise_batch instead of the catalog's."
    )
    noise_batch: Annotated[float, Field(ge=0, le=1e15)] | None = Field(
        default=None, description="Samples in an update that take twice min_steps: the gradient noise scale."
    )
    delay_factor: Annotated[float, Field(ge=0, le=1000)] | None = Field(
        default=None, description="How much longer the noiseless part takes for a delay of one update; 1 if left out."
    )
    delay_exponent: Annotated[float, Field(gt=0, le=10)] | None = Field(
        default=None, description="Power of the delay that this grows with; 1 if left out."
    )
    target: str | None = Field(
        default=None, description="Which one of the catalog ('hetsim list convergence'), or of the figures stated."
    )


def check_convergence(job: "JobSection", at: Loc) -> Iterator[Problem]:
    """Yield what is wrong between the figures of a job's convergence, and with what the catalog knows of the job.

    Parameters
    ----------
    job : JobSection
        The job.
    at : Loc
        Where it is.

    Yields
    ------
    Problem
        Nothing written, half of the figures, a target that the catalog does not have, or nothing to go by.
    """
    section, at = job.convergence, (*at, "convergence")
    if section is None:
        return
    if not section.model_dump(exclude_none=True):
        yield Problem(at, f"says nothing: write one of {', '.join(type(section).model_fields)}")
        return
    for key, other in (("min_steps", "noise_batch"), ("noise_batch", "min_steps")):
        if getattr(section, key) is None and getattr(section, other) is not None:
            yield Problem((*at, key), f"required with {other}: the updates depend on both")
    if section.min_steps is None and section.noise_batch is None:
        yield from _check_catalog(job, section, at)


def _check_catalog(job: "JobSection", section: ConvergenceSection, at: Loc) -> Iterator[Problem]:
    if job.compute is not None:
        yield Problem(at, "the catalog has figures of models: write min_steps and noise_batch for known compute times")
    elif job.model is not None and job.dataset is not None:
        known = targets(job.model, job.dataset)
        if not known:
            pairs = dict.fromkeys(f"{row.model} on {row.data_set}" for row in convergences())
            message = f"no figures of {job.model} on {job.dataset}: write min_steps and noise_batch"
            yield Problem(at, f"{message}. Known: {', '.join(pairs)}")
        elif section.target is not None and section.target not in known:
            yield Problem((*at, "target"), unknown("target", section.target, known))


def convergence_of(
    section: ConvergenceSection | None, model: str | None, dataset: str | None, batch: int
) -> Efficiency | None:
    """Return how many updates a job takes to its target.

    Parameters
    ----------
    section : ConvergenceSection or None
        As written, free of problems.
    model, dataset : str or None
        Of the job; None where compute times are known.
    batch : int
        Samples of a step of all workers together.

    Returns
    -------
    Efficiency or None
        None where nothing is stated and the catalog knows nothing.
    """
    if section is not None and section.min_steps is not None:
        found: Efficiency | None = Efficiency(
            min_steps=float(section.min_steps),
            noise_batch=float(section.noise_batch or 0.0),
            target=section.target or TARGET,
            source=SOURCE,
            basis="assumed",
        )
    elif model is not None and dataset is not None:
        found = efficiency_of(model, dataset, batch=batch, target=None if section is None else section.target)
    else:
        found = None
    if section is None or found is None:
        return found
    factor, exponent = section.delay_factor, section.delay_exponent
    return replace(
        found,
        delay_factor=found.delay_factor if factor is None else float(factor),
        delay_exponent=found.delay_exponent if exponent is None else float(exponent),
    )
