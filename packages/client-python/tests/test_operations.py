"""Each operation's method sends the request examples of the document, and parses the response examples."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from pydantic import BaseModel

from customer_platform import Client, Pages, events
from customer_platform._responses import event, parsed

from .server import ScriptedServer, responding

DOCUMENT: dict[str, Any] = json.loads(
    (Path(__file__).parent / "../../../docs/reference/openapi.json").read_text("utf-8")
)
METHODS = ("get", "post", "put", "patch", "delete")
OPERATIONS = [
    pytest.param(method, path, operation, id=operation["x-client-name"])
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    if method in METHODS and operation["x-client-name"] != "events.stream"
]


def resolve(value: dict[str, Any]) -> dict[str, Any]:
    """Resolves a reference."""
    resolved: dict[str, Any] = DOCUMENT
    for part in value["$ref"].split("/")[1:] if "$ref" in value else []:
        resolved = resolved[part]
    return resolved if "$ref" in value else value


def example_of(media: dict[str, Any]) -> Any:
    """The first example of a body."""
    if "example" in media:
        return media["example"]
    return resolve(next(iter(media["examples"].values())))["value"]


def snake_case(name: str) -> str:
    return re.sub(r"([A-Z])", r"_\1", name).lower()


def argument(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def unknown_fields(value: object) -> Iterator[str]:
    """Yields the unknown fields of an object and its nested objects."""
    if isinstance(value, BaseModel):
        yield from value.model_extra or {}
        for each in value.__dict__.values():
            yield from unknown_fields(each)
    elif isinstance(value, list):
        for each in value:
            yield from unknown_fields(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from unknown_fields(each)


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_an_operation_has_a_method(
    server: ScriptedServer, client: Client, method: str, path: str, operation: dict[str, Any]
) -> None:
    status, success = next((int(status), each) for status, each in operation["responses"].items() if status < "3")
    content = success.get("content", {})
    if content:
        server.script = [responding(status, example_of(content["application/json"]))]
    else:
        server.script = [lambda exchange: exchange.send(status, b"")]
    called: Any = client
    for name in operation["x-client-name"].split("."):
        called = getattr(called, argument(snake_case(name)))
    parameters = [resolve(each) for each in operation.get("parameters", [])]
    path_values = {each["name"]: each["example"] for each in parameters if each["in"] == "path"}
    query = {each["name"]: each["example"] for each in parameters if each["in"] == "query" and each.get("required")}
    media_type, media = next(iter(operation.get("requestBody", {}).get("content", {}).items()), ("", {}))
    body = example_of(media) if media else {}
    if media_type == "multipart/form-data":
        body = {**body, "file": ("hours.txt", b"9 to 5")}
    fields = {argument(name): value for name, value in {**query, **body}.items()}
    result = called(*path_values.values(), **fields)
    if isinstance(result, Pages):
        result = result.page().data

    [request] = server.received
    expected = re.sub(r"\{(\w+)\}", lambda match: quote(str(path_values[match[1]]), safe=""), path)
    assert (request.method.lower(), request.path.split("?")[0]) == (method, expected)
    assert bool(request.headers["idempotency-key"]) == (method in ("post", "patch", "delete"))
    if media_type == "application/json":
        assert json.loads(request.body or b"{}") == body
    assert (result is None) == (not content)
    assert [*unknown_fields(result)] == []


@pytest.mark.parametrize("kind", DOCUMENT["webhooks"])
def test_an_event_is_of_the_class_of_its_kind(kind: str) -> None:
    example = example_of(DOCUMENT["webhooks"][kind]["post"]["requestBody"]["content"]["application/json"])
    found = parsed(json.dumps(example), event)
    assert type(found) is events.CLASSES[kind]
    assert [*unknown_fields(found)] == []
