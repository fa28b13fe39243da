"""Builds requests and interprets responses. Both clients share this code."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import httpx

from . import _error_codes, _values
from ._responses import parsed
from ._retries import retry_after_of
from ._version import VERSION
from .errors import ApiConnectionError, ApiError, ApiTimeoutError, CustomerPlatformError, ResponseError

T = TypeVar("T")


@dataclass(frozen=True)
class ResponseInfo:
    """A response of the API, for logs and metrics."""

    operation: str
    """Name of the method, such as `calendar.appointments.create`."""
    method: str
    path: str
    """The path with its parameters filled in, without the query."""
    status: int
    headers: Mapping[str, str]
    """Headers by lower-case name, such as `request-id`."""


@dataclass(frozen=True)
class Settings:
    """The API's address and key, and how requests are sent."""

    base_url: str
    api_key: str = field(repr=False)
    retries: int
    timeout: float
    on_response: Callable[[ResponseInfo], None] | None = None

    def __post_init__(self) -> None:
        address = urlsplit(self.base_url)
        if address.scheme not in ("http", "https") or not address.netloc or re.search(r"/v1/?$", address.path):
            raise ValueError(
                "base_url must be the API's address without /v1, such as https://api.example.com, "
                f"not {self.base_url!r}"
            )
        if not re.fullmatch(r"[\x21-\x7e]+", self.api_key or ""):
            raise ValueError("api_key must be an API key, cp_live_… or cp_test_…")
        if self.timeout <= 0:
            raise ValueError(f"timeout must be a number of seconds above 0, not {self.timeout!r}")

    def url(self, path: str) -> str:
        """The URL of a path."""
        return self.base_url.rstrip("/") + path

    def headers(self, accept: str) -> dict[str, str]:
        """Headers of each request."""
        agent = f"customer-platform-python/{VERSION}"
        return {"authorization": f"Bearer {self.api_key}", "accept": accept, "user-agent": agent}


@dataclass(frozen=True)
class Request:
    """A call of an operation."""

    operation: str
    method: str
    path: str
    """Template of the path, such as `/v1/cdp/contacts/{contact_id}`."""
    path_values: Mapping[str, object] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    is_multipart: bool = False
    idempotency_key: str | None = None
    timeout: float | None = None
    """Seconds until the response of an attempt must be complete; None: the client's timeout."""


@dataclass(frozen=True)
class Prepared:
    """A request that all attempts send. The bytes stay the same since an Idempotency-Key belongs to one body."""

    operation: str
    request: httpx.Request
    path: str
    timeout: float

    def __str__(self) -> str:
        return f"{self.request.method} {self.request.url.copy_with(query=None)}"


def prepare(request: Request, settings: Settings) -> Prepared:
    """Returns the request to send. Raises ValueError or TypeError for an argument that cannot be sent."""
    path = _path_of(request)
    headers = settings.headers("application/json")
    # PUT is idempotent without a key.
    if request.method in ("POST", "PATCH", "DELETE"):
        headers["idempotency-key"] = request.idempotency_key or str(uuid.uuid4())
    query = {
        name: _values.query_text(value, name) for name, value in request.query.items() if value is not _values.NOT_GIVEN
    }
    timeout = request.timeout if request.timeout is not None else settings.timeout
    built = httpx.Request(
        request.method,
        settings.url(path),
        params=query,
        headers=headers,
        extensions={"timeout": httpx.Timeout(timeout).as_dict()},
        **_content_of(request),
    )
    built.read()
    return Prepared(request.operation, built, path, timeout)


def _path_of(request: Request) -> str:
    def value_of(match: re.Match[str]) -> str:
        value = str(request.path_values[match[1]])
        # These values would change the path to that of another operation.
        if value in ("", ".", ".."):
            raise ValueError(f"{request.operation}: {match[1]} must be an id, not {value!r}")
        return quote(value, safe="")

    return re.sub(r"\{(\w+)\}", value_of, request.path)


def _content_of(request: Request) -> dict[str, Any]:
    if request.body is None:
        return {}
    fields = {name: value for name, value in request.body.items() if value is not _values.NOT_GIVEN}
    if not request.is_multipart:
        return {"json": {name: _values.plain(value, name) for name, value in fields.items()}}
    name, content = _values.file_part(fields.pop("file"))
    return {
        "files": {"file": (name, content)},
        "data": {name: _values.query_text(value, name) for name, value in fields.items()},
    }


@dataclass(frozen=True)
class Outcome:
    """The result of an attempt: the body of a successful response, or an error."""

    body: str = ""
    status: int = 0
    error: CustomerPlatformError | None = None
    retry_after: float | None = None


def outcome_of(response: httpx.Response, body: bytes, prepared: Prepared, settings: Settings) -> Outcome:
    """Returns the outcome of a response, and passes the response to `on_response`."""
    if settings.on_response:
        line = (prepared.operation, prepared.request.method, prepared.path)
        settings.on_response(ResponseInfo(*line, response.status_code, dict(response.headers)))
    text = body.decode("utf-8", "replace")
    if response.is_success:
        return Outcome(text, response.status_code)
    return Outcome(error=error_of(response, text, str(prepared)), retry_after=retry_after_of(response.headers))


def failure_of(error: httpx.HTTPError, what: str, timeout: float) -> CustomerPlatformError:
    """Returns the error of an attempt without a complete response."""
    if isinstance(error, httpx.TimeoutException):
        return ApiTimeoutError(f"{what} got no complete response within {timeout:g} s")
    return ApiConnectionError(f"{what} failed: {error or type(error).__name__}")


def error_of(response: httpx.Response, text: str, what: str) -> ApiError | ResponseError:
    """
    Returns a response's error: an ApiError, or a ResponseError if the body is not the API's, such as a proxy's page.
    """
    try:
        details = json.loads(text)["error"]
        code, message, at_fault = details["code"], details["message"], details.get("field")
    except (ValueError, KeyError, TypeError, AttributeError):
        status = response.status_code
        return ResponseError(f"{what}: the response with status {status} does not come from the API", status, text)
    return _error_codes.CLASSES.get(str(code), ApiError)(
        response.status_code,
        str(code),
        str(message),
        field=at_fault,
        request_id=response.headers.get("request-id"),
        retry_after=retry_after_of(response.headers),
    )


def result_of(outcome: Outcome, parse: Callable[[Any], T], what: str) -> T:
    """Returns the object of a response's body. Raises ResponseError if the body is invalid."""
    try:
        return parsed(outcome.body, parse)
    except ValueError as error:
        raise ResponseError(f"{what}: the response is invalid: {error}", outcome.status, outcome.body) from None
