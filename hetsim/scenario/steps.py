"""What is written about the steps of workers beside their compute: slots, and gradients on their way."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal

from pydantic import Discriminator, Field, Tag

from hetsim.model.job import Compression, Slots
from hetsim.scenario.fields import Items, Rate, Section
from hetsim.scenario.problems import Problem
from hetsim.scenario.tree import Loc

if TYPE_CHECKING:
    from hetsim.scenario.schema import JobSection

_BITS: Final = 32
"""Of an entry of a gradient; an index takes as many."""

Probability = Annotated[float, Field(gt=0, le=1)]


def _listed_tag(value: object) -> str:
    return "~list" if isinstance(value, list | tuple) else "~one"


class SlotsSection(Section):
    """Workers that do not always finish a step in its time."""

    probability: Annotated[
        Annotated[Probability, Tag("~one")] | Annotated[Items[Probability], Field(min_length=1), Tag("~list")],
        Discriminator(_listed_tag),
    ] = Field(description="That a step is done when its time is over, of all workers or of each.")
    unfinished: Literal["skip", "repeat"] = Field(
        default="skip", description="Go on without a gradient, or try again until there is one."
    )


class CompressionSection(Section):
    """Gradients that are sent in fewer bytes."""

    bare_key: ClassVar = "type"

    type: Literal["top-k", "quantized"] = Field(
        description="The largest entries, each with its index; or all entries in fewer bits."
    )
    keep: Annotated[float, Field(gt=0, le=0.5)] | None = Field(
        default=None, description="Of top-k: share of the entries, each of which takes the bytes of two."
    )
    bits: Annotated[int, Field(ge=1, le=31)] | None = Field(default=None, description="Of quantized: of an entry.")
    rate: Rate | None = Field(
        default=None, description="Bytes of the gradient that a device compresses in a second; no time if left out."
    )


def check_steps(job: "JobSection", at: Loc) -> Iterator[Problem]:
    """Yield what is wrong between the fields of slots and compression.

    Parameters
    ----------
    job : JobSection
        The job.
    at : Loc
        Where it is.

    Yields
    ------
    Problem
        As many probabilities as workers; what the kind of compression needs, and nothing else.
    """
    slots, compression = job.slots, job.compression
    if slots is not None and isinstance(slots.probability, tuple) and len(slots.probability) != job.workers:
        n = len(slots.probability)
        message = f"{n} probabilities for {job.workers} workers: write one for each, or one for all"
        yield Problem((*at, "slots", "probability"), message)
    if compression is None:
        return
    needed, other = ("keep", "bits") if compression.type == "top-k" else ("bits", "keep")
    if getattr(compression, needed) is None:
        yield Problem((*at, "compression", needed), f"required with {compression.type}")
    if getattr(compression, other) is not None:
        yield Problem((*at, "compression", other), f"says nothing about {compression.type}")


def slots_of(section: SlotsSection | None, n_workers: int) -> Slots | None:
    """Return the slots of a job.

    Parameters
    ----------
    section : SlotsSection or None
        As written, free of problems.
    n_workers : int
        Of the job.

    Returns
    -------
    Slots or None
        None where every step takes its time.
    """
    if section is None:
        return None
    p = section.probability
    return Slots(
        probability=tuple(map(float, p)) if isinstance(p, tuple) else (float(p),) * n_workers,
        unfinished=section.unfinished,
    )


def compression_of(section: CompressionSection | None) -> Compression | None:
    """Return how a job's gradients are compressed.

    Parameters
    ----------
    section : CompressionSection or None
        As written, free of problems.

    Returns
    -------
    Compression or None
        None where they are not.
    """
    if section is None:
        return None
    sent_frac = 2.0 * float(section.keep or 0.0) if section.type == "top-k" else float(section.bits or 0) / _BITS
    return Compression(kind=section.type, sent_frac=sent_frac, bytes_per_s=float(section.rate or 0.0))
