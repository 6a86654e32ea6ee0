"""What an endpoint is: one line of the table that addresses, checks, answers and the OpenAPI document come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

import msgspec

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.paging import Key, page_of
from dradash.api.params import Param
from dradash.api.schemas import Rows, Shape, Total
from dradash.reader.world import World
from dradash.store.replica import Applied

I = TypeVar("I")  # noqa: E741 - an item

OF_NOW = ("now", "freshness")  # `varies` of answers about the past that say also what is known now
OFTEN = 5.0  # seconds for which what also changes with time is said to be the same


@dataclass(frozen=True)
class Listing(Generic[I]):
    """A list. items: what the filters leave, of all keys or only of those given; made while the world is held still.

    sortings: the first one is the default. touched: keys of all items whose row a change may have changed, whatever
    kind it is of (the world is that of the change or a later one); None: no watch. decided_by: the kinds of which a
    change may decide whether the filters leave an item. since: Unix seconds that `waiting` counts from, 0.0: not known.
    prepare: reads from the store beforehand what must not be waited for while the world is held still: for all rows,
    and for `touched` of these changes.
    """

    row_type: type[Shape]
    items: Callable[[Ask, World, Iterable[str] | None], Iterable[I]]
    identity: Callable[[I], str]
    sortings: Mapping[str, Callable[[I], Key]]
    row: Callable[[Ask, World, I], Shape]
    touched: Callable[[Ask, World, Applied], Iterable[str]] | None = None
    decided_by: frozenset[str] = frozenset()
    since: Callable[[I], float] | None = None
    prepare: Callable[[Ask, Sequence[Applied]], object] | None = None

    def page(self, ask: Ask) -> Rows[Any]:
        limit = ask.params.get("limit", params.ROWS)
        if self.prepare is not None:
            self.prepare(ask, ())
        with ask.world() as world:
            found, total, following = page_of(
                self.items(ask, world, None),
                self.identity,
                self.sortings,
                ask.params,
                ask.question(self.row_type.__name__),
                limit,
            )
            rows = tuple(projected(self.row(ask, world, item), ask) for item in found)
            return Rows(
                items=rows,
                total=Total(count=total, exact=True),
                next=following,
                revision=world.revision,
                instance=world.instance,
            )


@dataclass(frozen=True)
class Endpoint:
    """path: behind /api/v1, with {names}. filters: parameters of its own.

    varies: words for what else than the revision changes the answers: "findings", "time"; "now": an answer
    about the past says what is known now; "freshness": and how old that is.
    """

    name: str
    path: str
    tag: str
    summary: str
    result: Any
    answer: Callable[[Ask], Any]
    filters: tuple[Param, ...] = ()
    listing: Listing[Any] | None = None
    row_type: type[Shape] | None = None
    varies: str = ""
    past: bool = True

    @property
    def params(self) -> tuple[Param, ...]:
        found = list(self.filters)
        if self.listing is not None:
            found += [params.sort(self.listing.sortings)]
        if self.pageable:
            found += [params.LIMIT, params.CURSOR]
        if shape := self.shape:
            found.append(params.fields(names_of(shape)))
        if self.past:
            found.append(params.AT)
        if self.watchable:
            found += [params.WATCH, params.SINCE, params.INSTANCE, params.SECONDS]
        return tuple(found)

    @property
    def shape(self) -> type[Shape] | None:
        """What `fields` chooses from."""
        if self.listing is not None:
            return self.listing.row_type
        if self.row_type is not None:
            return self.row_type
        return self.result if isinstance(self.result, type) and issubclass(self.result, Shape) else None

    @property
    def pageable(self) -> bool:
        return self.listing is not None or self.row_type is not None

    @property
    def is_list(self) -> bool:
        return not (isinstance(self.result, type) and issubclass(self.result, Shape))

    @property
    def watchable(self) -> bool:
        return self.listing is not None and self.listing.touched is not None


def names_of(shape: type[Shape]) -> tuple[str, ...]:
    return tuple(f.encode_name for f in msgspec.structs.fields(shape))


def projected(row: Shape, ask: Ask) -> Any:
    """The row, or only the fields of it that were asked for."""
    wanted = ask.params.get("fields")
    if not wanted:
        return row
    return {name: getattr(row, attribute) for name, attribute in _attributes(type(row), wanted)}


@lru_cache(maxsize=512)
def _attributes(shape: type[Shape], wanted: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((f.encode_name, f.name) for f in msgspec.structs.fields(shape) if f.encode_name in wanted)


def listed(
    name: str, path: str, tag: str, summary: str, listing: Listing[Any], *filters: Param, **more: Any
) -> Endpoint:
    result = Rows[listing.row_type]  # type: ignore[name-defined]  # chosen at run time
    return Endpoint(name, path, tag, summary, result, listing.page, filters, listing, **more)
