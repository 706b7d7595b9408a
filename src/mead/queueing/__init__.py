"""Arrival processes, service times, queues and networks: pure maths.

The room reads no files and no clock, and knows nothing of Spark.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which takes time to load

if TYPE_CHECKING:
    from mead.queueing.fitting.calibration import fit_calibrated as fit_calibrated
    from mead.queueing.fitting.kpc.fit import fit_kpc as fit_kpc
    from mead.queueing.fitting.targets import REFERENCE_SERVICE as REFERENCE_SERVICE
    from mead.queueing.fitting.window import FittedMAP as FittedMAP
    from mead.queueing.fitting.window import Window as Window
    from mead.queueing.fitting.window import WindowFit as WindowFit
    from mead.queueing.fitting.window import prepare as prepare
    from mead.queueing.fitting.windows import DEFAULT_WINDOWS as DEFAULT_WINDOWS
    from mead.queueing.fitting.windows import Fitter as Fitter
    from mead.queueing.fitting.windows import distinct as distinct
    from mead.queueing.fitting.windows import fit_windows as fit_windows
    from mead.queueing.forecasting.registry import PREDICTORS as PREDICTORS
    from mead.queueing.forecasting.registry import USUAL_QUANTILE as USUAL_QUANTILE
    from mead.queueing.forecasting.registry import Predictor as Predictor
    from mead.queueing.forecasting.registry import forecaster as forecaster
    from mead.queueing.map import MAP as MAP
    from mead.queueing.map import InvalidMAPError as InvalidMAPError
    from mead.queueing.network.bottleneck import Chains as Chains
    from mead.queueing.network.decomposition import MODELS as MODELS
    from mead.queueing.network.decomposition import Arrivals as Arrivals
    from mead.queueing.network.decomposition import OperatorModel as OperatorModel
    from mead.queueing.network.decomposition import independent_path as independent_path
    from mead.queueing.network.decomposition import solve_each as solve_each
    from mead.queueing.network.expected_load import CycleError as CycleError
    from mead.queueing.network.expected_load import Link as Link
    from mead.queueing.network.expected_load import Load as Load
    from mead.queueing.network.expected_load import edge_ratios as edge_ratios
    from mead.queueing.network.expected_load import entry_shares as entry_shares
    from mead.queueing.network.expected_load import expected_loads as expected_loads
    from mead.queueing.network.expected_load import replicas_needed as replicas_needed
    from mead.queueing.network.expected_load import whole_replicas as whole_replicas
    from mead.queueing.network.graph import PATH_SEPARATOR as PATH_SEPARATOR
    from mead.queueing.network.graph import Edge as Edge
    from mead.queueing.network.graph import InvalidNetworkError as InvalidNetworkError
    from mead.queueing.network.graph import Network as Network
    from mead.queueing.network.graph import Operator as Operator
    from mead.queueing.network.sojourn import Part as Part
    from mead.queueing.network.solve import MAP_MODEL as MAP_MODEL
    from mead.queueing.network.solve import NetworkSolution as NetworkSolution
    from mead.queueing.network.solve import solve_network as solve_network
    from mead.queueing.network.streams import Stream as Stream
    from mead.queueing.network.streams import streams_of as streams_of
    from mead.queueing.network.traffic import ENDLESS_GAIN as ENDLESS_GAIN
    from mead.queueing.network.traffic import UnstableLoop as UnstableLoop
    from mead.queueing.network.traffic import arrival_rates as arrival_rates
    from mead.queueing.network.traffic import loop_gain as loop_gain
    from mead.queueing.ph import MAX_ERLANG_PHASES as MAX_ERLANG_PHASES
    from mead.queueing.ph import PH as PH
    from mead.queueing.queues.batch_server import BatchServer as BatchServer
    from mead.queueing.queues.gigk import gigk as gigk
    from mead.queueing.queues.gigk import whitt_factor as whitt_factor
    from mead.queueing.queues.kingman import kingman as kingman
    from mead.queueing.queues.map_ph_1 import map_ph_1 as map_ph_1
    from mead.queueing.queues.map_ph_1 import map_ph_1_at_utilizations as map_ph_1_at_utilizations
    from mead.queueing.queues.mg1 import m_ph_1 as m_ph_1
    from mead.queueing.queues.microbatch import MicroBatches as MicroBatches
    from mead.queueing.queues.microbatch import micro_batch as micro_batch
    from mead.queueing.queues.microbatch import micro_batch_many as micro_batch_many
    from mead.queueing.queues.replay import DEFAULT_SEQUENCES as DEFAULT_SEQUENCES
    from mead.queueing.queues.replay import ReplayResponse as ReplayResponse
    from mead.queueing.queues.replay import ServiceTimes as ServiceTimes
    from mead.queueing.queues.replay import replay as replay
    from mead.queueing.queues.replay import replay_at_utilizations as replay_at_utilizations
    from mead.queueing.queues.replay import replay_batches as replay_batches
    from mead.queueing.queues.response import SATURATED as SATURATED
    from mead.queueing.queues.response import QueueSolution as QueueSolution
    from mead.queueing.queues.response import ResponseTime as ResponseTime
    from mead.queueing.queues.response import Unstable as Unstable
    from mead.queueing.queues.response import check_percent as check_percent
    from mead.queueing.queues.response import overloaded as overloaded
    from mead.queueing.queues.split_batch import batch_wait_s as batch_wait_s
    from mead.queueing.queues.split_batch import gate_s as gate_s
    from mead.queueing.sampling import BLOCK as BLOCK
    from mead.queueing.sampling import alias_table as alias_table
    from mead.queueing.sampling import walk as walk
    from mead.queueing.statistics.hurst import METHOD as METHOD
    from mead.queueing.statistics.hurst import hurst as hurst
    from mead.queueing.statistics.inter_arrivals import acf as acf
    from mead.queueing.statistics.inter_arrivals import idc as idc
    from mead.queueing.statistics.inter_arrivals import lags_of as lags_of
    from mead.queueing.statistics.inter_arrivals import scv as scv
    from mead.queueing.statistics.inter_arrivals import spans_of as spans_of
    from mead.queueing.statistics.partial import Characteristics as Characteristics
    from mead.queueing.statistics.partial import Frame as Frame
    from mead.queueing.statistics.partial import Partial as Partial
else:

    def __getattr__(name: str) -> object:
        """Import an exported name on first use."""
        from mead.exports import load_export  # noqa: PLC0415 - only now, so that the room itself loads nothing

        return load_export(__name__, name)
