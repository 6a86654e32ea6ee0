"""How well a name fits a word that somebody looks for: less is better."""

from __future__ import annotations

import re

EXACT, BEGINS, PART_BEGINS, WITHIN, ELSEWHERE = range(5)


def part_of(word: str) -> re.Pattern[str]:
    """Where a part of a name begins with the word."""
    return re.compile(r"[-./_]" + re.escape(word))


def rank(name: str, word: str, part: re.Pattern[str]) -> int:
    """part: `part_of` the word. ELSEWHERE: the word is not in the name."""
    if word not in name:
        return ELSEWHERE
    if name.startswith(word):
        return EXACT if len(name) == len(word) else BEGINS
    return PART_BEGINS if part.search(name) else WITHIN
