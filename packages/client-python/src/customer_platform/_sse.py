"""Parser of Server-Sent Events."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE_END = re.compile(r"\r\n|\r|\n")

MAX_LENGTH = 2 * 1024 * 1024
"""Most characters of a message. An event is at most 900 KiB."""


@dataclass(frozen=True)
class SseMessage:
    """A message. `id` is the stream's last id. A message may have an id and no data."""

    id: str | None
    data: str


class SseParser:
    """
    Parses one stream's bytes, by the HTML standard. httpx's `iter_lines` also splits lines at separators that JSON may
    contain, such as U+2028.
    """

    def __init__(self, max_length: int = MAX_LENGTH) -> None:
        self.retry: float | None = None
        """The reconnect delay in seconds of the latest `retry:` field."""
        self._max_length = max_length
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest: list[str] = []
        self._follows_return = False
        self._id: str | None = None
        self._data: list[str] = []
        self._has_fields = False
        self._length = 0

    def push(self, piece: bytes) -> Iterator[SseMessage]:
        """Yields the messages that a chunk completes. Raises ValueError for a message longer than the limit."""
        text = self._decoder.decode(piece)
        if text and self._follows_return and text.startswith("\n"):
            text = text[1:]
            self._follows_return = False
        if text:
            self._follows_return = text.endswith("\r")
        first, *others = _LINE_END.split(text)
        self._append(first)
        for each in others:
            line = "".join(self._rest)
            self._rest = []
            message = self._read(line)
            if message:
                yield message
            self._append(each)

    def _append(self, part: str) -> None:
        # A line's parts are joined once the line is complete, so one-byte chunks cost no more than large ones.
        self._length += len(part)
        if self._length > self._max_length:
            raise ValueError(f"a message is longer than {self._max_length} characters")
        if part:
            self._rest.append(part)

    def _read(self, line: str) -> SseMessage | None:
        if line == "":
            return self._take()
        if line.startswith(":"):
            # Keep-alive comments do not count towards a message's length, since a connection may last for days.
            self._length -= len(line)
            return None
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and re.fullmatch(r"[0-9]{1,9}", value):
            self.retry = int(value) / 1000
        self._has_fields = self._has_fields or name in ("data", "id")
        return None

    def _take(self) -> SseMessage | None:
        message = SseMessage(self._id, "\n".join(self._data)) if self._has_fields else None
        self._data = []
        self._length = 0
        self._has_fields = False
        return message
