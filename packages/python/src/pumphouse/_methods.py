"""Methods of the two clients, from what each call sends: those of threads wait for the answer, those of asyncio await it."""

import functools
import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Coroutine, Dict, Iterator, TypeVar

from ._http import Call
from .answers import Page

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")

T = TypeVar("T")
M = TypeVar("M", bound=Callable[..., Any])


def sends(make: "Callable[P, Call[T]]") -> "Callable[Concatenate[Any, P], T]":
    """A method of the client for threads that sends such a call."""

    def method(self: Any, /, *args: "P.args", **kwargs: "P.kwargs") -> T:
        result: T = self._api.send(make(*args, **kwargs))
        return result

    return described(method, make)


def sends_in_loop(make: "Callable[P, Call[T]]") -> "Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]":
    """The same of the client for asyncio."""

    async def method(self: Any, /, *args: "P.args", **kwargs: "P.kwargs") -> T:
        result: T = await self._api.send(make(*args, **kwargs))
        return result

    return described(method, make)


def each(make: "Callable[P, Call[Page[T]]]") -> "Callable[Concatenate[Any, P], Iterator[T]]":
    """A method of the client for threads that gives the items of all pages."""

    def method(self: Any, /, *args: "P.args", **kwargs: "P.kwargs") -> Iterator[T]:
        call = make(*args, **kwargs)
        while True:
            page: Page[T] = self._api.send(call)
            yield from page.items
            if page.next_cursor is None:
                return
            call = next_page(call, page)

    return described(method, make, is_of_all=True)


def each_in_loop(make: "Callable[P, Call[Page[T]]]") -> "Callable[Concatenate[Any, P], AsyncIterator[T]]":
    """The same of the client for asyncio."""

    async def method(self: Any, /, *args: "P.args", **kwargs: "P.kwargs") -> AsyncIterator[T]:
        call = make(*args, **kwargs)
        while True:
            page: Page[T] = await self._api.send(call)
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            call = next_page(call, page)

    return described(method, make, is_of_all=True)


def next_page(call: "Call[Page[T]]", page: "Page[T]") -> "Call[Page[T]]":
    query: Dict[str, Any] = {**(call.query or {}), "cursor": page.next_cursor}
    return replace(call, query=query)


def described(method: M, make: Callable[..., Any], is_of_all: bool = False) -> M:
    """The method with the name, the text and the parameters of the call; help() shows them."""
    named: Any = functools.update_wrapper(method, make)
    signature = inspect.signature(make)
    self = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    named.__signature__ = signature.replace(
        parameters=[self, *signature.parameters.values()], return_annotation=inspect.Signature.empty
    )
    if is_of_all:
        named.__doc__ = f"The items of all pages; it takes what ``{make.__name__}`` takes."
    return method
