"""Reads the OpenAPI document and prepares its schemas for the model generator."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

_CONSTRAINTS = {
    "minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "minItems", "maxItems", "uniqueItems", "propertyNames", "contentEncoding",
    "example", "examples", "default", "discriminator", "multipleOf",
}  # fmt: skip
"""Keywords that the models omit, since the platform validates them."""

_PAGE = ["data", "has_more", "next"]
_METHODS = ["get", "post", "put", "patch", "delete"]


@dataclass(frozen=True)
class Operation:
    """An operation of the document."""

    name: str
    """Resource path and verb, such as `calendar.appointments.create`."""
    method: str
    path: str
    summary: str
    description: str
    scope: str | None
    deprecated: bool
    path_parameters: dict[str, Schema]
    query: Schema | None
    """The query parameters as one object schema."""
    body_name: str
    """Name of the body's schema; empty without a body."""
    body: Schema | None
    """Schema of the body, an object."""
    is_multipart: bool
    takes_key: bool
    """Whether the operation accepts an Idempotency-Key."""
    response: str | None
    """Name of the response's schema; None without a body."""
    is_stream: bool


class Document:
    """The OpenAPI document."""

    def __init__(self, file: Path) -> None:
        self._document = json.loads(file.read_text("utf-8"))
        self.schemas: dict[str, Schema] = self._document["components"]["schemas"]

    @property
    def error_codes(self) -> list[str]:
        """The API's error codes."""
        codes: list[str] = self.schemas["ErrorCode"]["enum"]
        return codes

    def operations(self) -> list[Operation]:
        """The operations, in the order of the reference."""
        return [
            self._operation(method.upper(), path, methods[method])
            for path, methods in self._document["paths"].items()
            for method in _METHODS
            if method in methods
        ]

    def events(self) -> dict[str, Schema]:
        """The schema of each event kind, with the envelope merged in."""
        events = {}
        for kind, item in self._document["webhooks"].items():
            envelope, own = item["post"]["requestBody"]["content"]["application/json"]["schema"]["allOf"]
            base = self.resolve(envelope)
            events[kind] = {
                "type": "object",
                "description": item["post"]["description"],
                "properties": {**base["properties"], **own["properties"]},
                "required": [*base["required"], *own["required"]],
            }
        return events

    def resolve(self, value: Schema) -> Schema:
        """Resolves a reference to a schema or parameter. Returns any other value unchanged."""
        if "$ref" not in value:
            return value
        _, _, part, name = value["$ref"].split("/")
        resolved: Schema = self._document["components"][part][name]
        return resolved

    def page_item(self, name: str) -> str | None:
        """Name of the schema of a page's items; None if the schema is not a page."""
        properties = self.schemas[name].get("properties", {})
        return name_of(properties["data"]["items"]) if list(properties) == _PAGE else None

    def _operation(self, method: str, path: str, operation: dict[str, Any]) -> Operation:
        parameters = [self.resolve(each) for each in operation.get("parameters", [])]
        located = {place: [each for each in parameters if each["in"] == place] for place in ("path", "query", "header")}
        content = operation.get("requestBody", {}).get("content", {})
        media_types: list[tuple[str, Any]] = [*content.items()] or [("", None)]
        media_type, media = media_types[0]
        success = next(each for status, each in operation["responses"].items() if status.startswith("2"))
        produced = success.get("content", {})
        response = produced.get("application/json", {}).get("schema")
        return Operation(
            name=operation["x-client-name"],
            method=method,
            path=path,
            summary=operation["summary"],
            description=operation.get("description", ""),
            scope=operation.get("x-scope"),
            deprecated=operation.get("deprecated", False),
            path_parameters={each["name"]: described(each) for each in located["path"]},
            query=_object_of(located["query"]) if located["query"] else None,
            body_name=name_of(media["schema"]) if media else "",
            body=self._body(media["schema"]) if media else None,
            is_multipart=media_type == "multipart/form-data",
            takes_key=any(each["name"] == "Idempotency-Key" for each in located["header"]),
            response=name_of(response) if response else None,
            is_stream="text/event-stream" in produced,
        )

    def _body(self, reference: Schema) -> Schema | None:
        """
        The body with the fields that the operation accepts; None if it accepts none. Fields whose description begins
        with `Refused:` exist only for their error message.
        """
        body = self.resolve(reference)
        taken = {
            name: field
            for name, field in body["properties"].items()
            if not field.get("description", "").startswith("Refused:")
        }
        return {**body, "properties": taken} if taken else None


def described(parameter: dict[str, Any]) -> Schema:
    """The schema of a parameter, with its description."""
    return {**parameter["schema"], "description": parameter.get("description", "")}


def _object_of(parameters: list[dict[str, Any]]) -> Schema:
    return {
        "type": "object",
        "properties": {each["name"]: described(each) for each in parameters},
        "required": [each["name"] for each in parameters if each.get("required")],
    }


def name_of(schema: Schema) -> str:
    """Name of the schema that a reference points to."""
    reference: str = schema["$ref"]
    return reference.rpartition("/")[2]


def closure(roots: dict[str, Schema], schemas: dict[str, Schema]) -> dict[str, Schema]:
    """The schemas and all schemas that they reference."""
    found = dict(roots)
    waiting = list(roots.values())
    while waiting:
        for name in _references(waiting.pop()):
            if name not in found:
                found[name] = schemas[name]
                waiting.append(schemas[name])
    return found


def _references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield name_of(value)
        for each in value.values():
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


def open_schema(schema: Schema) -> Schema:
    """
    Makes a response schema accept responses of newer platforms. Enums accept other strings, unions accept other
    objects, and there are no limits.
    """
    rewritten: Schema = _rewritten(schema, _opened)
    return rewritten


def input_schema(schema: Schema) -> Schema:
    """A request schema: exact enums and unions, without limits, since the platform checks them."""
    rewritten: Schema = _rewritten(schema, _input)
    return rewritten


def _input(schema: Schema) -> Schema:
    """Replaces times and files with the types of `customer_platform._values`, which accept several Python types."""
    special = {"date-time": "Time", "binary": "File"}.get(schema.get("format", ""))
    if special is None:
        return _plain(schema)
    return {"$ref": f"#/components/schemas/{special}", "description": schema.get("description", "")}


def _opened(schema: Schema) -> Schema:
    choices = schema.get("oneOf") or schema.get("anyOf")
    if "enum" in schema and len(schema["enum"]) > 1:
        enum = {key: schema[key] for key in ("type", "enum")}
        rest = {key: value for key, value in schema.items() if key not in enum}
        return {**rest, "anyOf": [enum, {"type": schema["type"]}]}
    if choices and sum("$ref" in each for each in choices) > 1:
        rest = {key: value for key, value in schema.items() if key not in ("oneOf", "anyOf")}
        return {**rest, "anyOf": [*choices, {"$ref": "#/components/schemas/UnknownObject"}]}
    return _plain(schema)


def _plain(schema: Schema) -> Schema:
    # A number without a fraction is an int, so 3 does not become 3.0.
    kinds = schema.get("type")
    if kinds == "number":
        return {**schema, "type": ["integer", "number"]}
    if isinstance(kinds, list) and "number" in kinds:
        return {**schema, "type": ["integer", *kinds]}
    return schema


def _rewritten(value: Any, change: Callable[[Schema], Schema], *, is_schema: bool = True) -> Any:
    """
    Applies a change to a schema and its nested schemas, innermost first. Removes limits and all formats but date-time,
    date and binary.
    """
    if isinstance(value, list):
        return [_rewritten(each, change) for each in value]
    if not isinstance(value, dict):
        return value
    if not is_schema:
        return {name: _rewritten(each, change) for name, each in value.items()}
    inner = {
        key: _rewritten(each, change, is_schema=key != "properties")
        for key, each in value.items()
        if key not in _CONSTRAINTS and not (key == "format" and each not in ("date-time", "date", "binary"))
    }
    return change(inner)
