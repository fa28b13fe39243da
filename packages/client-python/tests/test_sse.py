"""The parser of Server-Sent Events, with the same guarantees as the TypeScript client's."""

from __future__ import annotations

import itertools

import pytest

from customer_platform._sse import SseMessage, SseParser


def parse(*pieces: bytes, max_length: int = 1_000) -> tuple[list[SseMessage], float | None]:
    parser = SseParser(max_length)
    return [message for piece in pieces for message in parser.push(piece)], parser.retry


def test_messages_have_the_id_of_their_own_or_of_the_one_before() -> None:
    text = b'data: early\n\nid: 7\nevent: order.created\ndata: {"a":1}\n\ndata:next\n\nid\ndata: none\n\n'
    assert parse(text)[0] == [
        SseMessage(None, "early"),
        SseMessage("7", '{"a":1}'),
        SseMessage("7", "next"),
        SseMessage("", "none"),
    ]


def test_there_may_be_comments_unknown_fields_several_lines_of_data_and_an_id_alone() -> None:
    text = b": hello\n\nfoo: bar\n\ndata: one\ndata:  two\ndata\n\nid: 9\n\n: bye\n\n"
    assert parse(text)[0] == [SseMessage(None, "one\n two\n"), SseMessage("9", "")]


def test_a_stream_may_ask_to_wait_before_the_next_connection() -> None:
    assert parse(b"retry: 3000\n\n")[1] == 3
    assert parse(b"retry: 3000\nretry: soon\n\n")[1] == 3
    assert parse(b"data: x\n\n")[1] is None


def test_a_message_that_is_not_whole_is_kept() -> None:
    assert parse(b"id: 1\ndata: one\n")[0] == []


def test_separators_of_unicode_end_no_line() -> None:
    text = "data: a\u2028b\u0085c\x0bd\n\n"
    assert parse(text.encode())[0] == [SseMessage(None, "a\u2028b\u0085c\x0bd")]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_a_stream_means_the_same_in_whatever_pieces_it_comes(ending: str) -> None:
    lines = [
        "data: é😀:",
        "",
        ": c",
        "id: 1",
        "data",
        "data: a",
        "",
        "",
        "x: y",
        "retry: 5",
        "id: 2",
        "",
        "data: b",
        "",
    ]
    text = "".join(line + ending for line in lines).encode()
    whole = parse("".join(f"{line}\n" for line in lines).encode())
    assert parse(*(text[place : place + 1] for place in range(len(text)))) == whole
    for first, second in itertools.combinations(range(len(text)), 2):
        assert parse(text[:first], text[first:second], text[second:]) == whole


def test_no_message_is_longer_than_the_bound_in_one_line_or_in_many_and_comments_count_for_none() -> None:
    def pieces(text: str) -> list[bytes]:
        return [text[place : place + 7].encode() for place in range(0, len(text), 7)]

    parse(*pieces(f"data:{'x' * 995}\n\n"))
    parse(*pieces(": still here\n" * 1_000))
    parse(*pieces("data: x\n\n" * 1_000))
    for long in (f"data:{'x' * 996}\n\n", "data: x\n" * 143, "x" * 1_001):
        with pytest.raises(ValueError, match="longer than 1000 characters"):
            parse(*pieces(long))
