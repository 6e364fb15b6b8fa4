"""What a link holds while it waits to be sent: written as an amount of data, or as the time that the link takes."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from hetsim.errors import UnitError
from hetsim.scenario.fields import Quantity, shown, wrong
from hetsim.units import parse

QUEUE: Final = "What of each stream waits here while its sender goes on, or how long the link takes to send that."
"""Described so wherever it can be written."""

_TIME: Final = Quantity("time")
_BYTES: Final = Quantity("bytes")
_EXAMPLES: Final = ["1 MB", "50 ms"]


@dataclass(frozen=True, slots=True)
class Queue:
    """An amount of data, or a time.

    Parameters
    ----------
    value : float
        Bytes or seconds.
    unit : {"B", "s"}
        Which.
    """

    value: float
    unit: Literal["B", "s"]

    def n_bytes(self, bytes_per_s: float) -> float:
        """Return how much a link of some rate holds.

        Parameters
        ----------
        bytes_per_s : float
            Payload rate of the link.

        Returns
        -------
        float
            Payload, in bytes: that which is written, or what the link sends in the time that is.

        Examples
        --------
        >>> Queue(0.05, "s").n_bytes(12.5e6), Queue(1e6, "B").n_bytes(12.5e6)
        (625000.0, 1000000.0)
        """
        return self.value if self.unit == "B" else self.value * bytes_per_s

    @classmethod
    def written(cls, text: object) -> "Queue":
        """Return what a text means.

        Parameters
        ----------
        text : object
            As written.

        Returns
        -------
        Queue
            Zero where nothing is held.
        """
        if isinstance(text, cls):
            return text
        if not isinstance(text, str):
            raise wrong(f"must be an amount of data or a time, such as '1 MB' or '50 ms', not {shown(text)}")
        if _is_time(text):
            return cls(_TIME.value_of(text), "s")
        try:
            return cls(parse(text, "bytes"), "B")
        except UnitError as error:
            raise wrong(f"{error}; or a time, such as 50 ms") from None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Parse texts, and write values back as texts."""
        return core_schema.no_info_plain_validator_function(
            cls.written,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda queue: f"{queue.value!r} {queue.unit}"
            ),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe the text."""
        described = _BYTES.__get_pydantic_json_schema__(schema, handler)
        return described | {"description": "An amount of data or a time, with its unit.", "examples": _EXAMPLES}


def _is_time(text: str) -> bool:
    try:
        parse(text.strip().lstrip("+-"), "time")
    except UnitError:
        return False
    return True
