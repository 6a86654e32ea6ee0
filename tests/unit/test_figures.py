"""What workers count, into the model, for /metrics."""

from __future__ import annotations

from dradash.kinds.pod import Pod
from dradash.pipeline.judge import Judge
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.evaluate import evaluate
from dradash.scheduling.verdict import Evaluation
from dradash.store.figures import CHANGED, FAILED, JUDGING_LE, JUDGING_SUM, STORED
from dradash.store.model import DuePod
from tests import build
from tests.scene import Scene

POD = build.pod("p", "ml", claims={"gpu": "c"})


def _scene() -> Scene:
    return Scene(POD, build.claim("c", "ml"), build.resource_class(), build.node("n"))


def test_each_judgement_is_counted_with_its_time() -> None:
    scene = _scene()
    before = scene.model.figures()
    scene.judge()
    scene.judge()
    after = scene.model.figures()
    assert after[STORED] - before[STORED] == 2
    buckets = [sum(v for n, v in f.items() if n.startswith(JUDGING_LE)) for f in (before, after)]
    assert buckets[1] - buckets[0] == 2
    assert after[JUDGING_SUM] > before[JUDGING_SUM]


def test_only_a_verdict_that_says_something_else_is_counted_as_changed() -> None:
    scene = _scene()
    first = scene.model.figures()[f"{CHANGED}Waiting"]
    scene.judge()
    assert scene.model.figures()[f"{CHANGED}Waiting"] == first
    scene.delete(build.claim("c", "ml"))
    assert scene.model.figures()[f"{CHANGED}Blocked"] == 1


def test_a_pod_whose_judging_raises_is_counted_as_failed() -> None:
    scene = _scene()

    def poisoned(pod: Pod, cluster: Cluster, revision: int, *, now: float) -> Evaluation:
        if pod.name == "p":
            raise RuntimeError("poison")
        return evaluate(pod, cluster, revision, now=now)

    scene.model.mark_due(scene.epoch, [DuePod("ml/p", scene.model.revision())])
    Judge(scene.model, lambda: scene.now, evaluate=poisoned).judge(scene.model.take_due(scene.now, 5, 1.0))
    assert scene.model.figures()[FAILED] == 1
