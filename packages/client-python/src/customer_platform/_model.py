"""Base classes of the objects that the API returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """An object of the API. `model_extra` has the fields that a newer platform adds."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True, protected_namespaces=(), defer_build=True)


class UnknownObject(Model):
    """An object of a kind that is newer than this client, with all its fields."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
