"""The clients."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import TracebackType

import httpx
from typing_extensions import Self

from ._api import Api, AsyncApi
from ._async_resources import AsyncResources
from ._requests import ResponseInfo, Settings
from ._resources import Resources
from ._waits import Polling, ReachedStatus, has_reached
from .models import MessageDetail, SandboxClock


class Client(Resources):
    """
    The API, with an attribute for each resource: `client.calendar.appointments.create(…)`. Threads may share a client.
    To close the connections, use it in a `with` statement or call `close()`.
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        retries: int = 2,
        timeout: float = 30.0,
        on_response: Callable[[ResponseInfo], None] | None = None,
        http_client: httpx.Client | None = None,
    ) -> None:
        """
        Args:
            base_url: Address of the API without `/v1`, such as `https://api.example.com`.
            api_key: An API key: `cp_live_…`, or `cp_test_…` for the sandbox.
            retries: Retries after 429, 502, 503, 504, 409 with Retry-After, a broken connection or a timeout. They are
                safe: a write has the same Idempotency-Key in all attempts. If a response asks to wait for more than a
                minute, the call fails instead, and the error's `retry_after` has the seconds.
            timeout: Seconds until the response of an attempt must be complete.
            on_response: Called with every response, also before a retry. Use it for logs and metrics.
            http_client: Sends the requests, such as through a proxy or with your own certificates. You close it.

        Raises:
            ValueError: `base_url` or `api_key` is malformed, or `timeout` is not above 0.
        """
        settings = Settings(base_url, api_key, retries, timeout, on_response)
        http = http_client or httpx.Client()
        self._owned = None if http_client else http
        super().__init__(Api(settings, http))

    def wait_for_message(
        self, message_id: str, status: ReachedStatus = "delivered", *, timeout: float = 60.0
    ) -> MessageDetail:
        """
        Returns a message as soon as it reaches or has passed a status: sent, delivered, read.

        Raises:
            WaitError: The message failed, was canceled or refused, or did not reach the status in time.
        """
        polling = Polling(f"the message {message_id}", timeout)
        while not has_reached(message := self.messages.get(message_id), status):
            time.sleep(polling.interval(message.status))
        return message

    def wait_for_clock(self, *, timeout: float = 60.0) -> SandboxClock:
        """
        Returns the sandbox clock as soon as it is ready: the clock is at its target, and all due work is done.

        Raises:
            WaitError: The clock is still advancing after `timeout` seconds.
        """
        polling = Polling("the sandbox's clock", timeout)
        while (clock := self.sandbox.clock.get()).status != "ready":
            time.sleep(polling.interval(clock.status))
        return clock

    def close(self) -> None:
        """Closes the connections."""
        if self._owned:
            self._owned.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client(base_url={self._api.settings.base_url!r})"


class AsyncClient(AsyncResources):
    """The asyncio client. Await the methods of `Client`. Use it in an `async with` statement, or call `close()`."""

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        retries: int = 2,
        timeout: float = 30.0,
        on_response: Callable[[ResponseInfo], None] | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        """Takes the arguments of `Client`."""
        settings = Settings(base_url, api_key, retries, timeout, on_response)
        http = http_client or httpx.AsyncClient()
        self._owned = None if http_client else http
        super().__init__(AsyncApi(settings, http))

    async def wait_for_message(
        self, message_id: str, status: ReachedStatus = "delivered", *, timeout: float = 60.0
    ) -> MessageDetail:
        """Returns a message as soon as it reaches or has passed a status, as `Client` does."""
        polling = Polling(f"the message {message_id}", timeout)
        while not has_reached(message := await self.messages.get(message_id), status):
            await asyncio.sleep(polling.interval(message.status))
        return message

    async def wait_for_clock(self, *, timeout: float = 60.0) -> SandboxClock:
        """Returns the sandbox clock as soon as it is ready, as `Client` does."""
        polling = Polling("the sandbox's clock", timeout)
        while (clock := await self.sandbox.clock.get()).status != "ready":
            await asyncio.sleep(polling.interval(clock.status))
        return clock

    async def close(self) -> None:
        """Closes the connections."""
        if self._owned:
            await self._owned.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient(base_url={self._api.settings.base_url!r})"
