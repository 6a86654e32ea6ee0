"""For every test: nothing of the machine's own dradash or Redis is touched, and browsers come last."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

for _name in list(os.environ):
    # A REDIS_URL of the person who runs the tests is a real one: no test may write there.
    if _name == "REDIS_URL" or _name.startswith("DRADASH_"):
        del os.environ[_name]


# The same examples in every run: what a search among others finds is worth a run of its own, not a red CI of somebody
# else's change. No limits of time: they measure the machine.
settings.register_profile("tests", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Quick tests first; browser tests last, because Playwright's own event loop breaks async tests that follow it.

    Where several files run at once, those with real processes begin: they wait most, and the others fill the time.
    """
    order = ["/unit/", "/parity/", "/contract/", "/acceptance/"]
    if config.getoption("dist", "no") != "no":
        order.reverse()
    order.append("/browser/")

    def rank(item: pytest.Item) -> int:
        return next((n for n, part in enumerate(order) if part in item.path.as_posix()), 0)

    items.sort(key=rank)
