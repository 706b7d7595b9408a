"""Draw the rooms of the house and one control round, for docs/architecture.md."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 980, 620
INK, MUTED, LINE = "#1f2933", "#52606d", "#7b8794"
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
TOP, ENGINES, LOOP, DECISIONS, RECORDS, BASE = "#e8eefc", "#e3f4ec", "#fff6dc", "#fbe9e7", "#efe8f7", "#f0f2f4"


@dataclass(frozen=True)
class Box:
    """A room, with its name and one or two lines about it."""

    x: int
    y: int
    width: int
    height: int
    fill: str
    name: str
    lines: tuple[str, ...] = ()

    def svg(self) -> str:
        """The box and its text."""
        parts = [
            rectangle(self.x, self.y, self.width, self.height, self.fill),
            text(self.x + 14, self.y + 24, self.name, bold=True),
        ]
        parts += [text(self.x + 14, self.y + 45 + 18 * i, line, muted=True) for i, line in enumerate(self.lines)]
        return "\n".join(parts)


def rectangle(x: int, y: int, width: int, height: int, fill: str) -> str:
    """A box with round corners."""
    size = f'width="{width}" height="{height}"'
    return f'<rect x="{x}" y="{y}" {size} rx="8" fill="{fill}" stroke="{LINE}"/>'


def text(x: int, y: int, words: str, *, bold: bool = False, muted: bool = False) -> str:
    """One line of text."""
    size, weight, colour = (15, 600, INK) if bold else (13, 400, MUTED if muted else INK)
    return f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" fill="{colour}">{escape(words)}</text>'


def arrow(*points: tuple[int, int]) -> str:
    """A line through the points, with its head at the last one."""
    path = " L ".join(f"{x} {y}" for x, y in points)
    return f'<path d="M {path}" fill="none" stroke="{INK}" stroke-width="1.5" marker-end="url(#head)"/>'


BOXES = (
    Box(20, 20, 460, 64, TOP, "cli", ("mead run, simulate, evaluate, report, explain, …",)),
    Box(500, 20, 460, 64, TOP, "web", ("live page, JSON, events, metrics for Prometheus",)),
    Box(20, 116, 236, 246, "#ffffff", "engines"),
    Box(
        34,
        152,
        208,
        112,
        ENGINES,
        "spark",
        ("live: pipeline/ attach/", "cluster/ log/ sources/", "runtime/ telemetry/"),
    ),
    Box(34, 282, 208, 64, ENGINES, "simulator", ("virtual time",)),
    Box(20, 382, 236, 64, ENGINES, "cpu", ("CPU limits by control groups",)),
    Box(338, 116, 320, 330, "#ffffff", "session", ("starts, watches and ends a run",)),
    Box(352, 178, 292, 252, LOOP, "loop.py"),
    Box(
        714,
        116,
        246,
        204,
        DECISIONS,
        "policies",
        (
            "baselines/ predictive/",
            "adaptive/ drs/ pasps/",
            "one module per policy",
            "",
            "analyze: model the arrivals,",
            "or say why not",
            "plan: search, then explain",
        ),
    ),
    Box(
        714,
        342,
        246,
        104,
        DECISIONS,
        "queueing",
        ("map, ph, fitting/, network/", "queues/: MAP/PH/1 is solved", "in queues/map_ph_1.py"),
    ),
    Box(20, 470, 222, 64, RECORDS, "monitor", ("demands and overheads",)),
    Box(259, 470, 222, 64, RECORDS, "config", ("pipeline files and options",)),
    Box(498, 470, 222, 64, RECORDS, "history", ("SQLite: every round",)),
    Box(738, 470, 222, 64, RECORDS, "reports", ("one judge, tables, HTML",)),
)
STEPS = (
    ("1 observe", "readings of the engine"),
    ("2 analyze", "model of the arrivals"),
    ("3 plan", "allocation and reason"),
    ("4 execute", "shares and replicas"),
    ("5 record", "the whole round"),
)
STEP_Y = (236, 276, 316, 356, 396)
BASE_ROOMS = (
    (34, "values", "what the steps hand over"),
    (290, "keys", "typed options"),
    (450, "workload", "traces, generators"),
    (690, "clock", "real or virtual time"),
)


def house() -> str:
    """The picture as SVG."""
    steps = [
        text(366, y, name, bold=True) + "\n" + text(464, y, about)
        for y, (name, about) in zip(STEP_Y, STEPS, strict=True)
    ]
    arrows = [
        arrow((256, 231), (348, 231)),  # engine: observe
        arrow((352, 351), (260, 351)),  # execute: engine
        arrow((138, 362), (138, 378)),  # engine: cpu
        arrow((644, 271), (710, 271)),  # analyze: policies
        arrow((644, 311), (710, 311)),  # plan: policies
        arrow((837, 320), (837, 338)),  # policies: queueing
        arrow((609, 430), (609, 466)),  # record: history
        arrow((720, 502), (734, 502)),  # history: reports
        arrow((490, 84), (490, 112)),  # cli and web: session
        text(264, 223, "readings", muted=True),
        text(266, 343, "allocation", muted=True),
    ]
    base = [rectangle(20, 558, 940, 46, BASE)]
    for x, name, about in BASE_ROOMS:
        base += [text(x, 586, name, bold=True), text(x + 10 * len(name) + 4, 586, about, muted=True)]
    parts = [box.svg() for box in BOXES] + steps + arrows + base
    size = 'markerWidth="9" markerHeight="9" refX="7" refY="4"'
    head = f'<path d="M 0 0 L 8 4 L 0 8 z" fill="{INK}"/>'
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="{FONT}">
<title>The rooms of MEAD and one control round</title>
<defs><marker id="head" {size} orient="auto">{head}</marker></defs>
<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>
{chr(10).join(parts)}
</svg>
"""
