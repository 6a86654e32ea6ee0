"""Since when nobody publishes a pool or a device: found in the history of slices, however many changed since."""

from __future__ import annotations

from dradash.reader.unpublished import AT_ONCE, unpublished_since
from dradash.scheduling.structured.pools import PoolID
from tests import build
from tests.builddevices import DRIVER, device, resource_slice
from tests.scene import Scene

POOL = PoolID(DRIVER, "rack-1")
OTHERS = range(AT_ONCE + 10)


def of(pool: str, *devices: str) -> build.Obj:
    return resource_slice(*map(device, devices), pool=pool, allNodes=True)


def test_a_pool_is_found_behind_more_slices_than_are_read_at_once() -> None:
    scene = Scene(of("rack-1", "gpu-0"))
    scene.delete(of("rack-1", "gpu-0"))
    gone = scene.now
    others = [of(f"other-{n}", "gpu-0") for n in OTHERS]
    scene.put(*others)
    scene.delete(*others)
    scene.look()
    assert unpublished_since(scene.web, POOL, "", None) == gone
    assert unpublished_since(scene.web, POOL, "", scene.now) == gone


def test_a_pool_that_went_last_is_found_before_all_slices_that_changed_earlier() -> None:
    others = [of(f"other-{n}", "gpu-0") for n in OTHERS]
    scene = Scene(of("rack-1", "gpu-0"), *others)
    scene.delete(*others)
    scene.delete(of("rack-1", "gpu-0"))
    scene.look()
    assert unpublished_since(scene.web, POOL, "", None) == scene.now
    assert unpublished_since(scene.web, POOL, "", scene.now) == scene.now


def test_a_device_that_left_its_slice_went_when_the_slice_changed() -> None:
    scene = Scene(of("rack-1", "gpu-0", "gpu-1"))
    scene.put(of("rack-1", "gpu-0"))
    scene.look()
    assert unpublished_since(scene.web, POOL, "gpu-1", None) == scene.now
    assert unpublished_since(scene.web, POOL, "gpu-7", None) is None
