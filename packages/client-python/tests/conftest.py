from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from customer_platform import Client

from .server import ScriptedServer, running


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with running() as started:
        yield started


@pytest.fixture
def client(server: ScriptedServer) -> Iterator[Client]:
    with Client(base_url=server.url, api_key="cp_test_key") as opened:
        yield opened


@pytest.fixture(scope="session")
def platform() -> Iterator[Client]:
    """A client of a real platform's sandbox. client-python.long.test.ts starts it and sets the variables."""
    if "CUSTOMER_PLATFORM_URL" not in os.environ:
        pytest.skip("CUSTOMER_PLATFORM_URL and CUSTOMER_PLATFORM_KEY must be those of a platform's sandbox")
    with Client(base_url=os.environ["CUSTOMER_PLATFORM_URL"], api_key=os.environ["CUSTOMER_PLATFORM_KEY"]) as opened:
        yield opened
