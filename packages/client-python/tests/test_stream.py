"""The event stream."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections.abc import Callable

import pytest

from customer_platform import ApiError, AsyncClient, Client, Event, Reconnect, ResponseError, events

from .samples import CONTACT, EVENT
from .server import Exchange, Play, ScriptedServer, refusing, responding


def event_of(sequence: int, name: str = "") -> str:
    event = {**EVENT, "id": f"e{sequence}", "data": {"contact": {**CONTACT, "name": name}}}
    return f"id: {sequence}\nevent: contact.created\ndata: {json.dumps(event)}\n\n"


def stream_of(*parts: str, then: Callable[[Exchange], None] = Exchange.wait_for_end) -> Play:
    def play(exchange: Exchange) -> None:
        exchange.begin("text/event-stream; charset=utf-8")
        for part in parts:
            exchange.wfile.write(part.encode())
        then(exchange)

    return play


def ended(*parts: str) -> Play:
    return stream_of(*parts, then=lambda _exchange: None)


def last_event_ids(server: ScriptedServer) -> list[str | None]:
    return [each.headers["last-event-id"] for each in server.received]


def take(client: Client, count: int, **options: object) -> list[Event]:
    return [*itertools.islice(client.events.stream(**options), count)]  # type: ignore[arg-type]


def test_each_event_has_its_sequence_of_the_asked_kinds_and_after_the_asked_place(
    server: ScriptedServer, client: Client
) -> None:
    server.script = [stream_of(": welcome\n\n", event_of(8, "Ada"), event_of(9))]
    stream = client.events.stream(types=["contact.*", "order.declined"], after_sequence=7)
    first, second = next(stream), next(stream)
    assert isinstance(first, events.ContactCreatedEvent)
    assert (first.sequence, first.data.contact.name, second.sequence) == (8, "Ada", 9)
    [request] = server.received
    assert request.path == "/v1/events/stream?types=contact.%2A%2Corder.declined"
    assert (request.headers["last-event-id"], request.headers["authorization"]) == ("7", "Bearer cp_test_key")


def test_a_stream_begins_after_the_newest_event_so_that_one_that_breaks_misses_none(
    server: ScriptedServer, client: Client
) -> None:
    page = {"data": [{"sequence": 40}], "has_more": True, "next": "x"}
    server.script = [responding(200, page), stream_of(then=Exchange.abort), stream_of(event_of(41))]
    assert [each.sequence for each in take(client, 1)] == [41]
    assert last_event_ids(server) == [None, "40", "40"]


def test_a_stream_resumes_where_it_broke_or_ended_and_shows_nothing_twice(
    server: ScriptedServer, client: Client
) -> None:
    server.script = [
        stream_of(event_of(1), event_of(2), then=Exchange.abort),
        ended(event_of(2), event_of(3)),
        ended("id: 5\n\n"),
        stream_of(event_of(6)),
    ]
    assert [each.sequence for each in take(client, 4, after_sequence=0)] == [1, 2, 3, 6]
    assert last_event_ids(server) == ["0", "2", "3", "5"]


def test_a_stream_resumes_after_429_5xx_what_is_no_response_of_the_api_and_silence(
    server: ScriptedServer, client: Client
) -> None:
    server.script = [
        refusing(429, "rate_limited", {"retry-after": "0"}),
        refusing(503),
        lambda exchange: exchange.send(502, b"<h1>Bad gateway</h1>"),
        stream_of(": welcome\n\n"),
        stream_of(event_of(1)),
    ]
    told: list[Reconnect] = []
    assert len(take(client, 1, after_sequence=0, timeout=1.0, on_reconnect=told.append)) == 1
    names = ["RateLimited", "ServiceUnavailable", "ResponseError", "ApiTimeoutError"]
    assert [type(each.error).__name__ for each in told] == names


def test_a_stream_waits_as_long_as_retry_and_retry_after_ask_for(server: ScriptedServer, client: Client) -> None:
    server.script = [
        ended("retry: 700\n\n"),
        refusing(429, "rate_limited", {"retry-after": "1"}),
        stream_of(event_of(1)),
    ]
    told: list[Reconnect] = []
    take(client, 1, after_sequence=0, on_reconnect=told.append)
    assert told[0].after >= 0.7
    assert told[1].after >= 1


@pytest.mark.parametrize(
    ("status", "code"), [(400, "invalid_request"), (401, "invalid_key"), (403, "scope_missing"), (404, "not_found")]
)
def test_a_stream_ends_with_the_error_where_the_api_refuses_it(
    server: ScriptedServer, client: Client, status: int, code: str
) -> None:
    server.script = [stream_of(event_of(1), then=Exchange.abort), refusing(status, code)]
    stream = client.events.stream(after_sequence=0)
    assert next(stream).sequence == 1
    with pytest.raises(ApiError) as caught:
        next(stream)
    assert (caught.value.status, caught.value.code) == (status, code)
    assert [*stream] == []


@pytest.mark.parametrize(
    "play",
    [
        lambda exchange: exchange.send(200, b"<p>", {"content-type": "text/html"}),
        stream_of("data: {}\n\n"),
        stream_of("id: 1\ndata: [1]\n\n"),
        stream_of("id: 1\n", *[f"data: {'x' * 65_536}\n" for _ in range(33)]),
    ],
    ids=["a page", "an event without a sequence", "an event that is none", "an event without an end"],
)
def test_a_stream_ends_with_an_error_where_the_response_is_no_stream_of_events(
    server: ScriptedServer, client: Client, play: Play
) -> None:
    server.script = [play]
    with pytest.raises(ResponseError):
        take(client, 1, after_sequence=0)
    assert len(server.received) == 1


def test_closing_a_stream_closes_its_connection(server: ScriptedServer, client: Client) -> None:
    closed = threading.Event()

    def wait(exchange: Exchange) -> None:
        exchange.wait_for_end()
        closed.set()

    server.script = [stream_of(event_of(1), event_of(2), then=wait)]
    stream = client.events.stream(after_sequence=0)
    next(stream)
    assert not closed.is_set()
    stream.close()
    assert closed.wait(10)


def test_kinds_that_are_one_text_are_refused(client: Client) -> None:
    with pytest.raises(TypeError, match="types must be a list of kinds"):
        take(client, 1, types="order.*", after_sequence=0)


def test_the_stream_of_asyncio_does_the_same(server: ScriptedServer) -> None:
    server.script = [
        stream_of(event_of(1), event_of(2), then=Exchange.abort),
        refusing(503),
        ended(event_of(2), event_of(3)),
        refusing(403, "scope_missing"),
    ]

    seen: list[int | None] = []

    async def read() -> None:
        async with AsyncClient(base_url=server.url, api_key="cp_test_key") as client:
            async for event in client.events.stream(after_sequence=0, timeout=10):
                seen.append(event.sequence)

    with pytest.raises(ApiError, match="scope_missing"):
        asyncio.run(read())
    assert seen == [1, 2, 3]
    assert last_event_ids(server) == ["0", "2", "2", "3"]
