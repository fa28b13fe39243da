"""Makes objects of JSON where `models` has no class that does."""

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
pydantic builds a class when it is first used, since building all at import takes a second, and two threads must not
build one at once. Nothing is lost: the interpreter lets threads make objects only one after another anyway.
"""

_KNOWLEDGE_SOURCE: TypeAdapter[KnowledgeSource] = TypeAdapter(KnowledgeSource)


def knowledge_source(value: object) -> KnowledgeSource:
    """A knowledge source of the class of its kind."""
    return _KNOWLEDGE_SOURCE.validate_python(value)


def event(value: object) -> Event:
    """An event of the class of its kind. Raises ValueError if it is no event."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise ValueError("an event must be an object with a type")
    return CLASSES.get(value["type"], GenericEvent).model_validate(value)


def nothing(_value: object) -> None:
    """Nothing: the response has no body."""


def parsed(text: str | bytes, parse: Callable[[Any], T]) -> T:
    """
    The object that a text has as JSON; an empty text stands for null. Raises ValueError, which says what is wrong
    without any values.
    """
    try:
        value = json.loads(text) if text else None
        with _ONE_AT_A_TIME:
            return parse(value)
    except ValidationError as error:
        # The values may be personal data, which belong into no log.
        places = [".".join(map(str, each["loc"])) for each in error.errors(include_input=False)[:3]]
        raise ValueError(f"not what the API describes, at {', '.join(places) or 'its root'}") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise ValueError("not JSON") from None
