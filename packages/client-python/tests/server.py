"""A server on loopback that responds as told, and records its requests."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Received:
    """A request that the server received."""

    method: str
    path: str
    headers: Message
    body: bytes


class Exchange(BaseHTTPRequestHandler):
    """A connection to write a response to."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Records the request, and plays the next response."""
        server = self.server
        assert isinstance(server, ScriptedServer)
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        with server.lock:
            server.received.append(Received(self.command, self.path, self.headers, body))
            play = server.script.pop(0) if len(server.script) > 1 else server.script[0]
        play(self)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""

    def send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        """Sends a complete response."""
        self.send_response_only(status)
        for name, value in {"content-length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def begin(self, content_type: str) -> None:
        """Starts a response that ends when the connection closes."""
        self.close_connection = True
        self.send_response_only(200)
        self.send_header("content-type", content_type)
        self.send_header("connection", "close")
        self.end_headers()

    def abort(self) -> None:
        """Breaks the connection."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def wait_for_end(self) -> None:
        """Waits until the other side closes the connection, or the server stops."""
        self.close_connection = True
        self.connection.settimeout(20)
        # Closing a socket with unread data resets the connection.
        with suppress(ConnectionError):
            self.connection.recv(1)


Play = Callable[[Exchange], None]


class ScriptedServer(ThreadingHTTPServer):
    """Plays the responses of `script` in order, and repeats the last one."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Exchange)
        self.lock = threading.Lock()
        self.received: list[Received] = []
        self.script: list[Play] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Prints nothing about broken connections, since tests break them."""


@contextmanager
def running() -> Iterator[ScriptedServer]:
    """A server while the block runs."""
    server = ScriptedServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def responding(status: int, body: object, headers: dict[str, str] | None = None) -> Play:
    """A JSON response."""
    return lambda exchange: exchange.send(
        status, json.dumps(body).encode(), {"content-type": "application/json", **(headers or {})}
    )


def refusing(status: int, code: str = "service_unavailable", headers: dict[str, str] | None = None) -> Play:
    """An error response of the API."""
    return responding(status, {"error": {"code": code, "message": f"{code} it is"}}, headers)
