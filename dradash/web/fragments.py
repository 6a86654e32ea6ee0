"""Pages as blocks of HTML: rendered once for everybody who looks, and sent again only where they differ."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, Protocol

import msgspec
from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from dradash.web import rows as table_rows
from dradash.web.carry import carry
from dradash.web.rows import Row, RowRenderer

KEPT: Final = 128  # fragments; the largest, a grid of 5,000 nodes, is 400 kB
MAX_AGE: Final = 3.0  # seconds that a fragment is shown again: the ages in it grow meanwhile
THREADS: Final = 2
SEEN: Final = 10  # hex digits
ALWAYS_SENT: Final = "freshness"  # the first message tells the page that it is live
_ROWS: Final = "<rows>"  # which no text of a template can hold: it would be escaped
# What a <time> says grows with every look at it; the script of the page counts on by itself.
_AGE: Final = re.compile(r"(<time [^>]*>)[^<]*")


class Part(msgspec.Struct, frozen=True):
    """A block to render: `data` is the presenter's struct, `view` in the template. Its id is its element's."""

    id: str
    template: str
    data: Any
    rows: tuple[Row, ...] = ()
    row_template: str = ""


class Shown(msgspec.Struct, frozen=True):
    """What a page shows, ready to render."""

    title: str
    parts: tuple[Part, ...]
    status: int = 200
    carried: Mapping[str, str] = {}  # parameters that stay in every link (carry.py)
    kinds: Mapping[str, Mapping[str, Any]] = {}  # what is to be said of kinds, for each template, by plural
    at: float | None = None  # the moment that ages count to, in Unix seconds; None: now, and they count on
    unread: bool = False  # it could not be read for now, whatever moment it is of


class Block(msgspec.Struct, frozen=True):
    """A rendered part. shell: digest of all but the rows' cells; rows: id -> the row's inner HTML."""

    id: str
    html: str
    shell: str
    rows: dict[str, str]


class Fragment(msgspec.Struct, frozen=True):
    """unread: it could not be read for now, so that it is not over even where it shows a moment that is."""

    title: str
    status: int
    blocks: tuple[Block, ...]
    unread: bool = False

    @property
    def shape(self) -> str:
        """Which blocks there are: a page with other blocks has to be loaded anew."""
        return hashlib.blake2b(" ".join(b.id for b in self.blocks).encode(), digest_size=6).hexdigest()

    @property
    def seen(self) -> str:
        """What a page made of this fragment shows: a short digest of each block, in their order."""
        return ".".join(digest(b.html)[:SEEN] for b in self.blocks)

    @property
    def by_id(self) -> dict[str, SafeString]:
        """For the page's template. The HTML was made by templates and is escaped already."""
        return {b.id: element(b) for b in self.blocks}


class Page(Protocol):
    @property
    def key(self) -> str:
        """Equal keys show the same."""

    @property
    def fixed(self) -> bool:
        """It shows a moment that is over: a change of the data is none of the page."""

    @property
    def looks_back(self) -> bool:
        """It rebuilds a past."""

    def show(self) -> Shown: ...


# --- rendering -------------------------------------------------------------------------------------------------------


def render(page: Page, rendered: RowRenderer) -> Fragment:
    shown = page.show()
    blocks = tuple(_block(p, shown, rendered) for p in shown.parts)
    return Fragment(shown.title, shown.status, blocks, shown.unread)


def _block(part: Part, shown: Shown, rendered: RowRenderer) -> Block:
    carried = shown.carried
    moment = None if part.id == ALWAYS_SENT else shown.at  # how old the past is, goes on growing
    if not part.rows:
        rows = {}
    elif moment is None:
        rows = rendered.html(part.row_template, shown.title, part.rows, carried)
    else:
        rows = table_rows.render(part.row_template, part.rows, carried, moment)
    known = {"view": part.data, "moment": moment, **shown.kinds}
    context = known | {"rows": mark_safe(_ROWS)}  # noqa: S308 - a constant
    shell = carry(render_to_string(part.template, context), carried)
    elements = format_html_join("", '<tr id="{}">{}</tr>', ((i, mark_safe(h)) for i, h in rows.items()))  # noqa: S308 - rendered by a template
    return Block(part.id, shell.replace(_ROWS, elements), digest(shell + " ".join(rows)), rows)


def element(block: Block, oob: str = "") -> SafeString:
    html = mark_safe(block.html)  # noqa: S308 - rendered by a template
    return format_html('<div id="{}" class="block"{}>{}</div>', block.id, mark_safe(oob), html)  # noqa: S308 - a constant


def digest(html: str) -> str:
    """Of what it says, ages aside."""
    return hashlib.blake2b(_AGE.sub(r"\1", html).encode(), digest_size=12).hexdigest()


# --- what a socket has to be sent ------------------------------------------------------------------------------------


class Sent(msgspec.Struct, frozen=True):
    """What a socket was last sent of one block, as digests."""

    shell: str
    html: str
    rows: dict[str, str]


def _sent(block: Block) -> Sent:
    return Sent(block.shell, digest(block.html), {i: digest(h) for i, h in block.rows.items()})


def shown_already(fragment: Fragment, seen: str) -> dict[str, Sent]:
    """What need not be sent to a page that has just been loaded with these blocks (`Fragment.seen` of then)."""
    sent = {b.id: _sent(b) for b in fragment.blocks if b.id != ALWAYS_SENT}
    given = dict(zip((b.id for b in fragment.blocks), seen.split("."), strict=False))
    return {i: s for i, s in sent.items() if given.get(i) == s.html[:SEEN]}


def freshness_of(fragment: Fragment) -> Fragment:
    """Of it, only how old it is."""
    return msgspec.structs.replace(fragment, blocks=tuple(b for b in fragment.blocks if b.id == ALWAYS_SENT))


_OOB: Final = ' hx-swap-oob="true"'


def difference(before: Mapping[str, Sent], fragment: Fragment) -> tuple[list[str], dict[str, Sent]]:
    """The out-of-band messages that bring a page from `before` to the fragment (none when nothing differs).

    Rows travel apart from blocks: after a <tr> without its table a browser is in a table, where it drops <form> and
    <table>; after a <div> it drops <tr>.
    """
    rows: list[str] = []
    blocks: list[str] = []
    after = {}
    for block in fragment.blocks:
        sent = _sent(block)
        after[block.id] = sent
        old = before.get(block.id)
        if old == sent:
            continue
        if old is not None and block.rows and old.shell == sent.shell:
            changed = (i for i, d in sent.rows.items() if old.rows.get(i) != d)
            rows += [f'<tr id="{i}"{_OOB}>{block.rows[i]}</tr>' for i in changed]
        else:
            blocks.append(element(block, _OOB))
    return ["".join(pieces) for pieces in (blocks, rows) if pieces], after


# --- once for everybody ----------------------------------------------------------------------------------------------


class Versioned(Protocol):
    def version(self) -> tuple[str, int, str, str]: ...


class Renderer:
    """Each page at each version of the data is rendered once, whoever asks and however many at the same time."""

    def __init__(self, data: Versioned, clock: Callable[[], float] = time.monotonic) -> None:
        self._data = data
        self._clock = clock
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="render")
        # A past of a large cluster takes a while to rebuild: live pages do not wait for it.
        self._past_pool = ThreadPoolExecutor(1, thread_name_prefix="past")
        self._rows = RowRenderer(clock)
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, Sequence[Any]], tuple[float, Future[Fragment]]] = OrderedDict()
        self.rendered = 0

    def fragment(self, page: Page) -> Future[Fragment]:
        version = self._data.version()
        key = (page.key, version[:1] if page.fixed else version)
        now = self._clock()
        with self._lock:
            known = self._known.get(key)
            if known and now - known[0] < MAX_AGE and not _of_no_use(known[1]):
                return known[1]
            future = (self._past_pool if page.looks_back else self._pool).submit(render, page, self._rows)
            self.rendered += 1
            self._known[key] = (now, future)
            self._known.move_to_end(key)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        return future

    def forget(self) -> None:
        """The next page is rendered whole, whoever asks."""
        with self._lock:
            self._known.clear()
            self._rows = RowRenderer(self._clock)


def _of_no_use(future: Future[Fragment]) -> bool:
    """It failed, or could not be read, and may be by now."""
    return future.done() and (future.exception() is not None or future.result().unread)
