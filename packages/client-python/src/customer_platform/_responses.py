"""Parses JSON responses, including the unions that have no class in `models`."""

from __future__ import annotations

import json
from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from .events import CLASSES, Event
from .models import GenericEvent, KnowledgeSource

T = TypeVar("T")

_ONE_AT_A_TIME = Lock()
"""
pydantic builds each class on first use, since building all at import takes a second. Two threads must not build a class
at once. The lock costs nothing, since the interpreter runs only one thread at a time.
"""

_KNOWLEDGE_SOURCE: TypeAdapter[KnowledgeSource] = TypeAdapter(KnowledgeSource)


def knowledge_source(value: object) -> KnowledgeSource:
    """Parses a knowledge source to the class of its kind."""
    return _KNOWLEDGE_SOURCE.validate_python(value)


def event(value: object) -> Event:
    """Parses an event to the class of its kind. Raises ValueError if the value is not an event."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise ValueError("an event must be an object with a type")
    return CLASSES.get(value["type"], GenericEvent).model_validate(value)


def nothing(_value: object) -> None:
    """Returns None, since the response has no body."""


def parsed(text: str | bytes, parse: Callable[[Any], T]) -> T:
    """
    Parses JSON to an object. An empty text counts as null. Raises ValueError, whose message has the fields at fault but
    no values.
    """
    try:
        value = json.loads(text) if text else None
        with _ONE_AT_A_TIME:
            return parse(value)
    except ValidationError as error:
        # The values may be personal data, which must not be logged.
        places = [".".join(map(str, each["loc"])) for each in error.errors(include_input=False)[:3]]
        raise ValueError(f"not what the API describes, at {', '.join(places) or 'its root'}") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise ValueError("not JSON") from None
