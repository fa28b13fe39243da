"""Generates the union of events and the classes of error codes."""

from __future__ import annotations

from .document import Document
from .models import GENERIC_EVENT, HEADER, event_class, pascal_case


def events(document: Document) -> str:
    """Source of the union of events."""
    classes = {kind: event_class(kind) for kind in document.events()}
    names = sorted([*classes.values(), GENERIC_EVENT])
    imports = "".join(f"    {each},\n" for each in names)
    union = "".join(f"    | {each}\n" for each in classes.values())
    rows = "".join(f'    "{kind}": {each},\n' for kind, each in classes.items())
    filters = ", ".join(f'"{each}"' for each in document.schemas["EventFilter"]["enum"])
    exported = ", ".join(f'"{each}"' for each in ["CLASSES", "Event", "EventFilter", *names])
    return f'''{HEADER}"""Events, as webhooks and the stream send them: narrow one with `isinstance` or `match`."""

from __future__ import annotations

from typing import Literal, TypeAlias

from .models import (
{imports})

Event: TypeAlias = (
    {union.strip().removeprefix("| ")}
    | {GENERIC_EVENT}
)
"""An event. One of a kind that is newer than this client is a {GENERIC_EVENT}."""

EventFilter: TypeAlias = Literal[{filters}] | str
"""A kind of events such as `order.declined`, a family such as `order.*`, or `*` for all."""

CLASSES: dict[str, type[Event]] = {{
{rows}}}
"""Class of each kind of events."""

__all__ = [{exported}]
'''


def error_codes(document: Document) -> str:
    """Source of the classes of error codes."""
    codes = document.error_codes
    classes = "\n\n".join(
        f'class {pascal_case(code)}(ApiError):\n    """The error `{code}` of the API."""\n' for code in codes
    )
    rows = "".join(f'    "{code}": {pascal_case(code)},\n' for code in codes)
    exported = ", ".join(f'"{pascal_case(code)}"' for code in codes)
    return f'''{HEADER}"""A class for each code of the API's errors."""

from .errors import ApiError


{classes}

CLASSES: dict[str, type[ApiError]] = {{
{rows}}}

__all__ = [{exported}]
'''
