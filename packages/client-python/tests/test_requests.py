"""Requests that a call sends, and the results and errors of responses."""

from __future__ import annotations

import json
import pickle
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from customer_platform import (
    NOT_GIVEN,
    ApiConnectionError,
    ApiError,
    ApiTimeoutError,
    Client,
    NotFound,
    ResponseError,
    ResponseInfo,
    SlotTaken,
)

from .samples import CONTACT, EVENT
from .server import Exchange, ScriptedServer, refusing, responding


def test_a_request_has_the_method_path_query_key_and_body_of_its_operation(
    server: ScriptedServer, client: Client
) -> None:
    server.script = [responding(200, CONTACT)]
    client.cdp.contacts.get("a/b?c")
    client.cdp.contacts.create(name="Ada", tags=["vip"], idempotency_key="once")
    server.script = [responding(200, {"data": [], "has_more": False, "next": None})]
    client.cdp.contacts.list(q="a&b", limit=3, phone=None).page()
    got, created, listed = server.received
    assert (got.method, got.path) == ("GET", "/v1/cdp/contacts/a%2Fb%3Fc")
    assert got.headers["authorization"] == "Bearer cp_test_key"
    assert got.headers["user-agent"].startswith("customer-platform-python/")
    assert (created.method, created.path) == ("POST", "/v1/cdp/contacts")
    assert json.loads(created.body) == {"name": "Ada", "tags": ["vip"]}
    assert (created.headers["content-type"], created.headers["idempotency-key"]) == ("application/json", "once")
    assert listed.path == "/v1/cdp/contacts?q=a%26b&limit=3"


def test_a_write_has_an_idempotency_key_of_its_own_and_a_read_or_put_has_none(
    server: ScriptedServer, client: Client
) -> None:
    server.script = [responding(200, CONTACT)]
    client.cdp.contacts.create(name="Ada")
    client.cdp.contacts.create(name="Ada")
    client.cdp.contacts.get("one")
    client.cdp.contacts.upsert_by_external_id("7", name="Ada")
    first, second, *others = [each.headers["idempotency-key"] for each in server.received]
    assert first
    assert second not in (None, first)
    assert others == [None, None]


def test_none_is_null_where_the_api_takes_null_and_left_out_elsewhere(server: ScriptedServer, client: Client) -> None:
    server.script = [responding(200, CONTACT)]
    client.cdp.contacts.update("one", phone=None, name="Ada", email=NOT_GIVEN)
    client.cdp.contacts.create(name="Ada", phone=None)
    updated, created = [json.loads(each.body) for each in server.received]
    assert updated == {"phone": None, "name": "Ada"}
    assert created == {"name": "Ada"}


def test_times_are_sent_with_their_offset_and_refused_without_one(server: ScriptedServer, client: Client) -> None:
    server.script = [responding(200, {"data": [], "has_more": False, "next": None})]
    at = datetime(2026, 11, 20, 9, tzinfo=timezone(timedelta(hours=1)))
    client.cdp.contacts.list(updated_since=at).page()
    assert server.received[0].path == "/v1/cdp/contacts?updated_since=2026-11-20T09%3A00%3A00%2B01%3A00"
    with pytest.raises(ValueError, match="updated_since must have a timezone"):
        client.cdp.contacts.list(updated_since=datetime(2026, 11, 20, 9)).page()


def test_a_field_that_is_a_keyword_of_python_has_an_underscore(server: ScriptedServer, client: Client) -> None:
    server.script = [responding(200, {"data": [], "has_more": False, "next": None})]
    client.calendar.appointments.list(from_="2026-11-20T00:00:00Z").page()
    assert server.received[0].path == "/v1/calendar/appointments?from=2026-11-20T00%3A00%3A00Z"


@pytest.mark.parametrize("identifier", ["..", ".", ""])
def test_a_request_that_would_have_the_path_of_another_operation_is_not_sent(
    server: ScriptedServer, client: Client, identifier: str
) -> None:
    with pytest.raises(ValueError, match=r"^cdp.contacts.delete: contact_id must be an id"):
        client.cdp.contacts.delete(identifier)
    assert server.received == []


def test_a_file_is_a_part_of_a_form_with_the_same_bytes_in_each_attempt(
    server: ScriptedServer, client: Client, tmp_path: Path
) -> None:
    path = tmp_path / "hours.txt"
    path.write_text("Open from 9")
    server.script = [refusing(503), refusing(400, "invalid_request")]
    with path.open("rb") as file, pytest.raises(ApiError):
        client.agents.knowledge.files.upload(file=file, title="Hours")
    first, second = server.received
    assert b'filename="hours.txt"' in first.body
    assert b"Open from 9" in first.body
    assert first.headers["content-type"].startswith("multipart/form-data; boundary=")
    assert (first.body, first.headers["content-type"]) == (second.body, second.headers["content-type"])


def test_a_response_is_an_object_whose_times_and_numbers_are_those_of_python(
    server: ScriptedServer, client: Client
) -> None:
    server.script = [responding(200, CONTACT)]
    contact = client.cdp.contacts.get("one")
    assert (contact.name, contact.phone) == ("Zoë 😀", None)
    assert contact.created_at == datetime(2026, 11, 20, 8, tzinfo=timezone.utc)
    assert contact.fields == {"visits": 3, "rating": 4.5, "member": True}
    assert [type(each) for each in contact.fields.values()] == [int, float, bool]


def test_a_list_is_requested_page_by_page(server: ScriptedServer, client: Client) -> None:
    def page(name: str, following: str | None) -> dict[str, object]:
        return {"data": [{**CONTACT, "name": name}], "has_more": following is not None, "next": following}

    server.script = [responding(200, page("Ada", "a b")), responding(200, page("Ben", None))]
    assert [each.name for each in client.cdp.contacts.list(tag="vip", limit=1)] == ["Ada", "Ben"]
    assert [each.path for each in server.received] == [
        "/v1/cdp/contacts?tag=vip&limit=1",
        "/v1/cdp/contacts?tag=vip&limit=1&starting_after=a+b",
    ]
    events = [{"data": [EVENT], "has_more": following is not None, "next": following} for following in ("43", None)]
    server.script = [responding(200, each) for each in events]
    assert len(list(client.events.list(after_sequence=41))) == 2
    assert [each.path for each in server.received[-2:]] == [
        "/v1/events?after_sequence=41",
        "/v1/events?after_sequence=43",
    ]
    server.script = [responding(200, page("Ada", "2"))]
    one = client.cdp.contacts.list().page()
    assert ([each.name for each in one.data], one.has_more, one.next) == (["Ada"], True, "2")


@pytest.mark.parametrize("base_url", ["", "api.example.com", "ftp://api.example.com", "https://api.example.com/v1"])
def test_a_client_is_refused_without_an_address_that_can_be_sent_to(base_url: str) -> None:
    with pytest.raises(ValueError, match=r"^base_url must be the API's address"):
        Client(base_url=base_url, api_key="cp_test_key")


@pytest.mark.parametrize("api_key", ["", "cp_live_a\nb", "schlüssel"])
def test_a_client_is_refused_without_a_key_that_can_be_sent(api_key: str) -> None:
    with pytest.raises(ValueError, match=r"^api_key must be an API key"):
        Client(base_url="https://api.example.com", api_key=api_key)


def test_no_text_of_a_client_has_its_key(client: Client) -> None:
    texts = [repr(client), repr(client._api.settings), repr(vars(client._api))]
    assert "cp_test_key" not in "".join(texts)


def test_each_response_is_told_those_that_are_retried_too(server: ScriptedServer) -> None:
    server.script = [refusing(503, headers={"Request-Id": "r1"}), responding(200, CONTACT)]
    told: list[ResponseInfo] = []
    with Client(base_url=server.url, api_key="cp_test_key", on_response=told.append) as client:
        client.cdp.contacts.get("one")
    assert [(each.operation, each.method, each.path, each.status) for each in told] == [
        ("cdp.contacts.get", "GET", "/v1/cdp/contacts/one", status) for status in (503, 200)
    ]
    assert told[0].headers["request-id"] == "r1"


def test_an_error_of_the_api_has_its_status_code_message_field_and_request_id(server: ScriptedServer) -> None:
    details = {"code": "slot_taken", "message": "The time is taken.", "field": "starts_at"}
    server.script = [responding(409, {"error": details}, {"request-id": "r1"})]
    with (
        Client(base_url=server.url, api_key="cp_test_key") as client,
        pytest.raises(SlotTaken) as caught,
    ):
        client.calendar.appointments.create(contact="c", booking_type=1, starts_at="2026-11-20T09:00:00Z")
    error = caught.value
    assert (error.status, error.code, error.field) == (409, "slot_taken", "starts_at")
    assert (error.message, error.request_id, error.retry_after) == ("The time is taken.", "r1", None)
    assert str(error) == "409 slot_taken: The time is taken. (field: starts_at)"
    assert not isinstance(error, NotFound)
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.code, str(copy)) == (SlotTaken, "slot_taken", str(error))


def test_a_code_that_is_newer_than_the_client_is_kept_as_text(server: ScriptedServer, client: Client) -> None:
    server.script = [refusing(418, "too_hot")]
    with pytest.raises(ApiError) as caught:
        client.me.get()
    assert (type(caught.value), caught.value.code) == (ApiError, "too_hot")


def test_a_response_of_somebody_else_is_no_error_of_the_api(server: ScriptedServer, client: Client) -> None:
    server.script = [lambda exchange: exchange.send(404, b"<h1>Not here</h1>" + b"x" * 1000)]
    with pytest.raises(ResponseError) as caught:
        client.me.get()
    assert caught.value.status == 404
    assert caught.value.body == "<h1>Not here</h1>" + "x" * 483
    server.script = [lambda exchange: exchange.send(200, b"<h1>Sign in</h1>")]
    with pytest.raises(ResponseError, match="the response is invalid: not JSON"):
        client.me.get()
    server.script = [responding(200, {"id": "one", "name": "a secret"})]
    with pytest.raises(ResponseError, match="not what the API describes, at number") as caught:
        client.cdp.contacts.get("one")
    assert "a secret" not in str(caught.value)


def test_a_redirect_does_not_carry_the_key_to_another_server(server: ScriptedServer, client: Client) -> None:
    server.script = [lambda exchange: exchange.send(307, b"", {"location": f"{server.url}/other"})]
    with pytest.raises(ResponseError) as caught:
        client.me.get()
    assert caught.value.status == 307
    assert len(server.received) == 1


def test_a_late_response_is_a_timeout_a_byte_at_a_time_too(server: ScriptedServer) -> None:
    def trickle(exchange: Exchange) -> None:
        exchange.begin("application/json")
        ended = threading.Event()
        while not ended.wait(0.02):
            exchange.wfile.write(b" ")

    with Client(base_url=server.url, api_key="cp_test_key", retries=0, timeout=0.2) as client:
        for play in (Exchange.wait_for_end, trickle):
            server.script = [play]
            with pytest.raises(ApiTimeoutError, match=r"got no complete response within 0.2 s"):
                client.me.get()
        server.script = [Exchange.wait_for_end]
        with pytest.raises(ApiTimeoutError, match=r"within 0.1 s"):
            client.me.get(timeout=0.1)


def test_a_connection_that_nobody_takes_is_an_error_that_says_so() -> None:
    with (
        Client(base_url="http://127.0.0.1:1", api_key="cp_test_key", retries=0) as client,
        pytest.raises(ApiConnectionError, match=r"^GET http://127.0.0.1:1/v1/me failed: .*refused"),
    ):
        client.me.get()


def test_threads_share_a_client(server: ScriptedServer, client: Client) -> None:
    server.script = [responding(200, CONTACT)]
    names: list[str] = []
    threads = [threading.Thread(target=lambda: names.append(client.cdp.contacts.get("one").name)) for _ in range(16)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(20)
    assert names == ["Zoë 😀"] * 16


def test_a_list_has_no_data_of_its_own_and_says_how_to_get_a_page(client: Client) -> None:
    listed: Any = client.cdp.contacts.list()
    with pytest.raises(AttributeError, match=r"'Pages' object has no attribute 'data': `\.page\(\)` requests a page"):
        _ = listed.data
    with pytest.raises(AttributeError, match=r"no attribute 'dta'$"):
        _ = listed.dta
