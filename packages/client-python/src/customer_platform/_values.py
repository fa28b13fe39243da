"""Types of request values, and their conversion to JSON and query parameters."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import date, datetime
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, TypeAlias
from uuid import UUID

from pydantic import BaseModel

Time: TypeAlias = datetime | str
"""A time: a datetime with a timezone, or an ISO 8601 string with an offset."""

File: TypeAlias = bytes | BinaryIO | os.PathLike[str] | tuple[str, bytes]
"""A file to upload: its path, an open file, its content, or its name and content."""


class NotGiven(Enum):
    """Type of NOT_GIVEN."""

    NOT_GIVEN = "NOT_GIVEN"


NOT_GIVEN: Final[Literal[NotGiven.NOT_GIVEN]] = NotGiven.NOT_GIVEN
"""
Marks an omitted field where None means null. In an update, null removes a value, and an omitted field keeps its value.
"""


def given(value: Any) -> Any:
    """Returns NOT_GIVEN for None, for fields in which null has no meaning."""
    return NOT_GIVEN if value is None else value


def plain(value: Any, place: str) -> Any:
    """
    Converts a value to JSON types, without NOT_GIVEN fields. Raises ValueError for a datetime without a timezone, and
    TypeError for a type that JSON cannot represent. Both errors name the field.
    """
    if isinstance(value, Mapping):
        return {key: plain(each, f"{place}.{key}") for key, each in value.items() if each is not NOT_GIVEN}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(each, f"{place}[{index}]") for index, each in enumerate(value)]
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise ValueError(
                f"{place} must have a timezone: datetime(…, tzinfo=ZoneInfo('Europe/Berlin')), not {value!r}"
            )
        return value.isoformat()
    if isinstance(value, (date, UUID)):
        return str(value)
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise TypeError(f"{place} must be a str, number, bool, time, list or dict, not {type(value).__name__}")


def query_text(value: Any, place: str) -> str:
    """Converts a query parameter to a string. Raises the same errors as `plain`."""
    value = plain(value, place)
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def file_part(value: File) -> tuple[str, bytes]:
    """Returns a file's name and content. Each attempt sends the same content. Raises OSError if it cannot be read."""
    if isinstance(value, bytes):
        return "file", value
    if isinstance(value, tuple):
        return value
    if isinstance(value, os.PathLike):
        path = Path(value)
        return path.name, path.read_bytes()
    name = getattr(value, "name", None)
    return Path(name).name if isinstance(name, str) else "file", value.read()
