"""Finite Markov chains: the few facts of linear algebra that MAP and PH share."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from mead.arrays import FloatArray


def stationary(chain: FloatArray) -> FloatArray:
    """The stationary row vector of an irreducible chain, given as a generator or as a stochastic matrix.

    State reduction after Grassmann, Taksar and Heyman (1985). It reads only the off-diagonal entries, which is
    why both forms will do, and it never subtracts, so it stays accurate when rates differ by many orders of
    magnitude, as they do in models fitted to bursty traffic.

    >>> stationary(np.array([[-1.0, 1.0], [3.0, -3.0]])).round(12).tolist()
    [0.75, 0.25]
    >>> stationary(np.array([[0.9, 0.1], [0.3, 0.7]])).round(12).tolist()
    [0.75, 0.25]
    """
    q = np.array(chain)
    n = q.shape[0]
    for last in range(n - 1, 0, -1):
        q[:last, last] /= q[last, :last].sum()
        q[:last, :last] += np.outer(q[:last, last], q[last, :last])
    pi = np.ones(n)
    for state in range(1, n):
        pi[state] = pi[:state] @ q[:state, state]
    return np.asarray(pi / pi.sum())


def stationary_rows(chains: FloatArray) -> FloatArray:
    """Stationary row vectors (k, 1, n) of stacked irreducible stochastic matrices (k, n, n), quickly.

    One equation gives way to the normalisation. That is less accurate than ``stationary`` but one call for all.

    >>> stationary_rows(np.array([[[0.9, 0.1], [0.3, 0.7]]])).round(12).tolist()
    [[[0.75, 0.25]]]
    """
    system = chains.transpose(0, 2, 1) - np.eye(chains.shape[1])
    system[:, -1, :] = 1.0
    right = np.zeros((chains.shape[0], chains.shape[1], 1))
    right[:, -1] = 1.0
    return np.asarray(np.linalg.solve(system, right).transpose(0, 2, 1))


def communicating_classes(rates: FloatArray) -> list[list[int]]:
    """States grouped by mutual reachability through positive off-diagonal entries.

    >>> communicating_classes(np.array([[-1.0, 1.0], [0.0, 0.0]]))
    [[1], [0]]
    """
    graph = csr_array(((rates > 0) & ~np.eye(rates.shape[0], dtype=bool)).astype(np.int64))
    count, label = connected_components(graph, directed=True, connection="strong")
    return [np.flatnonzero(label == c).tolist() for c in range(count)]
