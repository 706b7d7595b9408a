"""A pipeline as JSON, so that a history can be read without the pipeline file."""

from __future__ import annotations

import json
from dataclasses import asdict

from mead.queueing import Edge
from mead.values import Batches, Operator, Pipeline, Requirement


def pipeline_to_json(pipeline: Pipeline) -> str:
    """The complete description of a pipeline.

    >>> pipeline = Pipeline("one", [Operator("matcher", 0.0015)])
    >>> pipeline_from_json(pipeline_to_json(pipeline)) == pipeline
    True
    """
    return json.dumps(asdict(pipeline), allow_nan=False)


def pipeline_from_json(text: str) -> Pipeline:
    """The pipeline from its JSON."""
    keys = json.loads(text)
    operators = [
        Operator(
            **operator
            | {
                "shares": tuple(operator["shares"]),
                "batches": None if operator["batches"] is None else Batches(**operator["batches"]),
                "price": _price(operator.get("price", 1.0)),  # files of older versions have none
            }
        )
        for operator in keys["operators"]
    ]
    return Pipeline(
        keys["name"],
        operators,
        [Edge(**edge) for edge in keys["edges"]],
        [Requirement(**requirement) for requirement in keys["requirements"]],
    )


def _price(price: float | list[float]) -> float | tuple[float, ...]:
    return tuple(price) if isinstance(price, list) else price
