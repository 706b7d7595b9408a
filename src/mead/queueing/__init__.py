"""Arrival processes, service times, queues and networks: pure maths.

The room reads no files and no clock, and knows nothing of Spark.
"""

from __future__ import annotations

from mead.queueing.fitting.calibration import fit_calibrated
from mead.queueing.fitting.kpc.fit import fit_kpc
from mead.queueing.fitting.targets import REFERENCE_SERVICE
from mead.queueing.fitting.window import FittedMAP, Window, WindowFit, prepare
from mead.queueing.fitting.windows import DEFAULT_WINDOWS, Fitter, distinct, fit_windows
from mead.queueing.forecasting.registry import PREDICTORS, USUAL_QUANTILE, Predictor, forecaster
from mead.queueing.map import MAP, InvalidMAPError
from mead.queueing.network.bottleneck import Chains
from mead.queueing.network.decomposition import MODELS, Arrivals, OperatorModel, decomposed, independent_path
from mead.queueing.network.expected_load import (
    CycleError,
    Link,
    Load,
    edge_ratios,
    entry_shares,
    expected_loads,
    replicas_needed,
    whole_replicas,
)
from mead.queueing.network.graph import PATH_SEPARATOR, Edge, InvalidNetworkError, Network, Operator
from mead.queueing.network.sojourn import Part
from mead.queueing.network.solve import MAP_MODEL, NetworkSolution, solve_network
from mead.queueing.network.streams import Stream, streams_of
from mead.queueing.network.traffic import ENDLESS_GAIN, UnstableLoop, arrival_rates, loop_gain
from mead.queueing.ph import MAX_ERLANG_PHASES, PH
from mead.queueing.queues.batch_server import BatchServer
from mead.queueing.queues.gigk import gigk, whitt_factor
from mead.queueing.queues.kingman import kingman
from mead.queueing.queues.map_ph_1 import map_ph_1, map_ph_1_at_utilizations
from mead.queueing.queues.mg1 import m_ph_1
from mead.queueing.queues.microbatch import MicroBatches, micro_batch, micro_batch_many
from mead.queueing.queues.replay import (
    DEFAULT_SEQUENCES,
    ReplayResponse,
    ServiceTimes,
    replay,
    replay_at_utilizations,
    replay_batches,
)
from mead.queueing.queues.response import SATURATED, QueueSolution, ResponseTime, Unstable, check_percent, overloaded
from mead.queueing.queues.split_batch import batch_wait_s, gate_s
from mead.queueing.sampling import BLOCK, alias_table, walk
from mead.queueing.statistics.hurst import METHOD, hurst
from mead.queueing.statistics.inter_arrivals import acf, idc, lags_of, scv, spans_of
from mead.queueing.statistics.partial import Characteristics, Frame, Partial

__all__ = [
    "BLOCK",
    "DEFAULT_SEQUENCES",
    "DEFAULT_WINDOWS",
    "ENDLESS_GAIN",
    "MAP",
    "MAP_MODEL",
    "MAX_ERLANG_PHASES",
    "METHOD",
    "MODELS",
    "PATH_SEPARATOR",
    "PH",
    "PREDICTORS",
    "REFERENCE_SERVICE",
    "SATURATED",
    "USUAL_QUANTILE",
    "Arrivals",
    "BatchServer",
    "Chains",
    "Characteristics",
    "CycleError",
    "Edge",
    "FittedMAP",
    "Fitter",
    "Frame",
    "InvalidMAPError",
    "InvalidNetworkError",
    "Link",
    "Load",
    "MicroBatches",
    "Network",
    "NetworkSolution",
    "Operator",
    "OperatorModel",
    "Part",
    "Partial",
    "Predictor",
    "QueueSolution",
    "ReplayResponse",
    "ResponseTime",
    "ServiceTimes",
    "Stream",
    "Unstable",
    "UnstableLoop",
    "Window",
    "WindowFit",
    "acf",
    "alias_table",
    "arrival_rates",
    "batch_wait_s",
    "check_percent",
    "decomposed",
    "distinct",
    "edge_ratios",
    "entry_shares",
    "expected_loads",
    "fit_calibrated",
    "fit_kpc",
    "fit_windows",
    "forecaster",
    "gate_s",
    "gigk",
    "hurst",
    "idc",
    "independent_path",
    "kingman",
    "lags_of",
    "loop_gain",
    "m_ph_1",
    "map_ph_1",
    "map_ph_1_at_utilizations",
    "micro_batch",
    "micro_batch_many",
    "overloaded",
    "prepare",
    "replay",
    "replay_at_utilizations",
    "replay_batches",
    "replicas_needed",
    "scv",
    "solve_network",
    "spans_of",
    "streams_of",
    "walk",
    "whitt_factor",
    "whole_replicas",
]
