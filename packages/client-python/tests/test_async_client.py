"""The asyncio client sends and raises the same as the blocking client."""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import Any

import pytest

from customer_platform import ApiConnectionError, ApiTimeoutError, AsyncClient, Client, SlotTaken
from customer_platform._async_resources import AsyncResources
from customer_platform._resources import Resources

from .samples import CONTACT
from .server import Exchange, ScriptedServer, refusing, responding


def test_calls_are_awaited_and_retried_with_one_key(server: ScriptedServer) -> None:
    async def create() -> str:
        async with AsyncClient(base_url=server.url, api_key="cp_test_key") as client:
            return (await client.cdp.contacts.create(name="Ada")).name

    server.script = [refusing(503), Exchange.abort, responding(201, CONTACT)]
    assert asyncio.run(create()) == CONTACT["name"]
    assert {json.loads(each.body)["name"] for each in server.received} == {"Ada"}
    assert len({each.headers["idempotency-key"] for each in server.received}) == 1


def test_a_list_is_iterated_over_page_by_page(server: ScriptedServer) -> None:
    async def names() -> list[str]:
        async with AsyncClient(base_url=server.url, api_key="cp_test_key") as client:
            first = await client.cdp.contacts.list().page()
            return [each.name for each in first.data] + [each.name async for each in client.cdp.contacts.list()]

    pages = [
        {"data": [{**CONTACT, "name": name}], "has_more": following is not None, "next": following}
        for name, following in [("Ada", "2"), ("Ada", "2"), ("Ben", None)]
    ]
    server.script = [responding(200, page) for page in pages]
    assert asyncio.run(names()) == ["Ada", "Ada", "Ben"]


def test_errors_are_the_same(server: ScriptedServer) -> None:
    async def fail() -> None:
        async with AsyncClient(base_url=server.url, api_key="cp_test_key", retries=0, timeout=0.3) as client:
            server.script = [refusing(409, "slot_taken")]
            with pytest.raises(SlotTaken):
                await client.me.get()
            server.script = [Exchange.wait_for_end]
            with pytest.raises(ApiTimeoutError):
                await client.me.get()
            server.script = [Exchange.abort]
            with pytest.raises(ApiConnectionError):
                await client.me.get()
            assert "cp_test_key" not in repr(client)

    asyncio.run(fail())


def test_both_clients_have_the_same_methods() -> None:
    def names(resources: object) -> set[str]:
        found: set[str] = set()
        for name, each in inspect.getmembers(resources, lambda value: not isinstance(value, str)):
            if not name.startswith("_"):
                found |= {name} if callable(each) else {f"{name}.{below}" for below in names(each)}
        return found

    blocking = Client(base_url="http://127.0.0.1", api_key="cp_test_key")
    waiting = AsyncClient(base_url="http://127.0.0.1", api_key="cp_test_key")
    with blocking:
        assert isinstance(blocking, Resources)
        assert isinstance(waiting, AsyncResources)
        assert names(blocking) == names(waiting)
        assert len(names(blocking)) > 150
        assert "calendar.staff.time_off.create" in names(blocking)


def test_a_list_has_no_data_of_its_own_and_says_how_to_get_a_page() -> None:
    listed: Any = AsyncClient(base_url="http://127.0.0.1", api_key="cp_test_key").cdp.contacts.list()
    with pytest.raises(
        AttributeError, match=r"'AsyncPages' object has no attribute 'data': `await ….page\(\)` requests"
    ):
        _ = listed.data
