"""A device's maps are made of what is asked for, and answer as if they had been made whole."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from dradash.kinds.resourceslice import Device, DeviceAttribute, DeviceCapacity
from dradash.scheduling.structured.celvalues import EMPTY_MAP, CelError, CelMap, equal
from dradash.scheduling.structured.celvariables import variables

DRIVER: Final = "d.io"
DOMAINS: Final = (DRIVER, "e.io", "", "e.io/a", "a")
NAMES: Final = ("a", "b", "a/b", "")
KEYS: Final = (*DOMAINS, *NAMES, 1, 1.5, True, None)
HELD: Final = st.dictionaries(
    st.sampled_from(("a", "b", "d.io/a", "d.io/b", "e.io/a", "e.io/a/b", "a/b", "/a")), st.integers(0, 3)
)


def whole(held: dict[str, int]) -> CelMap:
    """By domain; of a name with the driver's domain and the same without it the later one counts."""
    found: dict[str, dict[str, Any]] = {}
    for key, value in held.items():
        domain, name = key.split("/", 1) if "/" in key else (DRIVER, key)
        found.setdefault(domain, {})[name] = value
    return CelMap([(domain, CelMap(list(of.items()))) for domain, of in found.items()], default=EMPTY_MAP)


def got(of: CelMap, key: Any) -> Any:
    try:
        return of.get(key)
    except CelError as error:
        return str(error)


def same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other if not isinstance(one, CelMap) else equal(one, other)


@given(HELD)
def test_each_key_is_answered_as_the_whole_map_would(held: dict[str, int]) -> None:
    attributes = {name: DeviceAttribute(int_value=value) for name, value in held.items()}
    expected = whole(held)
    for domain in KEYS:
        made = variables(DRIVER, Device(attributes=attributes))["device.attributes"]
        assert made.contains(domain) == expected.contains(domain)
        for there, wanted in (
            (got(made, domain), got(expected, domain)),
            (made.find(domain).value, expected.find(domain).value),
        ):
            assert same(there, wanted)
            assert same(wanted, there)
            if isinstance(there, CelMap):
                for name in KEYS:
                    assert there.contains(name) == wanted.contains(name)
                    assert same(got(there, name), got(wanted, name))
                    assert there.find(name) == wanted.find(name)
                assert (there.keys(), len(there), list(there.items())) == (
                    wanted.keys(),
                    len(wanted),
                    list(wanted.items()),
                )


@given(HELD)
def test_the_whole_map_has_all_there_is(held: dict[str, int]) -> None:
    device = Device(capacity={name: DeviceCapacity(value=str(value)) for name, value in held.items()})
    made, expected = variables(DRIVER, device)["device.capacity"], whole(held)
    assert (made.keys(), len(made)) == (expected.keys(), len(expected))
    for domain, names in made.items():
        assert {name: str(amount) for name, amount in names.items()} == {
            name: str(value) for name, value in expected.get(domain).items()
        }
