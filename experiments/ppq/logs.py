"""The authors' raw logs of the Elastic-PPQ paper's last experiments, as their repository publishes them.

Repository ParaGroup/Elastic-PPQ, folder ``paper_results/Complete``. Workers, splitting, utilizations and throughput are
the last lines of ``*_output_*.txt``; the CV is that of the windows per second in ``*_client_*.log``. Power is a line
through all 7,895 control intervals of ``*_controller_*.log`` with a reading: watts over the workers of both stages. It
explains 97 % of their variance, with an error of 2.4 W.
"""

from __future__ import annotations

from dataclasses import dataclass

from mead.preference.simulator.system import Setting

WINDOW_S, SLIDE_S = 1.0, 0.2


@dataclass(frozen=True)
class LoggedRun:
    """One run of the authors."""

    pane_workers: float
    window_workers: float
    splitting: float
    windows: int
    windows_per_s: float
    variation: float
    """CV of the windows completed per second."""

    @property
    def overrun(self) -> float:
        """By what part the run took longer than its windows, in percent.

        >>> round(GAME1["skyline"][0.7].overrun, 2)
        1.04
        """
        return 100 * (self.windows / self.windows_per_s / ((self.windows - 1) * SLIDE_S + WINDOW_S) - 1)


GAME1 = {
    "skyline": {
        0.6: LoggedRun(2.0303, 19.2857, 1.95765, 2074, 4.92262, 0.829),
        0.7: LoggedRun(2.14545, 18.4551, 1.74447, 2074, 4.93924, 0.862),
        0.8: LoggedRun(3.81928, 16.8036, 1.54668, 2074, 4.93328, 0.809),
        0.9: LoggedRun(14.3434, 15.6488, 1.40905, 2074, 4.93187, 0.765),
    },
    "top-delta": {
        0.6: LoggedRun(2.2303, 28.4379, 2.08325, 2074, 4.90345, 1.087),
        0.7: LoggedRun(2.30909, 27.7101, 1.97738, 2074, 4.9025, 0.968),
        0.8: LoggedRun(9.31325, 25.1657, 1.54957, 2074, 4.89122, 0.954),
        0.9: LoggedRun(15.3212, 23.9112, 1.47594, 2074, 4.90835, 0.930),
    },
}
"""By query and set-point of the PID."""

LOGGED = {
    "skyline": {
        "rw": LoggedRun(1.76923, 12.5562, 1.48062, 2112, 4.98005, 1.600),
        "map1k": LoggedRun(4.28244, 40.9925, 3.36893, 1644, 4.93019, 1.820),
        "map2k": LoggedRun(4.15672, 38.7868, 3.62811, 1682, 4.91171, 1.852),
        "map3k": LoggedRun(4.30435, 37.1702, 3.54477, 1727, 4.88132, 1.900),
        "map4k": LoggedRun(6.00758, 36.8261, 3.15812, 1653, 4.76792, 1.854),
        "ss6": LoggedRun(3.05128, 31.4841, 2.99898, 1951, 4.94888, 0.919),
        "ss7": LoggedRun(3.46667, 34.7039, 3.23779, 1880, 4.94456, 1.169),
        "ss8": LoggedRun(3.49673, 30.9102, 3.05151, 1918, 4.59034, 2.302),
        "game1": GAME1["skyline"][Setting.set_point],
    },
    "top-delta": {
        "rw": LoggedRun(1.81065, 17.0059, 1.57987, 2112, 4.97764, 1.425),
        "map1k": LoggedRun(4.42748, 44.5, 2.68204, 1644, 4.04251, 4.655),
        "map2k": LoggedRun(4.66418, 49.2887, 2.93238, 1682, 4.72228, 3.246),
        "map3k": LoggedRun(4.65217, 48.3333, 3.01444, 1727, 4.696, 3.390),
        "map4k": LoggedRun(4.95455, 48.0621, 3.03078, 1653, 4.53204, 6.626),
        "ss6": LoggedRun(3.70513, 48.6013, 2.91202, 1951, 4.93385, 1.977),
        "ss7": LoggedRun(3.82667, 49.2157, 2.97452, 1880, 4.90675, 2.047),
        "ss8": LoggedRun(4.01307, 44.9048, 2.97919, 1918, 4.56304, 2.974),
        "game1": GAME1["top-delta"][Setting.set_point],
    },
}
"""By query and stream, all with the set-point 0.7."""

GAME1_STATIC = LoggedRun(6.0, 38.0, 1.53754, 2074, 4.95474, 0.663)
"""The skyline query with fixed workers."""

IDLE_W, WORKER_W = 92.4, 0.764
"""The line through the logged watts: no worker, and each further one."""


def power_percent(workers: float) -> float:
    """Power in percent of that with all workers, by the logged watts.

    >>> round(power_percent(45.6)), round(power_percent(Setting.most))
    (93, 100)
    """
    return 100 * (IDLE_W + WORKER_W * workers) / (IDLE_W + WORKER_W * Setting.most)
