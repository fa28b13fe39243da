"""Base of all objects that the API returns."""

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """An object of the API. Fields that a newer platform adds are kept: `model_extra` has them."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True, protected_namespaces=(), defer_build=True)
