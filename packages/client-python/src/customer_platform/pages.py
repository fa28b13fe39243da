"""Paged lists."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from ._api import Api, AsyncApi
from ._requests import Request
from ._values import NOT_GIVEN

T = TypeVar("T")


@dataclass(frozen=True)
class Page(Generic[T]):
    """A page of a list."""

    data: list[T]
    has_more: bool
    """Whether another page follows."""
    next: str | None
    """The next page's `starting_after`, or its `after_sequence` if the list pages by that; None on the last page."""


class Pages(Generic[T]):
    """A list. Iterate over it to get all entries, requested page by page, or get one page with `page()`."""

    def __init__(self, api: Api, request: Request, parse: Callable[[Any], T]) -> None:
        self._api = api
        self._request = request
        self._parse = parse

    def page(self) -> Page[T]:
        """Requests the first page, or the one after `starting_after`."""
        return self._api.call(self._request, _page_of(self._parse))

    def pages(self) -> Iterator[Page[T]]:
        """Requests the pages one after another."""
        request = self._request
        while True:
            page = self._api.call(request, _page_of(self._parse))
            yield page
            if page.next is None:
                return
            request = _following(request, page.next)

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from page.data

    # Type checkers must not see this, or they would accept any attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise _no_attribute(self, name, "`.page()`")


class AsyncPages(Generic[T]):
    """A list in asyncio. `async for` gets all entries, requested page by page; `await page()` gets one page."""

    def __init__(self, api: AsyncApi, request: Request, parse: Callable[[Any], T]) -> None:
        self._api = api
        self._request = request
        self._parse = parse

    async def page(self) -> Page[T]:
        """Requests the first page, or the one after `starting_after`."""
        return await self._api.call(self._request, _page_of(self._parse))

    async def pages(self) -> AsyncIterator[Page[T]]:
        """Requests the pages one after another."""
        request = self._request
        while True:
            page = await self._api.call(request, _page_of(self._parse))
            yield page
            if page.next is None:
                return
            request = _following(request, page.next)

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for each in page.data:
                yield each

    # Type checkers must not see this, or they would accept any attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise _no_attribute(self, name, "`await ….page()`")


def _no_attribute(pages: object, name: str, call: str) -> AttributeError:
    """Returns the error for a missing attribute. For an attribute of a page, it says how to get a page."""
    message = f"{type(pages).__name__!r} object has no attribute {name!r}"
    if name in {field.name for field in fields(Page)}:
        message += f": {call} requests a page, which has {name!r}; iterate over the list for all entries"
    return AttributeError(message, name=name, obj=pages)


def _page_of(parse: Callable[[Any], T]) -> Callable[[Any], Page[T]]:
    def parsed(value: Any) -> Page[T]:
        try:
            return Page([parse(each) for each in value["data"]], bool(value["has_more"]), value["next"])
        except (KeyError, TypeError) as error:
            raise ValueError("not a page of a list") from error

    return parsed


def _following(request: Request, next_page: str) -> Request:
    # A list of events that starts after a sequence pages by sequence.
    is_ascending = request.query.get("after_sequence", NOT_GIVEN) is not NOT_GIVEN
    return replace(request, query={**request.query, "after_sequence" if is_ascending else "starting_after": next_page})
