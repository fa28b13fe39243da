"""Sends requests until they succeed or no retry is left."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, TypeVar

import httpx

from ._requests import Outcome, Prepared, Request, Settings, failure_of, outcome_of, prepare, result_of
from ._retries import retry_delay

T = TypeVar("T")


class Api:
    """The API over blocking connections. Threads may share it."""

    def __init__(self, settings: Settings, http: httpx.Client) -> None:
        self.settings = settings
        self.http = http

    def call(self, request: Request, parse: Callable[[Any], T]) -> T:
        """
        Returns the operation's result. Raises CustomerPlatformError, or ValueError or TypeError for an argument that
        cannot be sent.
        """
        prepared = prepare(request, self.settings)
        attempt = 1
        while True:
            outcome = self._attempt(prepared)
            if outcome.error is None:
                return result_of(outcome, parse, str(prepared))
            delay = retry_delay(outcome.error, outcome.retry_after, attempt, self.settings.retries)
            if delay is None:
                raise outcome.error
            time.sleep(delay)
            attempt += 1

    def _attempt(self, prepared: Prepared) -> Outcome:
        deadline = time.monotonic() + prepared.timeout
        try:
            # A redirect could send the API key to another server.
            response = self.http.send(prepared.request, stream=True, follow_redirects=False)
            try:
                body = bytearray()
                # httpx limits the wait for each chunk. This limits the whole response.
                for part in response.iter_bytes():
                    body += part
                    if time.monotonic() > deadline:
                        raise httpx.ReadTimeout("the response is late")
            finally:
                response.close()
        except httpx.HTTPError as error:
            failure = failure_of(error, str(prepared), prepared.timeout)
            failure.__cause__ = error
            return Outcome(error=failure)
        return outcome_of(response, bytes(body), prepared, self.settings)


class AsyncApi:
    """The API in asyncio."""

    def __init__(self, settings: Settings, http: httpx.AsyncClient) -> None:
        self.settings = settings
        self.http = http

    async def call(self, request: Request, parse: Callable[[Any], T]) -> T:
        """Returns the operation's result. Raises the same errors as `Api.call`."""
        prepared = prepare(request, self.settings)
        attempt = 1
        while True:
            outcome = await self._attempt(prepared)
            if outcome.error is None:
                return result_of(outcome, parse, str(prepared))
            delay = retry_delay(outcome.error, outcome.retry_after, attempt, self.settings.retries)
            if delay is None:
                raise outcome.error
            await asyncio.sleep(delay)
            attempt += 1

    async def _attempt(self, prepared: Prepared) -> Outcome:
        deadline = time.monotonic() + prepared.timeout
        try:
            response = await self.http.send(prepared.request, stream=True, follow_redirects=False)
            try:
                body = bytearray()
                async for part in response.aiter_bytes():
                    body += part
                    if time.monotonic() > deadline:
                        raise httpx.ReadTimeout("the response is late")
            finally:
                await response.aclose()
        except httpx.HTTPError as error:
            failure = failure_of(error, str(prepared), prepared.timeout)
            failure.__cause__ = error
            return Outcome(error=failure)
        return outcome_of(response, bytes(body), prepared, self.settings)
