"""One list under way, page by page (client-go: tools/pager). Pure."""

from __future__ import annotations

from dradash.informer.source import ListPage, Unavailable


class Listing:
    """Collects the pages' items in `items`; `limit` is what the next page is asked with."""

    def __init__(self, limit: int) -> None:
        self.items: dict[str, bytes] = {}
        self.token = ""  # of the next page, "" for the first one
        self.resource_version = ""  # of the first page: a watch from there misses nothing
        self._limit = limit
        self._expired = 0  # continue tokens that expired since the last complete list

    @property
    def limit(self) -> int:
        """0, which is everything in one answer, once two tokens expired: the pages take longer than they live."""
        return 0 if self._expired > 1 else self._limit

    def begin(self) -> None:
        self.items, self.token, self.resource_version = {}, "", ""

    def turn(self, page: ListPage) -> bool:
        """Note a page whose items were taken; True after the last one. Unavailable when the list cannot end.

        A token that comes back as it was sent would be asked with for ever.
        """
        if page.continue_token and page.continue_token == self.token:
            raise Unavailable("the list does not end: the API server gives the same continue token again")
        self.resource_version = self.resource_version or page.resource_version
        self.token = page.continue_token
        return not self.token

    def token_expired(self) -> None:
        self._expired += 1
        self.begin()

    def finish(self) -> tuple[dict[str, bytes], str]:
        """The whole set and its resourceVersion; the listing is empty afterwards."""
        items, version = self.items, self.resource_version
        self._expired = 0
        self.begin()
        return items, version
