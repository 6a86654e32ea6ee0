"""resource.k8s.io DeviceTaintRule: a taint that an administrator puts on devices.

Kubernetes 1.36 has it behind the gate DRADeviceTaintRules, which is off by default, in v1beta2, which is not served by
default; taints that drivers publish (DRADeviceTaints) are on.
"""

from __future__ import annotations

from dradash.kinds.deviceclaim import DeviceSelector
from dradash.kinds.meta import KubeObject, KubeStruct
from dradash.kinds.resourceslice import DeviceTaint


class RuleTaint(DeviceTaint, frozen=True, kw_only=True):
    """A taint that no driver publishes. rule: name of the DeviceTaintRule."""

    rule: str = ""


class DeviceTaintSelector(KubeStruct, frozen=True, kw_only=True):
    """What is not set matches all. device_class_name, selectors: of v1alpha3 of 1.33 and 1.34."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None
    device_class_name: str | None = None
    selectors: tuple[DeviceSelector, ...] = ()

    @property
    def looks(self) -> bool:
        """Whether names do not say it all: the device's attributes count too."""
        return self.device_class_name is not None or bool(self.selectors)


class DeviceTaintRuleSpec(KubeStruct, frozen=True, kw_only=True):
    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(KubeObject, frozen=True, kw_only=True):
    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()

    @property
    def taint(self) -> RuleTaint:
        of = self.spec.taint
        return RuleTaint(key=of.key, value=of.value, effect=of.effect, time_added=of.time_added, rule=self.name)


def names(selector: DeviceTaintSelector | None, driver: str, pool: str, device: str | None = None) -> bool:
    """ruleMatchesDevice; without a device whether it may match some of the pool. No selector matches nothing.

    One that also `looks` selects less.
    """
    if selector is None:
        return False
    asked = ((selector.driver, driver), (selector.pool, pool), (selector.device, device))
    return all(wanted is None or have is None or wanted == have for wanted, have in asked)
