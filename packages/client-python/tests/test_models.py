"""Responses of a platform that is newer than the client."""

from __future__ import annotations

import json

import pytest
from typing_extensions import assert_type

from customer_platform import Client, Event, Pages, UnknownObject, events, inputs, models, sign_webhook, verify_webhook

from .samples import CONTACT, EVENT
from .server import ScriptedServer, responding

STEP = {
    "id": 1,
    "position": 1,
    "action": "phone_call",
    "params": {"number": "+49", "attempts": 2},
    "status": "ringing",
    "run_at": None,
    "result": None,
    "error": None,
    "delay_seconds": 0,
}


def test_values_of_enums_that_are_newer_than_the_client_are_text(server: ScriptedServer, client: Client) -> None:
    clock = {"now": "2026-11-20T09:00:00+01:00", "status": "rewinding", "target": None}
    server.script = [responding(200, clock)]
    assert client.sandbox.clock.get().status == "rewinding"


def test_fields_that_are_newer_than_the_client_are_kept(server: ScriptedServer, client: Client) -> None:
    server.script = [responding(200, {**CONTACT, "nickname": "Z"})]
    contact = client.cdp.contacts.get("one")
    assert contact.model_extra == {"nickname": "Z"}
    assert contact.model_dump()["nickname"] == "Z"


def test_objects_of_kinds_that_are_newer_than_the_client_have_their_fields(
    server: ScriptedServer, client: Client
) -> None:
    server.script = [responding(200, {"kind": "podcast", "id": 7, "feed": "https://example.com/feed"})]
    source = client.agents.knowledge.sources.get("one")
    assert isinstance(source, UnknownObject)
    assert source.model_extra == {"kind": "podcast", "id": 7, "feed": "https://example.com/feed"}


def test_every_kind_of_event_has_a_class(server: ScriptedServer, client: Client) -> None:
    assert len(events.CLASSES) >= 40
    server.script = [responding(200, {"data": [{**EVENT, "sequence": 3}], "has_more": False, "next": None})]
    [event] = client.events.list()
    assert isinstance(event, events.ContactCreatedEvent)
    assert event.sequence == 3


def test_types_are_those_that_a_checker_sees(server: ScriptedServer, client: Client) -> None:
    """mypy --strict checks this file, so its type assertions hold before the test runs."""
    server.script = [responding(200, CONTACT)]
    body: inputs.CreateContactBody = {"name": "Ada"}
    assert_type(client.cdp.contacts.create(**body), models.Contact)
    assert_type(client.cdp.contacts.list(), Pages[models.Contact])
    assert_type(client.cdp.contacts.get("one").name, str)
    channel: inputs.MessageStep = {"channel": "email", "body": "Hi"}
    client.messages.list(status="pigeon")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="statuss"):
        client.messages.list(statuss="sent")  # type: ignore[call-arg]
    text = json.dumps(EVENT)
    event = verify_webhook(sign_webhook(text, "c2VjcmV0", id="one"), text, "c2VjcmV0")
    assert_type(event, Event)
    match event:
        case events.ContactCreatedEvent():
            assert_type(event.data.contact, models.Contact)
        case events.OrderDeclinedEvent():
            assert_type(event.data.order.number, int)
        case _:
            raise AssertionError(f"{channel} and {event.type} are not what was sent")
