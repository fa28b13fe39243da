"""Which requests are retried."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from customer_platform import ApiConnectionError, ApiError, Client
from customer_platform._retries import backoff, retry_after_of

from .samples import CONTACT
from .server import Exchange, Play, ScriptedServer, refusing, responding


def broken_later(exchange: Exchange) -> None:
    exchange.send_response_only(200)
    exchange.send_header("content-length", "1000")
    exchange.end_headers()
    exchange.wfile.write(b'{"id":')
    exchange.abort()


@pytest.mark.parametrize(
    "fault",
    [
        refusing(429),
        refusing(502),
        refusing(503),
        refusing(504),
        refusing(409, headers={"retry-after": "0"}),
        Exchange.abort,
        broken_later,
    ],
    ids=["429", "502", "503", "504", "409 with Retry-After", "no response", "half a response"],
)
def test_a_temporary_fault_is_followed_by_the_same_body_and_key(
    server: ScriptedServer, client: Client, fault: Play
) -> None:
    server.script = [fault, fault, responding(201, CONTACT)]
    assert client.cdp.contacts.create(name="Ada").name == CONTACT["name"]
    sent = {(each.body, each.headers["idempotency-key"]) for each in server.received}
    assert len(server.received) == 3
    assert len(sent) == 1
    assert json.loads(server.received[0].body) == {"name": "Ada"}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 500])
def test_any_other_refusal_is_not_sent_again(server: ScriptedServer, client: Client, status: int) -> None:
    server.script = [refusing(status)]
    with pytest.raises(ApiError) as caught:
        client.cdp.contacts.create(name="Ada")
    assert caught.value.status == status
    assert len(server.received) == 1


def test_a_wait_of_more_than_a_minute_is_left_to_the_caller(server: ScriptedServer, client: Client) -> None:
    server.script = [refusing(429, headers={"retry-after": "61"})]
    with pytest.raises(ApiError) as caught:
        client.me.get()
    assert caught.value.retry_after == 61
    assert len(server.received) == 1


def test_there_are_two_retries_or_as_many_as_are_asked_for(server: ScriptedServer, client: Client) -> None:
    server.script = [refusing(503)]
    with pytest.raises(ApiError):
        client.me.get()
    assert len(server.received) == 3
    server.script = [Exchange.abort]
    with (
        Client(base_url=server.url, api_key="cp_test_key", retries=1) as other,
        pytest.raises(ApiConnectionError),
    ):
        other.me.get()
    assert len(server.received) == 5


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "0"}, 0),
        ({"retry-after": "120"}, 120),
        ({"retry-after": "Fri, 20 Nov 2026 09:00:30 GMT", "date": "Fri, 20 Nov 2026 09:00:00 GMT"}, 30),
        ({"retry-after": "Fri, 20 Nov 2026 08:00:00 GMT", "date": "Fri, 20 Nov 2026 09:00:00 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_retry_after_is_seconds_or_a_date_by_the_clock_of_the_server(
    headers: Mapping[str, str], seconds: float | None
) -> None:
    assert retry_after_of(headers) == seconds


def test_a_backoff_is_random_below_a_bound_that_doubles() -> None:
    for attempt in (1, 2, 3, 10, 1_000_000):
        waits = [backoff(attempt, longest=5) for _ in range(200)]
        assert min(waits) >= 0
        assert max(waits) <= min(5, 0.25 * 2 ** min(attempt - 1, 10))
        assert len({*waits}) > 100
