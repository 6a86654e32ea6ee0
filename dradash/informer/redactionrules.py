"""What redaction does with one value: rules, made of smaller rules; kinds have theirs in redact.py.

A field for which there is no rule is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from dradash.informer.pseudonyms import Pseudonyms

Rule = Callable[[Pseudonyms, Any], Any]

_QUANTITY: Final = re.compile(r"[+-]?[0-9.]+(?:[eE][+-]?[0-9]+|[a-zA-Z]{0,2})")


def keep(_names: Pseudonyms, value: Any) -> Any:
    """Numbers, booleans, times and constants of the API."""
    return value


def of_text(change: Callable[[Pseudonyms, str], str]) -> Rule:
    """Applies to a string; null and what is of a wrong type (malformed stays malformed) become null and 0."""

    def rule(names: Pseudonyms, value: Any) -> Any:
        if isinstance(value, str):
            return change(names, value)
        return None if value is None else 0

    return rule


def name(role: str) -> Rule:
    return of_text(lambda names, text: names.name(role, text))


uid: Final = of_text(Pseudonyms.uid)
key: Final = of_text(Pseudonyms.key)
value: Final = name("value")
group: Final = of_text(Pseudonyms.domain)
word: Final = of_text(Pseudonyms.machine_word)
text: Final = of_text(Pseudonyms.text)
prefix: Final = of_text(lambda names, text: names.name("prefix", text.rstrip("-")) + "-" * text.endswith("-"))


def each(rule: Rule) -> Rule:
    def apply(names: Pseudonyms, value: Any) -> Any:
        if isinstance(value, list):
            return [rule(names, item) for item in value]
        return None if value is None else 0

    return apply


def fields(**rules: Rule) -> Rule:
    def apply(names: Pseudonyms, value: Any) -> Any:
        if not isinstance(value, dict):
            return None if value is None else 0
        # Prose comes last: by then the names in it that stand in other fields are known by their role.
        order = sorted((field for field in value if field in rules), key=lambda field: rules[field] is text)
        done = {field: rules[field](names, value[field]) for field in order}
        return {field: done[field] for field in value if field in done}

    return apply


def mapping(key_rule: Rule, value_rule: Rule) -> Rule:
    def apply(names: Pseudonyms, value: Any) -> Any:
        if not isinstance(value, dict):
            return None if value is None else 0
        return {key_rule(names, k): value_rule(names, v) for k, v in value.items()}

    return apply


def quantity(_names: Pseudonyms, value: Any) -> Any:
    return value if isinstance(value, int | float) or _QUANTITY.fullmatch(str(value)) else "0"


RESOURCE_NAMES: Final = of_text(lambda names, text: names.resource(text))
quantities: Final = mapping(RESOURCE_NAMES, quantity)
labels: Final = mapping(key, value)


def metadata(role: str) -> Rule:
    owner = fields(apiVersion=group, kind=keep, name=name("owner"), uid=uid, controller=keep, blockOwnerDeletion=keep)
    return fields(
        name=name(role),
        generateName=prefix,
        namespace=name("namespace"),
        uid=uid,
        resourceVersion=keep,
        generation=keep,
        creationTimestamp=keep,
        deletionTimestamp=keep,
        deletionGracePeriodSeconds=keep,
        labels=labels,
        annotations=labels,
        finalizers=each(key),
        ownerReferences=each(owner),
    )


TERM: Final = fields(
    matchExpressions=each(fields(key=key, operator=keep, values=each(value))),
    matchFields=each(fields(key=key, operator=keep, values=each(name("node")))),
)
NODE_SELECTOR: Final = fields(nodeSelectorTerms=each(TERM))
CONDITIONS: Final = each(
    fields(type=word, status=keep, reason=word, message=text, lastTransitionTime=keep, lastProbeTime=keep)
)
