"""Stable pseudonyms: one original text has one pseudonym, whatever it is the name of.

A label's value may be a node's name and a claim's name may stand in an annotation; with one table for all, what was
equal stays equal and what differed stays different. What decides how a selector is judged is kept: integers (Gt and
Lt compare them), empty values, and whether a key or value is valid at all.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from dradash.informer.vocabulary import VOCABULARY, WELL_KNOWN

LABEL_LIMIT: Final = 63  # characters; a longer label value or key is invalid

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_VALID: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_ALPHANUMERIC: Final = re.compile(r"[A-Za-z0-9]")
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]")
_LABEL: Final = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_DOMAIN: Final = re.compile(rf"(?![0-9]+\.[0-9]+\.[0-9]){_LABEL}(?:\.{_LABEL})*\.[a-z](?:[-a-z0-9]*[a-z0-9])?")
# What is of one device or one machine only: UUIDs, addresses on buses and networks, serial numbers.
_IDENTIFIER: Final = re.compile(
    r"""
    .*[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-.*            # UUID, GPU-UUID
    | .*[0-9a-fA-F]{4}:[0-9a-fA-F]{2}.*             # PCI
    | (?:[0-9a-fA-F]{2}[:-]){5,}[0-9a-fA-F]{2}          # MAC, InfiniBand
    | [0-9]{1,3}(?:\.[0-9]{1,3}){3}(?:/[0-9]{1,2})?        # IPv4
    | [0-9a-fA-F]*:[0-9a-fA-F:]*:[0-9a-fA-F:/]*             # IPv6
    | (?!\d+[a-zA-Z]{0,2}$)(?=.*\d.*\d.*\d)[0-9A-Za-z]{10,}  # serial, and no quantity
    """,
    re.VERBOSE | re.DOTALL,
)
_LETTER: Final = re.compile(r"[^\W\d_]")
_MACHINE_WORD: Final = re.compile(r"[A-Z][A-Za-z]{0,60}")
_WORDS: Final = re.compile(
    r"""
    "(?P<quoted>[^"]*)"
    | \{(?P<key>[^{}:]+):[ ]?(?P<value>[^{}]*)\}          # a taint, as the scheduler writes it
    | (?<=no[ ]such[ ]key:[ ])(?P<attribute>\w+)         # a device's, as a CEL expression names it
    | (?P<word>[^\W_](?:[-\w./]*[^\W_])?)             # of any alphabet
    """,
    re.VERBOSE,
)

_CEL_TOKEN: Final = re.compile(
    r"""
    (?P<comment>//[^\n]*)
    | (?P<prefix>(?:\b[rRbB]{1,2})?)(?P<quote>\"{3}|'{3}|"|')(?P<inner>(?:\\.|(?!(?P=quote)).)*)(?P=quote)
    """,
    re.VERBOSE | re.DOTALL,
)
DEVICE_CLASS_RESOURCE: Final = "deviceclass.resource.kubernetes.io/"  # followed by the class's name


def is_well_known_domain(domain: str) -> bool:
    return domain in ("k8s.io", "kubernetes.io") or domain.endswith((".k8s.io", ".kubernetes.io"))


class Pseudonyms:
    """Not thread-safe: pseudonyms are numbered in the order in which they are asked for."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}
        self._counts: Counter[str] = Counter()

    def name(self, role: str, text: str) -> str:
        """The pseudonym of a name or label value; role is what it is called after when it is new."""
        if not text or text in WELL_KNOWN or _INTEGER.fullmatch(text):
            return text
        given = self._given.get(text)
        if given is None:
            self._counts[role] += 1
            given = self._given[text] = _shaped(text, f"{role}-x{self._counts[role]}")
        return given

    def uid(self, text: str) -> str:
        if not text:
            return text
        given = self._given.get(text)
        if given is None:
            self._counts["uid"] += 1
            given = self._given[text] = f"00000000-0000-4000-8000-{self._counts['uid']:012x}"
        return given

    def key(self, text: str) -> str:
        """A label's, taint's or finalizer's key: Kubernetes' own stay, others change in their domain and name."""
        domain, slash, name = text.partition("/")
        if not slash:
            return text if is_well_known_domain(text) else self.name("key", text)
        if is_well_known_domain(domain):
            return text
        if "/" in name or not domain or not name:
            return self.name("key", text)  # invalid, and stays so
        return f"{self.name('domain', domain)}/{self.name('key', name)}"

    def domain(self, text: str) -> str:
        """An API group; with a version behind it an apiVersion."""
        group, slash, version = text.partition("/")
        if not slash and re.fullmatch(r"v[0-9]+\w*", group):
            return text
        return text if is_well_known_domain(group) else f"{self.name('domain', group)}{slash}{version}"

    def of_device(self, text: str) -> str:
        """A value of a device's attribute, a driver, or a text that CEL compares with one of these.

        Only domains and what identifies one device change: so much of what selectors ask for must stay as it is.
        Whether it changes is decided by the text alone, so both sides of a comparison change together.
        """
        if is_well_known_domain(text) or not (_DOMAIN.fullmatch(text) or _IDENTIFIER.fullmatch(text)):
            return text
        return self.name("domain" if _DOMAIN.fullmatch(text) else "id", text)

    def attribute(self, text: str) -> str:
        """The name of an attribute or a capacity: its domain changes, the name is the driver's word."""
        domain, slash, name = text.partition("/")
        return f"{self.of_device(domain)}/{name}" if slash else text

    def resource(self, text: str) -> str:
        """What containers request; a DeviceClass may be named in it."""
        if text.startswith(DEVICE_CLASS_RESOURCE):
            return DEVICE_CLASS_RESOURCE + self.name("class", text.removeprefix(DEVICE_CLASS_RESOURCE))
        return self.key(text)

    def expression(self, text: str) -> str:
        """A CEL expression: its texts change as the values do that they are compared with; comments go."""
        return _CEL_TOKEN.sub(self._cel_token, text)

    def _cel_token(self, match: re.Match[str]) -> str:
        if match["comment"]:
            return ""
        prefix, quote, inner = match.group("prefix", "quote", "inner")
        changed = self.of_device(inner)
        return match[0] if changed == inner else f"{prefix}{quote}{changed}{quote}"

    def machine_word(self, text: str) -> str:
        """A reason or type in CamelCase is a constant of some program's source; anything else is not."""
        return text if _MACHINE_WORD.fullmatch(text) else self.name("word", text)

    def text(self, message: str) -> str:
        """Prose: the words of Kubernetes' own messages stay, every other word gets its pseudonym."""
        return _WORDS.sub(self._word_of, message)

    def _word_of(self, match: re.Match[str]) -> str:
        quoted, key, value, word = match.group("quoted", "key", "value", "word")
        if match["attribute"] is not None:
            return match[0]
        if quoted is not None:
            return '"' + "/".join(self.name("name", part) for part in quoted.split("/")) + '"'
        if key is not None:
            return "{" + f"{self.key(key)}: {self.name('value', value)}" + "}"
        return self._word(word)

    def _word(self, word: str) -> str:
        if word in VOCABULARY or is_well_known_domain(word) or not _LETTER.search(word):
            return word
        if "/" in word and word not in self._given:
            return "/".join(self._word(part) for part in word.split("/"))
        return self.name("word", word)


def _shaped(original: str, pseudonym: str) -> str:
    """The pseudonym, invalid as a label in the way in which the original was."""
    if not _VALID.fullmatch(original):
        mask = _NOT_ASCII.sub("?", _ALPHANUMERIC.sub("x", original))
        return mask[0] + pseudonym + mask[1:]  # what is wrong with the first and last character stays there
    if len(original) > LABEL_LIMIT:
        return pseudonym + "x" * (len(original) - len(pseudonym))
    return pseudonym
