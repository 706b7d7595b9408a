"""The metrics of a board in the format of Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from mead.reports.frames import Frame, Kind
from mead.reports.judge import CountedTimes, counts_within
from mead.reports.live import Board, model_error
from mead.values import WINDOW_S, Cause
from mead.web.prometheus.metrics import Metric

BUCKETS_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Bounds of the histogram, from hardly any wait to a long backlog."""

SOLE_REASON = {Kind.FAILED: Cause.FAILED, Kind.BLIND: Cause.UNUSABLE, Kind.OBSERVE: Cause.OBSERVED}
"""Outcomes of a round with only one possible reason."""

POSSIBLE = (
    *SOLE_REASON.items(),
    *((kind, why) for kind in Kind if kind not in SOLE_REASON for why in Cause if why not in SOLE_REASON.values()),
    (Kind.KEEP, Cause.UNUSABLE),
)
"""Combinations that are counted from 0, so that the first one shows as an increase."""

Family = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily
Sample = tuple[Sequence[str], float | None]


class BoardCollector(Collector):
    """Reads the board at every scrape and stores nothing itself."""

    def __init__(self, board: Board) -> None:
        self.board = board

    def collect(self) -> Iterator[Family]:
        """All metrics, in the order of the list."""
        board, last, recent = self.board, self.board.last, self.board.recent(WINDOW_S)
        for metric in Metric:
            if metric is Metric.RESPONSE:
                yield self._responses()
            else:
                yield _family(metric, _samples(metric, board, last, recent))

    def _responses(self) -> HistogramMetricFamily:
        board = self.board
        name, meaning = Metric.RESPONSE.family, Metric.RESPONSE.value.meaning
        family = HistogramMetricFamily(name, meaning, labels=Metric.RESPONSE.value.labels)
        for path in board.facts.pipeline.paths:
            bounds_s = {r.bound_s for r in board.facts.pipeline.requirements if r.path == path}
            sketch = board.responses(path)
            if sketch is not None:
                bounds = sorted({*BUCKETS_S, *bounds_s})
                counts, total, sum_s = counts_within(sketch, bounds), sketch.total, sketch.sum_s
            else:
                total, sum_s = board.totals.completed[path], board.totals.response_sum_s[path]
                beyond = board.totals.beyond.get(path) or Counter[float]()
                bounds = sorted(beyond)
                counts = [total - beyond[bound_s] for bound_s in bounds]
            buckets = [(repr(bound_s), count) for bound_s, count in zip(bounds, counts, strict=True)]
            family.add_metric([path], [*buckets, ("+Inf", total)], sum_s)
        return family


def exposition(board: Board) -> bytes:
    """The page `/metrics`."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(BoardCollector(board))
    return generate_latest(registry)


def _family(metric: Metric, samples: Iterable[Sample]) -> Family:
    kind = CounterMetricFamily if metric.value.type == "counter" else GaugeMetricFamily
    family = kind(metric.family, metric.value.meaning, labels=metric.value.labels)
    for labels, value in samples:
        if value is not None:
            family.add_metric(labels, value)
    return family


def _samples(  # noqa: C901, PLR0911, PLR0912 - one line for every metric of the list
    metric: Metric, board: Board, last: Frame | None, recent: Sequence[Frame]
) -> Iterable[Sample]:
    facts, totals = board.facts, board.totals
    pipeline = facts.pipeline
    operators = {} if last is None else last.operators
    paths = {} if last is None else last.paths
    match metric:
        case Metric.RUN:
            return [((pipeline.name, facts.policy, facts.mode, facts.engine), 1.0)]
        case Metric.FINISHED:
            return [((), float(board.finished))]
        case Metric.REQUIRED:
            return [((r.path, r.statistic), r.bound_s) for r in pipeline.requirements]
        case Metric.ALLOWANCE:
            return [((r.path, r.statistic), CountedTimes(recent).whole(r).used) for r in pipeline.requirements]
        case Metric.ARRIVED:
            return [((o.name,), totals.arrived[o.name]) for o in pipeline.operators]
        case Metric.BACKLOG:
            return [((name,), o.backlog) for name, o in operators.items()]
        case Metric.SHARE:
            return [((name,), o.share) for name, o in operators.items()]
        case Metric.REPLICAS:
            return [((name,), o.replicas) for name, o in operators.items()]
        case Metric.PLANNED:
            return [
                ((name,), None if o.planned_share is None else o.planned_share * (o.planned_replicas or 1))
                for name, o in operators.items()
            ]
        case Metric.CORES:
            return [] if last is None else [((), last.cores)]
        case Metric.UTILIZATION:
            return [((name,), o.utilization) for name, o in operators.items()]
        case Metric.BUSY:
            return [((o.name,), totals.busy_s[o.name]) for o in pipeline.operators]
        case Metric.THROTTLED:
            return [((o.name,), totals.throttled_s[o.name]) for o in pipeline.operators]
        case Metric.ROUNDS:
            return [((), totals.rounds)]
        case Metric.DECISIONS:
            pairs = [*POSSIBLE, *(pair for pair in list(totals.decisions) if pair not in POSSIBLE)]
            return [((kind.value, because.value), totals.decisions[kind, because]) for kind, because in pairs]
        case Metric.PHASE:
            return [((phase,), spent_s) for phase, spent_s in list(totals.phase_s.items())]
        case Metric.INTERVAL:
            return [((), board.interval_s)]
        case Metric.LAST_ROUND:
            return [((), board.last_round_at_s)]
        case Metric.PREDICTED:
            return [
                ((name, statistic), value)
                for name, path in paths.items()
                for statistic, value in (("mean", path.predicted_mean_s), ("p95", path.predicted_p95_s))
            ]
        case Metric.MODEL_ERROR:
            return [((path,), model_error(recent, path)) for path in pipeline.paths]
        case Metric.CAUTION:
            return [] if last is None else [((), last.caution)]
    raise AssertionError(metric)  # pragma: no cover - the histogram is collected apart
