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
    The API, with one attribute for each of its resources: `client.calendar.appointments.create(…)`. Threads may share
    it. Use it in a `with` statement, or close it, to close its connections.
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
            retries: Further attempts after 429, 502, 503, 504, 409 with Retry-After, a broken connection or a timeout.
                A write carries one Idempotency-Key in all its attempts, so that it happens once. There is none where a
                response asks to wait for more than a minute: `retry_after` of the error says how long.
            timeout: Seconds in which the whole response of an attempt must be there.
            on_response: Called with every response of the API, those that are retried too: for logs and metrics.
            http_client: Sends the requests, for proxies and certificates of your own. You close it.

        Raises:
            ValueError: `base_url` or `api_key` cannot be used.
        """
        settings = Settings(base_url, api_key, retries, timeout, on_response)
        http = http_client or httpx.Client()
        self._owned = None if http_client else http
        super().__init__(Api(settings, http))

    def wait_for_message(
        self, message_id: str, status: ReachedStatus = "delivered", *, timeout: float = 60.0
    ) -> MessageDetail:
        """
        Returns a message as soon as it has this status or one that follows it: sent, delivered, read.

        Raises:
            WaitError: It failed, was cancelled or refused, or has not reached the status after `timeout` seconds.
        """
        polling = Polling(f"the message {message_id}", timeout)
        while not has_reached(message := self.messages.get(message_id), status):
            time.sleep(polling.interval(message.status))
        return message

    def wait_for_clock(self, *, timeout: float = 60.0) -> SandboxClock:
        """
        Returns the sandbox's clock as soon as it is ready: it is at its target, and what fell due has been done.

        Raises:
            WaitError: It is still advancing after `timeout` seconds.
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
    """The API in asyncio: the methods of `Client`, to be awaited. Use it in an `async with` statement, or close it."""

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
        """Returns a message as soon as it has this status or one that follows it, as `Client` does."""
        polling = Polling(f"the message {message_id}", timeout)
        while not has_reached(message := await self.messages.get(message_id), status):
            await asyncio.sleep(polling.interval(message.status))
        return message

    async def wait_for_clock(self, *, timeout: float = 60.0) -> SandboxClock:
        """Returns the sandbox's clock as soon as it is ready, as `Client` does."""
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
