"""PID regulator of the inner level. Its output rises with the measurement."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PIDState:
    """Memory of a regulator between samples."""

    last: float | None = None
    """The last measurement; None before the first."""
    integral: float = 0.0


@dataclass(frozen=True)
class PID:
    """Proportional, integral and derivative action on the excess of a measurement over its set-point.

    The derivative is that of the measurement, so that a new set-point gives no kick; the first sample has none. The
    integral stays within the limits of the output and cannot wind up. Gains are per sample, as in the released code.
    """

    set_point: float
    proportional: float
    integral: float = 0.0
    derivative: float = 0.0
    limit: float = 1.0
    """Bound on the absolute output."""

    def step(self, state: PIDState, measured: float) -> tuple[float, PIDState]:
        """Return the output and the new state.

        >>> pid = PID(set_point=0.9, proportional=1.8, derivative=2.0, limit=0.3)
        >>> output, state = pid.step(PIDState(), 1.0)
        >>> round(output, 3), round(pid.step(state, 0.95)[0], 3)
        (0.18, -0.01)
        """
        above = measured - self.set_point
        moved = 0.0 if state.last is None else measured - state.last
        integral = self._limited(state.integral + self.integral * above)
        output = self._limited(self.proportional * above + integral + self.derivative * moved)
        return output, PIDState(measured, integral)

    def _limited(self, value: float) -> float:
        return min(max(value, -self.limit), self.limit)
