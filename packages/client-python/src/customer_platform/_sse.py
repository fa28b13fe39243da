"""Parser of Server-Sent Events."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE_END = re.compile(r"\r\n|\r|\n")

MAX_LENGTH = 2 * 1024 * 1024
"""Characters of the longest message: an event is at most 900 KiB."""


@dataclass(frozen=True)
class SseMessage:
    """A message: `id` is the last one that the stream gave. One without data only gives an id."""

    id: str | None
    data: str


class SseParser:
    """
    Parses one stream's bytes as the HTML standard has them. httpx's own `iter_lines` also ends lines at separators that
    JSON text may contain, such as U+2028.
    """

    def __init__(self, max_length: int = MAX_LENGTH) -> None:
        self.retry: float | None = None
        """Seconds after which the stream asked to reconnect, by its latest `retry:`."""
        self._max_length = max_length
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest: list[str] = []
        self._follows_return = False
        self._id: str | None = None
        self._data: list[str] = []
        self._has_fields = False
        self._length = 0

    def push(self, piece: bytes) -> Iterator[SseMessage]:
        """Yields the messages that a piece completes. Raises ValueError for one longer than the bound."""
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
        # The parts of a line are joined once it is whole: a byte at a time costs no more than all at once.
        self._length += len(part)
        if self._length > self._max_length:
            raise ValueError(f"a message longer than {self._max_length} characters")
        if part:
            self._rest.append(part)

    def _read(self, line: str) -> SseMessage | None:
        if line == "":
            return self._take()
        if line.startswith(":"):
            # Comments keep a connection alive for days: they count for no message.
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
