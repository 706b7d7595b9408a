"""Response times of all operators and all paths of a pipeline, by the model of choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mead.queueing.map import MAP
from mead.queueing.network.bottleneck import Chains
from mead.queueing.network.decomposition import MODELS, Arrivals, independent_path, solve_each
from mead.queueing.network.graph import PATH_SEPARATOR, InvalidNetworkError, Network
from mead.queueing.queues.response import QueueSolution

MAP_MODEL = "map"


@dataclass(frozen=True)
class NetworkSolution:
    """The answer for a network: by operator name, and by path such as ``parser>matcher``."""

    operators: Mapping[str, QueueSolution]
    paths: Mapping[str, QueueSolution]


def solve_network(network: Network, arrivals: MAP, model: str = MAP_MODEL) -> NetworkSolution:
    """Response times of a network fed by one source.

    ``map`` follows the bursts through the network (``bottleneck``); ``mg1``, ``kingman``, ``mmk`` and ``gigk`` solve
    every operator on its own (``decomposition``). An overloaded operator is ``Unstable``, and so is every path through
    it.

    >>> from mead.queueing.network.graph import Edge, Operator
    >>> from mead.queueing.ph import PH
    >>> operators = [Operator("parser", PH.exponential(0.5)), Operator("matcher", PH.exponential(0.8))]
    >>> tandem = Network(operators, [Edge("parser", "matcher")])
    >>> solution = solve_network(tandem, MAP.poisson(1.0))
    >>> {name: round(queue.mean_s, 9) for name, queue in solution.operators.items()}
    {'parser': 1.0, 'matcher': 4.0}
    >>> round(solution.paths["parser>matcher"].mean_s, 9)
    5.0
    >>> solve_network(tandem, MAP.poisson(1.5)).paths["parser>matcher"]
    Unstable(utilization=1.2000000000000002, stable=False)
    """
    if model == MAP_MODEL:
        chains = Chains(network, arrivals)
        operators = {name: chains.operator(name) for name in network.order}
        paths = {PATH_SEPARATOR.join(path): chains.path(path) for path in network.paths}
    elif model in MODELS:
        operators = solve_each(network, Arrivals(arrivals.rate_per_s, arrivals.scv), MODELS[model])
        paths = {
            PATH_SEPARATOR.join(path): independent_path([operators[name] for name in path]) for path in network.paths
        }
    else:
        raise InvalidNetworkError(f"there is no model {model!r}; the models are {', '.join([MAP_MODEL, *MODELS])}")
    return NetworkSolution(MappingProxyType(operators), MappingProxyType(paths))
