"""What somebody means by the words they typed or pasted: words, labels, or a piece of a kubectl command or an address.

Nothing is refused: what is not understood is looked for as a word.
"""

from __future__ import annotations

import re
import shlex
from collections import deque
from typing import Final
from urllib.parse import unquote, urlsplit

import msgspec

from dradash.web.presenters.query import echo

MOST_WORDS: Final = 8

PODS: Final = "pods"
CLAIMS: Final = "resourceclaims"
NODES: Final = "nodes"
CONTEXTS: Final = "podschedulingcontexts"
CLASSES: Final = "resourceclasses"
DEVICE_CLASSES: Final = "deviceclasses"
SLICES: Final = "resourceslices"
POOLS: Final = "pools"
DEVICES: Final = "devices"
DRIVERS: Final = "drivers"
NAMESPACES: Final = "namespaces"
TEMPLATES: Final = "resourceclaimtemplates"

# As kubectl takes them (`kubectl api-resources`), and as these pages name them.
KIND_WORDS: Final = {
    word: kind
    for kind, words in {
        PODS: "pod pods po",
        CLAIMS: "resourceclaim resourceclaims claim claims",
        CONTEXTS: "podschedulingcontext podschedulingcontexts",
        NODES: "node nodes no",
        CLASSES: "resourceclass resourceclasses class classes",
        DEVICE_CLASSES: "deviceclass deviceclasses",
        SLICES: "resourceslice resourceslices slice slices",
        POOLS: "pool pools",
        DEVICES: "device devices",
        DRIVERS: "driver drivers",
        NAMESPACES: "namespace namespaces ns",
        TEMPLATES: "resourceclaimtemplate resourceclaimtemplates template templates",
    }.items()
    for word in words.split()
}
_PROGRAMS: Final = frozenset({"kubectl", "oc", "k"})
_VERBS: Final = frozenset(
    [
        "get",
        "describe",
        "delete",
        "edit",
        "logs",
        "exec",
        "events",
        "wait",
        "label",
        "annotate",
        "patch",
        "attach",
        "top",
        "debug",
        "cp",
        "port-forward",
    ]
)
_WITH_VALUE: Final = frozenset(
    [
        "-o",
        "--output",
        "--context",
        "--kubeconfig",
        "--cluster",
        "--user",
        "--as",
        "--field-selector",
        "--sort-by",
        "-c",
        "--container",
    ]
)
_NAMESPACE: Final = ("-n", "--namespace")
_SELECTOR: Final = ("-l", "--selector")
# Whole, or at least its first two parts.
_UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}(-[0-9a-f]{0,12}){0,3}")
_LABEL: Final = re.compile(r"([A-Za-z0-9][\w./-]*)==?([\w.-]*)")
PARTS: Final = frozenset({POOLS, DEVICES})  # of slices: no objects; named driver/pool and driver/pool/device
_NAMESPACED: Final = frozenset({PODS, CLAIMS, CONTEXTS, TEMPLATES})
# What a shell would end the command at: pipes, redirections, another command.
_SHELL: Final = re.compile(r"[|;&<>]|\d+[<>]")
_PATH: Final = re.compile(r"/(ns|api|apis|nodes|classes|deviceclasses|slices|pools|devices|drivers|live)/")
_GROUP: Final = re.compile(r"(\.v\d\w*)?\.resource\.k8s\.io$")


class Sought(msgspec.Struct, frozen=True):
    """All of it must fit. words are in lower case; kind: "" any; uid: how it begins.

    soft_kind: a kind's word alone ("nodes", "claim"): all of that kind fits, and what has the word in its name.
    otherwise: what `namespace/name` may mean as well: a label's key, with its slash (topology.kubernetes.io/zone).
    """

    words: tuple[str, ...] = ()
    kind: str = ""
    soft_kind: str = ""
    namespace: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    uid: str = ""
    otherwise: Sought | None = None

    @property
    def exactly(self) -> tuple[str, str] | None:
        """(kind, key) where one object is named in full; None where more than one may fit."""
        if not self.kind or self.kind in PARTS or self.labels or self.uid or len(self.words) != 1:
            return None
        if self.kind in _NAMESPACED:
            return (self.kind, f"{self.namespace}/{self.words[0]}") if self.namespace else None
        return (self.kind, self.words[0]) if self.otherwise is None else None

    @property
    def is_empty(self) -> bool:
        return not (self.words or self.kind or self.soft_kind or self.namespace or self.labels or self.uid)


def kind_of(word: str) -> str:
    """The kind that a resource argument names, "" when it names none: `po`, `resourceclaims.resource.k8s.io`."""
    return KIND_WORDS.get(_GROUP.sub("", word.lower()), "")


def parse(text: str) -> Sought:
    text = echo(text).strip()
    if "://" in text or _PATH.match(text):
        return _address(text)
    return _Reading(_split(text)).sought()


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # an open quote: somebody is still typing
        return text.replace('"', " ").replace("'", " ").split()


def _address(text: str) -> Sought:
    """The object that a path of the API server or of these pages names last."""
    parts = [unquote(p) for p in urlsplit(text).path.split("/") if p]
    kind = namespace = name = ""
    for at, part in enumerate(parts):
        after = parts[at + 1] if at + 1 < len(parts) else ""
        if part in ("ns", "namespaces") and after:
            kind, namespace, name = NAMESPACES, after, after
        elif (named := kind_of(part)) and named != NAMESPACES and not (kind == named and name == part):
            kind, name = named, "/".join(parts[at + 1 :]) if named in PARTS else after
            if after:
                break
    if kind == NAMESPACES:
        return Sought(words=(name.lower(),), kind=kind)
    if not kind:
        return Sought(words=tuple(p.lower() for p in parts[-1:]))
    return Sought(words=(name.lower(),) if name else (), kind=kind, namespace=namespace)


class _Reading:
    """One pass over the words."""

    def __init__(self, words: list[str]) -> None:
        end = next((i for i, word in enumerate(words) if i and _SHELL.match(word)), len(words))
        self._rest = deque(words[:end])
        self._words: list[str] = []
        self._whole: list[str] = []  # the same, with what is before a slash
        self._labels: list[tuple[str, str]] = []
        self._kind = self._soft = self._soft_word = self._namespace = self._uid = ""
        self._given = ""  # the namespace that an option names
        self._has_key = False

    def sought(self) -> Sought:
        command = self._skip_command()
        while self._rest:
            self._take(self._rest.popleft(), command)
        if self._soft and (command or self._words or self._labels or self._uid or self._namespace):
            self._kind, self._soft = self._soft, ""
        if self._soft:
            self._words = [self._soft_word]
        words, labels = tuple(self._words[:MOST_WORDS]), tuple(self._labels)
        otherwise = None
        if self._has_key:
            otherwise = Sought(tuple(self._whole[:MOST_WORDS]), self._kind, "", self._given, labels, self._uid)
        return Sought(words, self._kind, self._soft, self._namespace, labels, self._uid, otherwise)

    def _skip_command(self) -> bool:
        """Whether it begins as a command does; `$ kubectl -n y get` and what stands before the resource is dropped."""
        if self._rest and self._rest[0] == "$":
            self._rest.popleft()
        is_command = bool(self._rest) and self._rest[0] in _PROGRAMS and len(self._rest) > 1
        if is_command:
            self._rest.popleft()
        return is_command

    def _take(self, word: str, command: bool) -> None:
        if word.startswith("-") and len(word) > 1:
            self._option(word)
        elif command and word in _VERBS and not (self._kind or self._words):
            pass
        elif _UID.fullmatch(word.lower()):
            self._uid = word.lower()
        elif label := _LABEL.fullmatch(word):
            self._labels.append((label[1], label[2]))
        elif "/" in word and word.strip("/"):
            self._slash(word)
        elif not (self._kind or self._soft or self._words) and kind_of(word):
            self._soft, self._soft_word = kind_of(word), word.lower()
        else:
            self._add(word, word)

    def _add(self, word: str, whole: str) -> None:
        self._whole.append(whole.lower())
        if word:
            self._words.append(word.lower())

    def _option(self, word: str) -> None:
        name, equals, value = word.partition("=")
        if not word.startswith("--") and not equals and word[:2] in (*_NAMESPACE, *_SELECTOR):
            name, value = word[:2], word[2:]
        if name in (*_NAMESPACE, *_SELECTOR, *_WITH_VALUE) and not value and self._rest:
            value = self._rest.popleft()
        if name in _NAMESPACE:
            self._namespace = self._given = value
        elif name in _SELECTOR:
            found = (_LABEL.fullmatch(part.strip()) for part in value.split(","))
            self._labels += [(label[1], label[2]) for label in found if label]

    def _slash(self, word: str) -> None:
        """`kind/name`, or a key `namespace/name`, or a label's key."""
        before, _, after = word.partition("/")
        if kind := kind_of(before):
            self._kind = kind
        elif before:
            self._namespace, self._has_key = before, True
            self._add(after, word)
            return
        if after:
            self._add(after, after)
