"""Arrivals: traces, the files that hold them, and generators.

Names load when they are first used, because Spark's Python workers import ``mead.workload.trace`` and nothing else.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which workers do not load

if TYPE_CHECKING:
    from mead.workload.files import FORMATS as FORMATS
    from mead.workload.files import read_trace as read_trace
    from mead.workload.files import split_trace as split_trace
    from mead.workload.files import write_trace as write_trace
    from mead.workload.formats.columns import Piece as Piece
    from mead.workload.formats.columns import Pieces as Pieces
    from mead.workload.generators.kind import Generator as Generator
    from mead.workload.generators.kind import GeneratorError as GeneratorError
    from mead.workload.generators.markovian import Bursts as Bursts
    from mead.workload.generators.markovian import Markovian as Markovian
    from mead.workload.generators.paper_traces import LiveMapsStandIn as LiveMapsStandIn
    from mead.workload.generators.paper_traces import Synt as Synt
    from mead.workload.generators.poisson import Poisson as Poisson
    from mead.workload.generators.poisson import RandomWalk as RandomWalk
    from mead.workload.generators.poisson import Steps as Steps
    from mead.workload.generators.registry import KINDS as KINDS
    from mead.workload.generators.registry import Kind as Kind
    from mead.workload.generators.registry import Parameter as Parameter
    from mead.workload.generators.self_similar import SelfSimilar as SelfSimilar
    from mead.workload.survey import Course as Course
    from mead.workload.survey import Survey as Survey
    from mead.workload.survey import merge_surveys as merge_surveys
    from mead.workload.survey import survey_piece as survey_piece
    from mead.workload.survey import whole_or_seconds as whole_or_seconds
    from mead.workload.trace import TICKS_PER_S as TICKS_PER_S
    from mead.workload.trace import BadRowError as BadRowError
    from mead.workload.trace import Trace as Trace
    from mead.workload.trace import TraceError as TraceError
    from mead.workload.trace import Unit as Unit
else:

    def __getattr__(name: str) -> object:
        """Import an exported name on first use."""
        from mead.exports import load_export  # noqa: PLC0415 - only now, so that the room itself loads nothing

        return load_export(__name__, name)
