"""What the scenario schema is made of: quantities, names, lists, and sections that note who reads them."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from hetsim.errors import UnitError, clipped
from hetsim.scenario import tables
from hetsim.scenario.reads import record
from hetsim.units import MAX_TICKS, TICKS_PER_S, TOO_LONG, Dimension, parse

CUSTOM: Final = "hetsim"
"""Type of the errors whose message is ours."""

_SI_UNIT: Final[dict[Dimension, str]] = {
    "time": "s",
    "bytes": "B",
    "rate": "B/s",
    "flop": "FLOP",
    "flop rate": "FLOP/s",
}
_EXAMPLES: Final[dict[Dimension, list[str]]] = {
    "time": ["25 us", "60 ms", "1.5 h"],
    "bytes": ["102 MB", "16 GiB"],
    "rate": ["10 Gbit/s", "12 GB/s"],
    "flop": ["4.1 GFLOP"],
    "flop rate": ["9.5 TFLOP/s"],
}
_SLUG: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"

T = TypeVar("T")


def wrong(message: str) -> PydanticCustomError:
    """Return an error with a message of ours.

    Parameters
    ----------
    message : str
        What is wrong.

    Returns
    -------
    PydanticCustomError
        To be raised by a validator.
    """
    return PydanticCustomError(CUSTOM, "{message}", {"message": message})


def shown(value: object) -> str:
    """Return a value as a message shows it.

    Parameters
    ----------
    value : object
        As written.

    Returns
    -------
    str
        Short.
    """
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return clipped(repr(value))


def has(value: object, key: str) -> bool:
    """Return whether a mapping has a key; one without a value, as in ``latency:``, counts as left out.

    Parameters
    ----------
    value : object
        Perhaps a mapping.
    key : str
        The key.

    Returns
    -------
    bool
        False for what is no mapping.
    """
    return isinstance(value, Mapping) and value.get(key) is not None


def not_finite(value: object) -> float | None:
    """Return the first number inside a value that is infinite or none.

    Parameters
    ----------
    value : object
        A number, or lists and mappings of values.

    Returns
    -------
    float or None
        None where every number is finite.
    """
    if isinstance(value, float):
        return None if math.isfinite(value) else value
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple | set) else ()
    return next((found for found in map(not_finite, inner) if found is not None), None)


class Section(BaseModel):
    """A mapping of a scenario file; reading one of its fields is recorded under the field's dotted path."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)

    bare_key: ClassVar[str] = ""
    """The key that somebody means who writes a plain value in place of the mapping."""

    _path: str = ""

    @model_validator(mode="before")
    @classmethod
    def _as_written(cls, data: object) -> object:
        if isinstance(data, dict):
            return {key: value for key, value in data.items() if value is not None or key not in cls.model_fields}
        if cls.bare_key and isinstance(data, str | int | float) and not isinstance(data, bool):
            raise wrong(f"must be a mapping, such as {{{cls.bare_key}: {clipped(str(data))}}}, not {shown(data)}")
        return data

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if not name.startswith(("_", "model_")) and name in type(self).model_fields:
            self.note(name)
        return value

    def note(self, name: str) -> None:
        """Record that a key was read.

        Parameters
        ----------
        name : str
            The key.
        """
        record(f"{self._path}.{name}" if self._path else name)

    def locate(self, path: str) -> None:
        """Tell the section where it is.

        Parameters
        ----------
        path : str
            Its dotted path.
        """
        self._path = path


@dataclass(frozen=True, slots=True)
class Quantity:
    """Marks a float that is written as a text with a unit, and is SI from here on.

    Parameters
    ----------
    dimension : Dimension
        What it measures.
    positive : bool
        Whether zero is refused.
    """

    dimension: Dimension
    positive: bool = False

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Parse texts, and write SI values back as texts."""
        unit = _SI_UNIT[self.dimension]
        return core_schema.no_info_plain_validator_function(
            self.value_of,
            serialization=core_schema.plain_serializer_function_ser_schema(lambda value: f"{value!r} {unit}"),
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe the text."""
        return {
            "type": "string",
            "description": f"A {self.dimension} with its unit.",
            "pattern": r"^\s*\+?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*[A-Za-zµ/]+\s*$",
            "examples": _EXAMPLES[self.dimension],
        }

    def value_of(self, text: object) -> float:
        """Return the SI value of a text.

        Parameters
        ----------
        text : object
            As written.

        Returns
        -------
        float
            In the SI unit of the dimension.
        """
        if not isinstance(text, str) and (isinstance(text, bool) or not isinstance(text, int | float)):
            example = " or ".join(repr(example) for example in _EXAMPLES[self.dimension][:2])
            raise wrong(f"must be a number with a unit, such as {example}, not {shown(text)}")
        if isinstance(text, float) and not math.isfinite(text):
            raise wrong(f"must be finite, not {text}")
        try:
            value = parse(text, self.dimension)
        except UnitError as error:
            raise wrong(str(error)) from None
        if self.positive and value == 0:
            raise wrong(f"{shown(text)} must be more than zero")
        if self.dimension == "time" and not value * TICKS_PER_S <= MAX_TICKS:
            raise wrong(f"{shown(text)} is {TOO_LONG}")
        return value


@dataclass(frozen=True, slots=True)
class Named:
    """Marks a text that must be a name of a table.

    Parameters
    ----------
    kind : Kind
        What is named.
    """

    kind: tables.Kind

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Look the name up."""
        return core_schema.no_info_after_validator_function(self.known, core_schema.str_schema(strict=True))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """List the names there are now; the catalog grows, so they are examples."""
        return {"type": "string", "description": f"Name of a {self.kind}.", "examples": list(tables.names(self.kind))}

    def known(self, name: str) -> str:
        """Return the name, if its table has it.

        Parameters
        ----------
        name : str
            As written.

        Returns
        -------
        str
            The same.
        """
        complaint = tables.complaint(self.kind, name)
        if complaint:
            raise wrong(complaint)
        return name


def _as_tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _slug(value: str) -> str:
    if not re.fullmatch(_SLUG, value):
        message = "up to 100 letters, digits, '.', '_' and '-', starting with a letter or a digit"
        raise wrong(f"{shown(value)} is no name: {message}")
    return value


@dataclass(frozen=True, slots=True)
class _Slug:
    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(_slug, core_schema.str_schema(strict=True))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "pattern": _SLUG}


def _finite(value: object) -> object:
    found = not_finite(value)
    if found is not None:
        raise wrong(f"must be finite, not {shown(found)}")
    return value


Items = Annotated[tuple[T, ...], BeforeValidator(_as_tuple)]
Json = Annotated[Any, AfterValidator(_finite)]
"""Any value that a file can hold."""

Slug = Annotated[str, _Slug()]

Time = Annotated[float, Quantity("time")]
Bytes = Annotated[float, Quantity("bytes", positive=True)]
Rate = Annotated[float, Quantity("rate", positive=True)]
FlopRate = Annotated[float, Quantity("flop rate", positive=True)]

Count = Annotated[int, Field(ge=1, le=100_000)]
Share = Annotated[float, Field(ge=0, lt=1)]
