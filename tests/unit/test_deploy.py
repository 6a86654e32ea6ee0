"""deploy/: alerts, dashboard and manifests fit the code: metrics that exist, links that lead on, no right to write."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote_plus

import pytest
import yaml
from django.test import Client, override_settings

from dradash.conf import from_environ
from dradash.kinds.registry import KINDS, OPTIONAL
from dradash.metrics.families import STATES
from dradash.metrics.health import CHECKS
from dradash.metrics.scrape import Scraper
from dradash.metrics.table import METRICS
from dradash.reader import current
from dradash.reader.alertlabels import NAMES
from dradash.scheduling.classic.claimstate import ClaimState
from dradash.scheduling.doctor.rules import RULES
from dradash.scheduling.structured import usage
from tests import build, builddevices
from tests.scene import Scene

DEPLOY: Final = Path("deploy")
BASE: Final = "https://dradash.example.com"
_SUFFIXES: Final = ("_bucket", "_sum", "_count", "_gsum", "_gcount")
_SELECTOR: Final = re.compile(r"\b(dradash_\w+|process_\w+)(?:\{([^}]*)\})?")
_MATCHER: Final = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"')
_GROUPED: Final = re.compile(r"\b(?:by|on)\s*\(([^)]*)\)")


def rules() -> list[dict[str, Any]]:
    document = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())
    return [rule for group in document["spec"]["groups"] for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
    return found


def queries() -> list[str]:
    return [target["expr"] for panel in dashboard()["panels"] for target in panel.get("targets", ())]


def manifests() -> Iterator[dict[str, Any]]:
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        if path.name != "kustomization.yaml":
            yield from yaml.safe_load_all(path.read_text())


# --- PromQL without promtool -----------------------------------------------------------------------------------------


def faults_of(expr: str) -> list[str]:
    """What is wrong with an expression, as far as it can be told from the metrics' table."""
    faults = [f"unbalanced {pair}" for pair in ("()", "{}", "[]") if expr.count(pair[0]) != expr.count(pair[1])]
    used = _SELECTOR.findall(expr)
    if not used:
        faults.append("reads no metric")
    known = {"instance", "job"}
    for name, selector in used:
        if name.startswith("process_"):
            continue
        bare = next((name.removesuffix(s) for s in _SUFFIXES if name.endswith(s)), name)
        metric = METRICS.get(name) or METRICS.get(bare)
        if metric is None:
            faults.append(f"there is no metric {name}")
            continue
        histogram = {"le"} if metric.type in ("histogram", "gaugehistogram") else set()
        if histogram and name == metric.name:
            faults.append(f"{name} is a histogram")
        allowed = {"instance", *metric.labels, *histogram}
        known |= allowed
        if _MATCHER.sub("", selector).strip(", "):
            faults.append(f"cannot read the selector {{{selector}}}")
        faults += [f"{name} has no label {label}" for label, _, _ in _MATCHER.findall(selector) if label not in allowed]
    for labels in _GROUPED.findall(expr):
        faults += [f"no label {name.strip()}" for name in labels.split(",") if name.strip() not in known]
    return faults


def test_the_parser_finds_faults() -> None:
    assert faults_of('max by (kind) (dradash_informer_state{state="stale"}) == 1') == []
    assert faults_of("dradash_nonsense > 0") == ["there is no metric dradash_nonsense"]
    assert faults_of('dradash_claims{pod="x"}') == ["dradash_claims has no label pod"]
    assert faults_of("max by (pod) (dradash_claims)") == ["no label pod"]
    assert faults_of("dradash_judging_seconds") == ["dradash_judging_seconds is a histogram"]
    assert "unbalanced ()" in faults_of("max(dradash_claims")
    assert faults_of("up") == ["reads no metric"]


STATES_OF: Final = {
    "dradash_informer_state": set(STATES),
    "dradash_class_devices": set(usage.STATES),
    "dradash_claims": set(map(str, ClaimState)),
}


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: str(rule["alert"]))
def test_each_alert_reads_metrics_that_exist(rule: dict[str, Any]) -> None:
    assert faults_of(rule["expr"]) == []
    for code in re.findall(r'code="([^"]+)"', rule["expr"]):
        assert code in RULES
    for metric, states in re.findall(r'(\w+)\{[^}]*state=~?"([^"]+)"', rule["expr"]):
        assert set(states.split("|")) <= STATES_OF[metric]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: str(rule["alert"]))
def test_each_alert_says_how_bad_it_is_what_it_means_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert rule["for"]
    for name in ("summary", "description", "runbook"):
        assert len(rule["annotations"][name]) > 20, name
    assert rule["annotations"]["dashboard_url"].startswith(f"{BASE}/go?")
    labels = set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"])))
    grouped = {name.strip() for group in _GROUPED.findall(rule["expr"]) for name in group.split(",")}
    assert labels <= grouped, "a label that the expression does not keep would be empty"


@pytest.fixture
def scene() -> Iterator[Scene]:
    pod = build.pod("p", "ml", claims={"gpu": "c"})
    made = Scene(build.node("n"), build.resource_class(), builddevices.device_class(), pod, build.claim("c", "ml"))
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


# Where each alert is answered: the page's path and query without the moment, and what it shows there.
ANSWERED: Final = {
    "DraPodWaitsForDriver": ("/drivers/gpu.example.com", "gpu.example.com"),
    "DraPodWaitsForAdmin": ("/pods?who=admin", "Pods that use claims"),
    "DraPodWaitsForController": ("/pods?who=claim+controller", "Pods that use claims"),
    "DraDriverSilent": ("/doctor?code=driver-silent", "Doctor"),
    "DraDriverSlow": ("/drivers/gpu.example.com", "gpu.example.com"),
    "DraClassMissing": ("/doctor?code=class-missing", "Doctor"),
    "DraClaimMissing": ("/doctor?code=claim-missing", "Doctor"),
    "DraClaimStuckDeleting": ("/doctor?code=deletion-held", "Doctor"),
    "DraDeallocationUnanswered": ("/doctor?code=deallocation-unanswered", "Doctor"),
    "DraClaimReservedForGone": ("/doctor?code=reserved-for-gone", "Doctor"),
    "DraVerdictDisagreement": ("/doctor?code=words-disagree", "Doctor"),
    "DraPoolIncomplete": ("/doctor?code=pool-incomplete", "Doctor"),
    "DraPoolInvalid": ("/doctor?code=pool-invalid", "Doctor"),
    "DraDriverPublishesNothing": ("/doctor?code=driver-publishes-nothing", "Doctor"),
    "DraNodeWithoutSlice": ("/doctor?code=node-without-slice", "Doctor"),
    "DraDeviceGone": ("/doctor?code=device-vanished", "Doctor"),
    "DraDeviceTwice": ("/doctor?code=device-allocated-twice", "Doctor"),
    "DraTaintNotTolerated": ("/doctor?code=taint-not-tolerated", "Doctor"),
    "DraBindingFailed": ("/doctor?code=binding-failed", "Doctor"),
    "DraBindingWaits": ("/doctor?code=binding-waits", "Doctor"),
    "DraNoFreeDevice": ("/deviceclasses/gpu", "Selectors"),
    "DradashDown": ("/about", "Watched by"),
    "DradashModelUnavailable": ("/about", "Last read"),
    "DradashNoLeader": ("/about", "Watched by"),
    "DradashModelStale": ("/about", "Watched kinds"),
    "DradashKindForbidden": ("/about", "Watched kinds"),
    "DradashWatchSilent": ("/about", "Watched kinds"),
    "DradashJudgingBehind": ("/about", "To be judged"),
    "DradashJudgingFails": ("/pods?reason=JudgingFailed", "Pods that use claims"),
}


def rendered(rule: dict[str, Any], at: float) -> str:
    """Path and query of the rule's link, as Prometheus would render it."""
    labels = {"driver": "gpu.example.com", "kind": "pods", "class": "gpu"}
    labels["code"] = "".join(re.findall(r'code="([^"]+)"', rule["expr"])[:1])
    labels["acts_next"] = "".join(re.findall(r'acts_next=~?"([^"|]+)', rule["expr"]))
    url = rule["annotations"]["dashboard_url"]
    url = re.sub(r"\{\{ \$labels\.(\w+) \| urlquery \}\}", lambda m: quote_plus(labels[m[1]]), url)
    url, count = re.subn(r'\{\{ with query "time\(\)" \}\}.*?\{\{ end \}\}', f"{at:.0f}", url)
    assert count == 1
    assert "{" not in url
    return str(url.removeprefix(BASE))


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize("rule", rules(), ids=lambda rule: str(rule["alert"]))
def test_the_link_of_each_alert_leads_to_the_page_that_answers_it_at_its_time(rule: dict[str, Any]) -> None:
    page, shows = ANSWERED[rule["alert"]]
    with override_settings(ALLOWED_HOSTS=["testserver"]):
        response = Client().get(rendered(rule, build.NOW + 1))
        assert response.status_code == 302, response.content
        there = response.headers["Location"]
        assert there == f"{page}{'&' if '?' in page else '?'}at=2026-11-30T04%3A00%3A01Z"
        answer = Client().get(there)
    assert answer.status_code == 200
    assert shows in answer.content.decode()


def test_no_alert_is_answered_by_the_overview_and_none_is_forgotten() -> None:
    assert list(ANSWERED) == [rule["alert"] for rule in rules()]
    assert {page for page, _ in ANSWERED.values()}.isdisjoint({"", "/"})


def _promtool() -> str:
    return os.environ.get("PROMTOOL", "") or shutil.which("promtool") or ""


def test_the_rules_fire_as_they_should(tmp_path: Path) -> None:
    """By Prometheus' own promtool, which make test fetches; where none can be had, by the parser above."""
    promtool = _promtool()
    if not promtool:
        assert [fault for rule in rules() for fault in faults_of(rule["expr"])] == []
        return
    document = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(document["spec"]))
    shutil.copy(DEPLOY / "alerts_test.yaml", tmp_path)
    # A query of the dashboard is valid PromQL if it may be recorded, with what Grafana puts in.
    recorded = [
        {"record": f"query:{i}", "expr": expr.replace("$instance", ".*").replace("$__rate_interval", "5m")}
        for i, expr in enumerate(queries())
    ]
    (tmp_path / "dashboard.yaml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": recorded}]}))
    for args in (
        ("check", "rules", "rules.yaml"),
        ("check", "rules", "dashboard.yaml"),
        ("test", "rules", "alerts_test.yaml"),
    ):
        done = subprocess.run([promtool, *args], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.usefixtures("scene")
def test_prometheus_own_lint_has_nothing_to_say_about_the_metrics() -> None:
    """By promtool; where none can be had, the parser of prometheus_client has read them (test_metrics.py)."""
    text = Scraper(("ml",)).text(current.get())
    assert text.endswith(b"\n")
    if promtool := _promtool():
        done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, check=False)
        assert (done.returncode, done.stdout + done.stderr) == (0, b"")


def test_every_alert_is_seen_to_fire_in_the_rules_tests() -> None:
    tests = yaml.safe_load((DEPLOY / "alerts_test.yaml").read_text())["tests"]
    named = {case["alertname"] for test in tests for case in test["alert_rule_test"]}
    assert named == {rule["alert"] for rule in rules()}, "each has one"
    fired = {c["alertname"] for test in tests for c in test["alert_rule_test"] if c["exp_alerts"]}
    assert fired == named
    for test in tests:
        for series in test["input_series"]:
            assert faults_of(series["series"]) == []


# --- the dashboard ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("expr", queries())
def test_each_query_of_the_dashboard_reads_metrics_that_exist(expr: str) -> None:
    assert faults_of(expr) == []
    assert 'instance=~"$instance"' in expr


def test_the_dashboard_is_whole() -> None:
    board = dashboard()
    assert {"title", "uid", "schemaVersion", "panels", "templating"} <= board.keys()
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + i, place["y"] + j) for i in range(place["w"]) for j in range(place["h"])}
        assert place["x"] + place["w"] <= 24
        assert not cells & taken, f"{panel['title']} lies on another panel"
        taken |= cells


# --- the manifests ---------------------------------------------------------------------------------------------------


def test_the_role_may_only_read_and_only_what_is_watched() -> None:
    roles = [m for m in manifests() if m["kind"] in ("ClusterRole", "Role")]
    assert len(roles) == 1
    granted = {(group, res) for r in roles[0]["rules"] for group in r["apiGroups"] for res in r["resources"]}
    assert granted == {(kind.group, kind.plural) for kind in KINDS.values()}
    for rule in roles[0]["rules"]:
        assert set(rule["verbs"]) == {"get", "list", "watch"}
        assert set(rule) == {"apiGroups", "resources", "verbs"}


def _deployments() -> dict[str, dict[str, Any]]:
    return {m["metadata"]["name"]: m["spec"]["template"] for m in manifests() if m["kind"] == "Deployment"}


def test_only_the_watch_workers_get_a_token_of_the_api_server() -> None:
    for name, template in _deployments().items():
        spec = template["spec"]
        if name == "dradash-watch":
            assert spec["serviceAccountName"] == "dradash"
        else:
            assert spec["automountServiceAccountToken"] is False
            assert "serviceAccountName" not in spec


@pytest.mark.parametrize("name", ["dradash-redis", "dradash-watch", "dradash-judge", "dradash-web"])
def test_containers_run_without_rights_and_without_variables_of_services(name: str) -> None:
    spec = _deployments()[name]["spec"]
    assert spec["enableServiceLinks"] is False, "Kubernetes would set DRADASH_PORT=tcp://..."
    assert spec["securityContext"]["runAsNonRoot"] is True
    for container in spec["containers"]:
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert "memory" in container["resources"]["limits"]


def test_the_settings_in_the_manifests_are_accepted() -> None:
    literals = yaml.safe_load((DEPLOY / "kubernetes/kustomization.yaml").read_text())["configMapGenerator"][0][
        "literals"
    ]
    env = dict(pair.split("=", 1) for pair in literals)
    (web,) = _deployments()["dradash-web"]["spec"]["containers"]
    env |= {e["name"]: e.get("value", "a-token-of-some-length") for e in web["env"]}
    conf = from_environ(env)
    assert (conf.auth, conf.host) == ("token", "0.0.0.0")
    assert conf.redis_url == "redis://dradash-redis:6379/0"
    services = {m["metadata"]["name"] for m in manifests() if m["kind"] == "Service"}
    assert services == {"dradash", "dradash-redis"}


def test_the_workers_are_started_as_compose_starts_them() -> None:
    compose = yaml.safe_load(Path("docker-compose.yml").read_text())["services"]
    for name in ("watch", "judge", "web"):
        (container,) = _deployments()[f"dradash-{name}"]["spec"]["containers"]
        assert list(map(str, container["args"])) == list(map(str, compose[name]["command"]))


def test_every_manifest_is_listed_for_kustomize() -> None:
    listed = set(yaml.safe_load((DEPLOY / "kubernetes/kustomization.yaml").read_text())["resources"])
    assert listed == {p.name for p in (DEPLOY / "kubernetes").glob("*.yaml")} - {"kustomization.yaml"}


# --- the documents ---------------------------------------------------------------------------------------------------


def test_the_alerts_page_lists_every_alert_and_no_other() -> None:
    listed = re.findall(r"^\| `(Dra\w+)` \|", Path("docs/alerts.md").read_text(), re.MULTILINE)
    assert listed == [rule["alert"] for rule in rules()]


def test_the_alerts_page_names_every_parameter_of_go_and_every_check() -> None:
    page = Path("docs/alerts.md").read_text()
    for name in (*NAMES, "at", *CHECKS):
        assert f"`{name}`" in page


def test_the_support_page_shows_commands_that_there_are() -> None:
    page = Path("docs/support.md").read_text()
    commands = set(re.findall(r"(?:dradash|manage\.py) (record|up|agreement|explain)\b", page))
    assert commands == {"record", "up", "agreement", "explain"}
    for name in commands:
        assert Path(f"dradash/management/commands/{name}.py").exists()
    asked = [frozenset(kinds.split(",")) for kinds in re.findall(r"kubectl get (\S+) -A", page)]
    newer, older = {"deviceclasses", "resourceslices"}, {"resourceclasses", "podschedulingcontexts"}
    everywhere = KINDS.keys() - OPTIONAL - {"namespaces"}
    assert all(kind in page for kind in OPTIONAL)
    # kubectl refuses a kind that is not served: a command for each generation.
    assert asked == [everywhere - older, everywhere - newer]
