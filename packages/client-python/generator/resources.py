"""Generates the resources: classes with one method per operation."""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import dataclass, field

from .document import Document, Operation, Schema
from .models import ANY_EVENT, HEADER, argument_name, pascal_case, query_class

_STREAMS = {"events": "EventStreams"}
"""Base classes of resources with hand-written methods."""

_RESERVED = {"self", "idempotency_key", "timeout"}


@dataclass
class _Resource:
    """A resource with its operations and child resources."""

    name: str
    operations: list[Operation] = field(default_factory=list)
    children: dict[str, _Resource] = field(default_factory=dict)


def query_fields(inputs: str) -> str:
    """Source of the request types without the query classes, which only the generator needs."""
    queries = [
        each for each in ast.parse(inputs).body if isinstance(each, ast.ClassDef) and each.name.endswith("Query")
    ]
    lines = inputs.split("\n")
    for each in reversed(queries):
        del lines[each.lineno - 1 : each.end_lineno]
    return "\n".join(lines)


class ResourceWriter:
    """Writes the resources of the blocking or the asyncio client."""

    def __init__(self, document: Document, inputs: str, *, is_async: bool) -> None:
        self._document = document
        self._is_async = is_async
        self._prefix = "Async" if is_async else ""
        self._classes = {each.name: each for each in ast.parse(inputs).body if isinstance(each, ast.ClassDef)}
        named = [
            each.target.id
            for each in ast.parse(inputs).body
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
        ]
        self._input_names = {*self._classes, *named}

    def source(self, operations: list[Operation]) -> str:
        """Source of the module."""
        root = _Resource("")
        for operation in operations:
            *path, _ = operation.name.split(".")
            resource = root
            for name in path:
                resource = resource.children.setdefault(name, _Resource(".".join(path[: path.index(name) + 1])))
            if not operation.is_stream:
                resource.operations.append(operation)
        classes = [self._class(each) for each in _below(root)]
        streams = ", ".join(self._prefix + each for each in _STREAMS.values())
        api, pages = f"{self._prefix}Api", f"{self._prefix}Pages"
        # Methods named `list` hide the builtin in annotations, so the source imports `builtins`.
        return f'''{HEADER}"""The API's resources{" in asyncio" if self._is_async else ""}."""

from __future__ import annotations

import builtins
from typing import Any, Literal

from . import inputs, models
from ._api import {api}
from ._requests import Request
from ._responses import event, knowledge_source, nothing
from ._stream import {streams}
from ._values import NOT_GIVEN, File, NotGiven, Time, given
from .events import Event
from .pages import {pages}

{"".join(classes)}
{self._root(root)}
'''

    def _class_name(self, resource: _Resource) -> str:
        return f"{self._prefix}{pascal_case(resource.name)}"

    def _root(self, root: _Resource) -> str:
        attributes = "\n".join(self._attribute(name, child) for name, child in root.children.items())
        return f'''class {self._prefix}Resources:
    """All resources."""

    def __init__(self, api: {self._prefix}Api) -> None:
        self._api = api
{attributes}
'''

    def _attribute(self, name: str, child: _Resource) -> str:
        return f"        self.{snake_case(name)} = {self._class_name(child)}(api)"

    def _class(self, resource: _Resource) -> str:
        base = _STREAMS.get(resource.name)
        methods = {snake_case(each.name.rpartition(".")[2]): each for each in resource.operations}
        clashes = {*methods} & {snake_case(name) for name in resource.children}
        if clashes or len(methods) != len(resource.operations):
            raise ValueError(f"{resource.name} uses a name twice: {', '.join(sorted(clashes or methods))}")
        lines = [f"class {self._class_name(resource)}{f'({self._prefix}{base})' if base else ''}:"]
        lines.append(f'    """{_title(resource)}."""\n')
        lines.append(f"    def __init__(self, api: {self._prefix}Api) -> None:")
        lines.append("        super().__init__(api)" if base else "        self._api = api")
        lines.extend(self._attribute(name, child) for name, child in resource.children.items())
        return "\n".join([*lines, "", *(self._method(name, each) for name, each in methods.items())]) + "\n"

    def _method(self, name: str, operation: Operation) -> str:
        item = self._document.page_item(operation.response) if operation.response else None
        returned, parse = _response(item or operation.response)
        fields = [
            *self._fields(operation.body_name, operation.body),
            *self._fields(query_class(operation), operation.query),
        ]
        path = [f"{each}: {_path_type(schema)}" for each, schema in operation.path_parameters.items()]
        names = [*operation.path_parameters, *(each.argument for each in fields)]
        if len({*names}) != len(names) or {*names} & _RESERVED:
            raise ValueError(f"{operation.name} has a duplicate or reserved parameter: {', '.join(names)}")
        # Required keywords come first. Keyword order has no meaning to callers.
        keywords = [each.parameter for each in sorted(fields, key=lambda each: not each.is_required)]
        if operation.takes_key:
            keywords.append("idempotency_key: str | None = None")
        keywords.append("timeout: float | None = None")
        is_list = item is not None
        awaits = self._is_async and not is_list
        result = f"{self._prefix}Pages[{returned}]" if is_list else returned
        signature = ", ".join(["self", *path, "*", *keywords])
        head = f"    {'async ' if awaits else ''}def {name}({signature}) -> {result}:"
        request = self._request(operation)
        call = (
            f"{self._prefix}Pages(self._api, {request}, {parse})"
            if is_list
            else f"{'await ' if awaits else ''}self._api.call({request}, {parse})"
        )
        # A method without a response body returns None.
        body = f"        {'' if returned == 'None' else 'return '}{call}"
        return "\n".join([head, self._comment(operation, fields, is_list=is_list), body, ""])

    def _request(self, operation: Operation) -> str:
        parts = [f'"{operation.name}"', f'"{operation.method}"', f'"{operation.path}"']
        if operation.path_parameters:
            parts.append(f"path_values={_dict({each: each for each in operation.path_parameters})}")
        if operation.query:
            parts.append(f"query={_dict(self._sent(query_class(operation), operation.query))}")
        if operation.body:
            parts.append(f"body={_dict(self._sent(operation.body_name, operation.body))}")
        if operation.is_multipart:
            parts.append("is_multipart=True")
        if operation.takes_key:
            parts.append("idempotency_key=idempotency_key")
        return f"Request({', '.join([*parts, 'timeout=timeout'])})"

    def _sent(self, class_name: str, schema: Schema) -> dict[str, str]:
        return {each.name: each.sent for each in self._fields(class_name, schema)}

    def _fields(self, class_name: str, schema: Schema | None) -> list[_Field]:
        if schema is None:
            return []
        annotations = _annotations(self._classes[class_name])
        required = schema.get("required", [])
        properties: dict[str, Schema] = schema["properties"]
        return [
            _Field(
                name, self._annotation(annotations[argument_name(name)]), name in required, each.get("description", "")
            )
            for name, each in properties.items()
        ]

    def _annotation(self, annotation: ast.expr) -> str:
        if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "NotRequired":
            annotation = annotation.slice
        return ast.unparse(_Qualified(self._input_names).visit(annotation))

    def _comment(self, operation: Operation, fields: list[_Field], *, is_list: bool) -> str:
        scope = f"scope `{operation.scope}`" if operation.scope else "any key"
        lines = [f"{operation.summary}.", "", operation.description, ""]
        if is_list:
            lines += ["Iterate over it for all entries, or take one page with `page()`.", ""]
        if operation.deprecated:
            lines += ["Deprecated.", ""]
        lines += [f"`{operation.method} {operation.path}`, {scope}.", "", "Args:"]
        for name, schema in operation.path_parameters.items():
            lines.append(f"    {name}: {schema['description']}")
        lines += [f"    {each.argument}: {each.description}" for each in fields if each.description]
        if operation.takes_key:
            lines.append(
                "    idempotency_key: Under the same key the write happens once, for 24 hours. Default: a new UUID."
            )
        lines.append("    timeout: Seconds in which the response of each attempt must be there. Default: the client's.")
        text = "\n".join(lines).replace("\\", "\\\\").replace('"""', r"\"\"\"")
        return textwrap.indent(f'"""{text}\n"""', "        ")


@dataclass(frozen=True)
class _Field:
    """A field of a body or query as a method's keyword argument."""

    name: str
    annotation: str
    is_required: bool
    description: str

    @property
    def argument(self) -> str:
        """Name of the keyword argument."""
        return argument_name(self.name)

    @property
    def is_nullable(self) -> bool:
        """Whether the API accepts null."""
        return re.search(r"\| None$", self.annotation) is not None

    @property
    def parameter(self) -> str:
        """The parameter in the method's signature."""
        if self.is_required:
            return f"{self.argument}: {self.annotation}"
        if self.is_nullable:
            return f"{self.argument}: {self.annotation} | NotGiven = NOT_GIVEN"
        return f"{self.argument}: {self.annotation} | None = None"

    @property
    def sent(self) -> str:
        """The expression that is sent for the field."""
        return self.argument if self.is_required or self.is_nullable else f"given({self.argument})"


class _Qualified(ast.NodeTransformer):
    """Qualifies request types with `inputs` and `list` with `builtins`, since methods named `list` hide the builtin."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Returns the qualified name."""
        if node.id in self._names:
            return ast.Attribute(ast.Name("inputs"), node.id)
        return ast.Attribute(ast.Name("builtins"), "list") if node.id == "list" else node


def _annotations(definition: ast.ClassDef) -> dict[str, ast.expr]:
    return {
        each.target.id: each.annotation
        for each in definition.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }


def _response(name: str | None) -> tuple[str, str]:
    """A response's type, and the function that parses it from JSON."""
    if name is None:
        return "None", "nothing"
    if name in ANY_EVENT:
        return "Event", "event"
    if name == "KnowledgeSource":
        return "models.KnowledgeSource", "knowledge_source"
    return f"models.{name}", f"models.{name}.model_validate"


def _path_type(schema: Schema) -> str:
    return "int" if schema.get("type") == "integer" else "str"


def _dict(entries: dict[str, str]) -> str:
    return f"{{{', '.join(f'{name!r}: {value}' for name, value in entries.items())}}}"


def _below(resource: _Resource) -> list[_Resource]:
    """All descendants of a resource, children before parents, so that classes are defined before use."""
    return [each for child in resource.children.values() for each in [*_below(child), child]]


def _title(resource: _Resource) -> str:
    return f"Operations of `{'.'.join(snake_case(each) for each in resource.name.split('.'))}`"


def snake_case(name: str) -> str:
    """`freeTimes` as `free_times`."""
    snake = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
    return argument_name(snake)
