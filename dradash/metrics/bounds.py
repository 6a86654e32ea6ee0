"""Label values within bounds: so many names of a sort, and `other` for the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

OTHER: Final = "other"
NONE: Final = "none"  # a claim without class, a driver without name
MOST: Final = 50
LONGEST: Final = 120  # characters


class Names:
    """Which names are told. One that was told once stays so for as long as it exists: its curve has no gaps."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._told: dict[str, str] = {}

    def tell(self, present: Iterable[str]) -> None:
        """The names that exist now, those first that matter most; names that are gone make room."""
        names = list(present)
        gone = self._told.keys() - set(names)
        for name in gone:
            del self._told[name]
        for name in names:
            self.add(name)

    def add(self, name: str) -> str:
        """The label value for a name; it is told from now on if there is room."""
        if name not in self._told:
            if len(self._told) >= self._most:
                return OTHER
            self._told[name] = label(name)
        return self._told[name]

    def of(self, name: str) -> str:
        return self._told.get(name, OTHER)


def label(name: str) -> str:
    """Any text as a label value: names from the cluster may hold lone surrogates, or be endless."""
    return name[:LONGEST].encode("utf-8", "replace").decode() or NONE


def folded(counts: Mapping[tuple[str, str], int], names: Names) -> dict[tuple[str, str], int]:
    """Counts by (kept, name) with the names beyond the bound added up."""
    sizes: Counter[str] = Counter()
    for (_, name), count in counts.items():
        sizes[name] += count
    names.tell(name for name, _ in sizes.most_common())
    found: Counter[tuple[str, str]] = Counter()
    for (kept, name), count in counts.items():
        found[kept, names.of(name)] += count
    return dict(found)
