"""A user's dominance relation on its way to Spark's tasks."""

from __future__ import annotations

import pickle
import sys
import warnings
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any

from numba.core.dispatcher import Dispatcher

from mead.preference.kernels.relation import Dominates, compile_relation


class SlowRelationWarning(UserWarning):
    """A relation cannot be compiled, so Python calls it for every pair of tuples."""


@dataclass(frozen=True)
class Relation:
    """A relation as bytes: tasks of other processes need not be able to import its module."""

    name: str
    """By which a folder recognizes it: its name and a digest of its code."""
    function: bytes
    is_compiled: bool

    @classmethod
    def of(cls, dominates: Dominates) -> Relation:
        """Check and pack a function. If numba cannot compile it, warn: the query will be slow."""
        plain: Any = dominates.py_func if isinstance(dominates, Dispatcher) else dominates
        is_compiled = isinstance(compile_relation(dominates), Dispatcher)
        name = getattr(plain, "__qualname__", type(plain).__name__)
        if not is_compiled:
            warnings.warn(
                f"{name} cannot be compiled with numba, so Python calls it for every pair of tuples, which is slow; "
                "use numbers, comparisons and loops only",
                SlowRelationWarning,
                stacklevel=3,
            )
        return cls(f"{name}:{_digest(plain)}", _pack(plain), is_compiled)

    def load(self) -> Dominates:
        """Return the function, compiled once per process."""
        return _load(self.function, is_compiled=self.is_compiled)


@cache
def _load(function: bytes, *, is_compiled: bool) -> Dominates:
    plain: Dominates = pickle.loads(function)  # noqa: S301 - packed by this application
    return compile_relation(plain) if is_compiled else plain


def _pack(function: Any) -> bytes:
    """Pickle a function with its code, so that no task has to import its module."""
    from pyspark import cloudpickle  # noqa: PLC0415 - loads PySpark

    pickler: Any = cloudpickle  # it has no types
    module = sys.modules.get(getattr(function, "__module__", ""))
    if module is None or module.__name__ == "__main__":
        return bytes(pickler.dumps(function))
    pickler.register_pickle_by_value(module)
    try:
        return bytes(pickler.dumps(function))
    finally:
        pickler.unregister_pickle_by_value(module)


def _digest(function: Any) -> str:
    """Return a digest of the code: the same in every process, another one if the function is changed."""
    code = getattr(function, "__code__", None)
    if code is None:
        return "object"
    simple = [value for value in code.co_consts if isinstance(value, bool | int | float | str | bytes | None)]
    return sha256(repr((code.co_code, code.co_names, simple)).encode()).hexdigest()[:16]
