"""What makes the responses of JSON that no class of `models` makes."""

from __future__ import annotations

from pydantic import TypeAdapter

from .models import KnowledgeSource

_KNOWLEDGE_SOURCE: TypeAdapter[KnowledgeSource] = TypeAdapter(KnowledgeSource)


def knowledge_source(value: object) -> KnowledgeSource:
    """A knowledge source of the class of its kind."""
    return _KNOWLEDGE_SOURCE.validate_python(value)


def deleted(_value: object) -> None:
    """Nothing: the response has no body."""
