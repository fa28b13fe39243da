"""The event stream. It reconnects and resumes after the last event received."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import httpx

from ._api import Api, AsyncApi
from ._requests import Request, Settings, error_of, failure_of
from ._responses import event as event_of
from ._responses import parsed
from ._retries import backoff
from ._sse import SseMessage, SseParser
from .errors import ApiConnectionError, ApiError, ApiTimeoutError, CustomerPlatformError, ResponseError
from .events import Event, EventFilter

_PATH = "/v1/events/stream"
_LONGEST_BACKOFF = 30.0
_LONGEST_WAIT = 3600.0
"""Longest wait before a reconnect in seconds, even if the platform asks for more."""


@dataclass(frozen=True)
class Reconnect:
    """A reconnect that is about to happen."""

    error: CustomerPlatformError | None
    """Why the last connection ended; None if the platform closed it."""
    after: float
    """Seconds until the next attempt."""


class EventStreams:
    """The event stream of `Client`."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def stream(
        self,
        *,
        types: Sequence[EventFilter] | None = None,
        after_sequence: int | None = None,
        timeout: float = 45.0,
        on_reconnect: Callable[[Reconnect], None] | None = None,
    ) -> Generator[Event, None, None]:
        """
        Iterates over events as they happen, each once and in `sequence` order. A broken connection is reopened after
        the last event received. The stream runs until you leave the loop. The generator's `close()` closes the
        connection.

        Args:
            types: Kinds such as `order.declined`, families such as `order.*`, or `*`. Default: all.
            after_sequence: Starts after the event with this `sequence`, at most 30 days back. Default: starts with the
                next event.
            timeout: Seconds without a byte after which the connection counts as broken. The platform sends a comment
                every 15 s.
            on_reconnect: Called when a connection has ended, before the stream reconnects.

        Raises:
            CustomerPlatformError: The API refuses the stream.
        """
        position = _Position(self._start() if after_sequence is None else after_sequence)
        while True:
            try:
                with closing(self._open(types, position, timeout)) as response:
                    for piece in response.iter_bytes():
                        yield from position.events(piece)
                error = None
            except httpx.HTTPError as cause:
                error = failure_of(cause, f"GET {_PATH}", timeout)
            except CustomerPlatformError as refusal:
                error = refusal
            time.sleep(position.reconnect_after(error, on_reconnect))

    def _start(self) -> int:
        # Without a start sequence, a connection that breaks before its first event would resume with a gap.
        return self._api.call(_NEWEST, _sequence_of)

    def _open(self, types: Sequence[str] | None, position: _Position, timeout: float) -> httpx.Response:
        request = position.request(self._api.settings, types, timeout)
        response = self._api.http.send(request, stream=True, follow_redirects=False)
        try:
            if response.status_code != 200:
                response.read()
            _require_stream(response)
        except BaseException:
            response.close()
            raise
        return response


class AsyncEventStreams:
    """The event stream of `AsyncClient`."""

    def __init__(self, api: AsyncApi) -> None:
        self._api = api

    async def stream(
        self,
        *,
        types: Sequence[EventFilter] | None = None,
        after_sequence: int | None = None,
        timeout: float = 45.0,
        on_reconnect: Callable[[Reconnect], None] | None = None,
    ) -> AsyncGenerator[Event, None]:
        """
        Iterates over events as they happen, as the stream of `Client` does. The generator's `aclose()` closes the
        connection.
        """
        start = await self._api.call(_NEWEST, _sequence_of) if after_sequence is None else after_sequence
        position = _Position(start)
        while True:
            try:
                response = await self._open(types, position, timeout)
                try:
                    async for piece in response.aiter_bytes():
                        for event in position.events(piece):
                            yield event
                finally:
                    await response.aclose()
                error = None
            except httpx.HTTPError as cause:
                error = failure_of(cause, f"GET {_PATH}", timeout)
            except CustomerPlatformError as refusal:
                error = refusal
            await asyncio.sleep(position.reconnect_after(error, on_reconnect))

    async def _open(self, types: Sequence[str] | None, position: _Position, timeout: float) -> httpx.Response:
        request = position.request(self._api.settings, types, timeout)
        response = await self._api.http.send(request, stream=True, follow_redirects=False)
        try:
            if response.status_code != 200:
                await response.aread()
            _require_stream(response)
        except BaseException:
            await response.aclose()
            raise
        return response


_NEWEST = Request("events.list", "GET", "/v1/events", query={"limit": 1})


def _sequence_of(page: object) -> int:
    """The sequence of the newest event, 0 if there is none."""
    entries = page.get("data") if isinstance(page, dict) else None
    if not isinstance(entries, list):
        raise ValueError("not a page of events")
    return int(entries[0]["sequence"]) if entries else 0


def _require_stream(response: httpx.Response) -> None:
    """Raises an error unless the response is an event stream. With a status other than 200, the body must be read."""
    if response.status_code != 200:
        raise error_of(response, response.text, f"GET {_PATH}")
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        raise ResponseError("The response is not an event stream: its content type must be text/event-stream", 200)


class _Position:
    """The position of a stream across its connections."""

    def __init__(self, last: int) -> None:
        self._last = last
        self._failures = 0
        self._parser = SseParser()

    def request(self, settings: Settings, types: Sequence[str] | None, timeout: float) -> httpx.Request:
        """The request that opens the next connection."""
        self._failures += 1
        self._parser = SseParser()
        if isinstance(types, str):
            raise TypeError(f"types must be a list of kinds of events, such as ['order.*'], not {types!r}")
        headers = {**settings.headers("text/event-stream"), "last-event-id": str(self._last)}
        params = {"types": ",".join(types)} if types is not None else {}
        extensions = {"timeout": httpx.Timeout(timeout).as_dict()}
        return httpx.Request("GET", settings.url(_PATH), params=params, headers=headers, extensions=extensions)

    def events(self, piece: bytes) -> Iterator[Event]:
        """Yields the events that a chunk completes, except events that were yielded before."""
        self._failures = 0
        try:
            for message in self._parser.push(piece):
                event = self._event_of(message)
                if event:
                    yield event
        except ValueError as error:
            raise ResponseError(f"GET {_PATH}: the stream is invalid: {error}", 200) from None

    def _event_of(self, message: SseMessage) -> Event | None:
        if not re.fullmatch(r"[0-9]{1,15}", message.id or ""):
            raise ValueError(f"an event must have a sequence as its id, not {message.id!r}")
        sequence = int(message.id or "")
        if sequence <= self._last:
            return None
        self._last = sequence
        if not message.data:
            return None
        event = parsed(message.data, event_of)
        event.sequence = sequence
        return event

    def reconnect_after(
        self, error: CustomerPlatformError | None, on_reconnect: Callable[[Reconnect], None] | None
    ) -> float:
        """Seconds to wait before the next connection. Raises the error if it is final."""
        if error is not None and not _is_temporary(error):
            raise error
        asked = (error.retry_after if isinstance(error, ApiError) else self._parser.retry) or 0.0
        after = min(asked + backoff(max(self._failures, 1), _LONGEST_BACKOFF), _LONGEST_WAIT)
        if on_reconnect:
            on_reconnect(Reconnect(error, after))
        return after


def _is_temporary(error: CustomerPlatformError) -> bool:
    if isinstance(error, (ApiError, ResponseError)):
        return error.status == 429 or error.status >= 500
    return isinstance(error, (ApiConnectionError, ApiTimeoutError))
