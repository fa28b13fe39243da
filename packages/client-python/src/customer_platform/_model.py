"""Bases of all objects that the API returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """An object of the API. Fields that a newer platform adds are kept: `model_extra` has them."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True, protected_namespaces=(), defer_build=True)


class UnknownObject(Model):
    """An object of a kind that is newer than this client, with whatever fields it has."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
