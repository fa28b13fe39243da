"""The client against a real platform."""

from __future__ import annotations

import asyncio
import inspect
import os
import queue
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from customer_platform import (
    AsyncClient,
    Client,
    Event,
    InvalidRequest,
    NotFound,
    Pages,
    SlotTaken,
    WaitError,
    events,
    inputs,
    models,
    verify_webhook,
)


@pytest.fixture(scope="module")
def booking_type(platform: Client) -> models.BookingType:
    member = platform.members.add(name="Mira Klein", email="mira@example.com")
    day = [["09:00", "17:00"]]
    hours: inputs.CreateStaffBodyHours = {"mon": day, "tue": day, "wed": day, "thu": day, "fri": day}
    platform.calendar.staff.create(email=member.email, hours=hours)
    return platform.calendar.booking_types.create(name="Cut", duration_minutes=30, staff=[member.email])


def test_an_appointment_is_booked_once(platform: Client, booking_type: models.BookingType) -> None:
    contact = platform.cdp.contacts.create(name="Ada Example", email="ada@example.com")
    free = platform.calendar.free_times.list(booking_type=booking_type.id).data[-1]
    key = str(uuid.uuid4())

    def book(idempotency_key: str | None = None) -> models.Appointment:
        return platform.calendar.appointments.create(
            contact=contact.id,
            booking_type=booking_type.id,
            starts_at=free.starts_at,
            idempotency_key=idempotency_key,
        )

    appointment = book(key)
    assert appointment.starts_at == free.starts_at
    assert appointment.starts_at.utcoffset() is not None
    assert appointment.contact.name == "Ada Example"
    assert book(key).id == appointment.id
    with pytest.raises(SlotTaken) as caught:
        book()
    assert (caught.value.status, caught.value.code) == (409, "slot_taken")
    assert caught.value.request_id
    cancelled = platform.calendar.appointments.cancel(appointment.id)
    assert cancelled.status == "cancelled"
    assert [each.id for each in platform.calendar.appointments.list(contact=contact.id)] == [appointment.id]


def test_a_refusal_names_the_field(platform: Client) -> None:
    with pytest.raises(InvalidRequest) as caught:
        platform.cdp.contacts.create(name="x" * 201)
    assert (caught.value.status, caught.value.field) == (400, "name")
    with pytest.raises(NotFound):
        platform.cdp.contacts.get(str(uuid.uuid4()))


def test_contacts_are_written_in_batches_and_listed_page_by_page(platform: Client) -> None:
    people: list[inputs.WrittenContact] = [
        {"external_id": f"batch-{number}", "name": f"Person {number}", "tags": ["batch"], "fields": {"number": number}}
        for number in range(250)
    ]
    outcomes = platform.cdp.contacts.batch(contacts=people)
    assert len(outcomes.data) == 250
    listed = [*platform.cdp.contacts.list(tag="batch", limit=100)]
    assert {each.external_id for each in listed} == {f"batch-{number}" for number in range(250)}
    assert outcomes.created == 250
    assert {type(value) for each in listed for value in each.fields.values()} == {int}
    first = platform.cdp.contacts.list(tag="batch", limit=100).page()
    assert (len(first.data), first.has_more) == (100, True)
    changed = platform.cdp.contacts.update(listed[0].id, external_id=None)
    assert (changed.external_id, changed.name) == (None, listed[0].name)
    platform.cdp.contacts.delete(listed[0].id)


def test_a_message_is_waited_for_by_the_clock_of_the_sandbox(platform: Client) -> None:
    contact = platform.cdp.contacts.create(name="Ada", email="ada01@example.com")
    message = platform.messages.send(contact=contact.id, channels=[{"channel": "email", "body": "Hi"}])
    assert platform.wait_for_message(message.id, "sent", timeout=60).status in ("sent", "delivered")
    later = platform.messages.send(
        contact=contact.id,
        channels=[{"channel": "email", "body": "Hi"}],
        send_at=platform.sandbox.clock.get().now + timedelta(days=2),
    )
    with pytest.raises(WaitError, match=r"is still scheduled after 0\.2 s"):
        platform.wait_for_message(later.id, timeout=0.2)
    now = platform.wait_for_clock().now
    platform.sandbox.clock.advance(advance_to=now + timedelta(days=3))
    assert platform.wait_for_clock(timeout=120).now >= now + timedelta(days=3)
    assert platform.wait_for_message(later.id, "delivered", timeout=60).id == later.id
    platform.messages.cancel(
        platform.messages.send(
            contact=contact.id,
            channels=[{"channel": "email", "body": "Hi"}],
            send_at=platform.sandbox.clock.get().now + timedelta(days=2),
            reference="cancelled",
        ).id
    )
    [cancelled] = platform.messages.list(reference="cancelled")
    with pytest.raises(WaitError, match="is cancelled and can never become sent"):
        platform.wait_for_message(cancelled.id, "sent")


@contextmanager
def receiving(found: queue.Queue[Event], secrets: list[str]) -> Iterator[str]:
    """Yields the address of a server that verifies deliveries like an integration."""

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            found.put(verify_webhook(self.headers, body, secrets))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def test_a_delivery_is_verified_with_the_endpoints_secret(platform: Client) -> None:
    found: queue.Queue[Event] = queue.Queue()
    secrets: list[str] = []
    with receiving(found, secrets) as address:
        endpoint = platform.webhooks.create(url=address, events=["contact.created"])
        secrets.append(endpoint.secret)
        contact = platform.cdp.contacts.create(name="Zoë 😀")
        event = found.get(timeout=60)
        platform.webhooks.delete(endpoint.id)
    assert isinstance(event, events.ContactCreatedEvent)
    assert (event.data.contact.id, event.data.contact.name) == (contact.id, "Zoë 😀")


def test_the_stream_shows_what_happens_and_goes_on_after_a_sequence(platform: Client) -> None:
    first = platform.events.list(limit=1).page().data
    start = first[0].sequence if first else 0
    contacts = [platform.cdp.contacts.create(name=f"Streamed {number}") for number in range(3)]
    stream = platform.events.stream(types=["contact.created"], after_sequence=start, timeout=60)
    seen = [next(stream) for _ in contacts]
    stream.close()
    assert [each.data.contact.id for each in seen if isinstance(each, events.ContactCreatedEvent)] == [
        each.id for each in contacts
    ]
    again = platform.events.stream(types=["contact.*"], after_sequence=seen[1].sequence, timeout=60)
    assert next(again).id == seen[2].id
    again.close()


def test_every_kind_of_event_is_of_a_class_of_its_own(platform: Client) -> None:
    kinds = [each.kind for each in platform.events.kinds.list().data]
    assert {*kinds} == {*events.CLASSES}
    for kind in kinds:
        event = platform.events.trigger(type=kind)  # type: ignore[arg-type]
        assert type(event) is events.CLASSES[kind]


def lists_of(resource: object) -> Iterator[Pages[object]]:
    """Yields the lists of a resource and its children that need no arguments."""
    for name, each in vars(resource).items():
        if name.startswith("_"):
            continue
        method = getattr(each, "list", None)
        if method and all(one.default is not one.empty for one in inspect.signature(method).parameters.values()):
            result = method()
            if isinstance(result, Pages):
                yield result
        yield from lists_of(each)


def test_what_the_platform_lists_is_what_the_client_expects(platform: Client) -> None:
    lists = [*lists_of(platform)]
    assert len(lists) >= 15
    for each in lists:
        each.page()
    assert platform.me.get().mode == "test"
    platform.agents.settings.get()
    platform.agents.usage.get(days=7)
    platform.calendar.settings.get()
    platform.messages.settings.get()
    platform.messages.templates.get()


def test_a_file_is_uploaded_and_its_source_is_of_its_kind(platform: Client, tmp_path: Path) -> None:
    path = tmp_path / "hours.txt"
    path.write_text("We are open from nine to five.")
    source = platform.agents.knowledge.files.upload(file=path)
    assert source.title == "hours.txt"
    found = platform.agents.knowledge.sources.get(source.id)
    assert isinstance(found, models.FileSource)
    article = platform.agents.knowledge.sources.create(kind="article", title="Prices", body="A cut is 30 euros.")
    assert isinstance(article, models.ArticleSource)
    platform.agents.knowledge.sources.delete(article.id)


def test_asyncio_sends_many_at_once() -> None:
    async def create() -> list[str]:
        url, key = os.environ["CUSTOMER_PLATFORM_URL"], os.environ["CUSTOMER_PLATFORM_KEY"]
        async with AsyncClient(base_url=url, api_key=key) as client:
            calls = [client.cdp.contacts.create(name="At once", tags=["async"]) for _ in range(20)]
            made = await asyncio.gather(*calls)
            listed = [each.id async for each in client.cdp.contacts.list(tag="async", limit=7)]
        assert sorted(each.id for each in made) == sorted(listed)
        return listed

    assert len(asyncio.run(create())) == 20
