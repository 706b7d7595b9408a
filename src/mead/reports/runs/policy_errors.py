"""How far the models of each policy were off, over all its runs in a history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mead.history import Checked, PastRun


@dataclass(frozen=True)
class PolicyError:
    """How far the models of one policy were off. Every tuple of all its runs counts alike."""

    policy: str
    runs: int
    """How many runs there are in which its models could be checked."""
    by_path: Mapping[tuple[str, str], float]
    """Observed over predicted mean response time, less 1. By run's name and path: a name is that of a pipeline."""

    def __str__(self) -> str:
        runs = f"{self.runs} run{'' if self.runs == 1 else 's'}"
        errors = (f"{name}, {path}: {error:+.0%}" for (name, path), error in self.by_path.items())
        return f"{self.policy}, {runs}: {'; '.join(errors)}"

    def as_json(self) -> dict[str, Any]:
        """As a document for scripts."""
        errors: dict[str, dict[str, float]] = {}
        for (name, path), error in self.by_path.items():
            errors.setdefault(name, {})[path] = error
        return {"policy": self.policy, "runs": self.runs, "model_error": errors}


def policy_errors(runs: Sequence[PastRun], checked: Sequence[Mapping[str, Checked]]) -> list[PolicyError]:
    """The errors of every policy whose models could be checked, in the order of their first runs.

    As in the table of runs, only paths that have a requirement count.
    """
    sums: dict[str, dict[tuple[str, str], Checked]] = {}
    numbers: dict[str, set[int]] = {}
    for run, of_paths in zip(runs, checked, strict=True):
        asked = {requirement.path for requirement in run.pipeline.requirements} or set(of_paths)
        for path in asked & {path for path, one in of_paths.items() if one.error is not None}:
            mine, key = sums.setdefault(run.policy, {}), (run.name, path)
            mine[key] = mine.get(key, Checked(0.0, 0.0)) + of_paths[path]
            numbers.setdefault(run.policy, set()).add(run.number)
    return [
        PolicyError(policy, len(numbers[policy]), {key: mine[key].error or 0.0 for key in sorted(mine)})
        for policy, mine in sums.items()
    ]
