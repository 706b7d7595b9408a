"""A real browser for tests and pictures: installed where that is possible, or a reason to go without."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from selenium.webdriver import Chrome
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

PACKAGES = ("chromium", "chromium-driver")
FLAGS = (
    "--headless",
    "--no-sandbox",  # as root, in a container
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)


def why_no_browser() -> str | None:
    """None if there is one. It is installed in containers, by Debian's package manager."""
    if _found():
        return None
    reason = f"there is no chromium; on Debian: apt-get install {' '.join(PACKAGES)}"
    if os.geteuid() != 0 or Path("/run/systemd/system").exists() or not shutil.which("apt-get"):
        return reason
    waiting = "DPkg::Lock::Timeout=300"  # other tests may be installing something, too
    command = ["apt-get", "install", "-o", waiting, "--yes", "--no-install-recommends", *PACKAGES, "fonts-dejavu-core"]
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    run = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    return None if run.returncode == 0 and _found() else f"{reason} failed: {run.stderr.strip().splitlines()[-1:]}"


def _found() -> bool:
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


@contextmanager
def browser(width: int = 1280, height: int = 900, *, dark: bool = False) -> Iterator[Chrome]:
    """A window of that size, with a profile of its own. Its console is kept."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = Options()
        options.binary_location = str(shutil.which("chromium"))
        for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            emulated = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": emulated})
            size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            yield driver
        finally:
            driver.quit()


def complaints(driver: Chrome) -> list[str]:
    """What the page wrote to its console, and what it could not load."""
    entries = driver.get_log("browser")  # type: ignore[no-untyped-call]
    said = [entry["message"] for entry in entries if entry["level"] in {"SEVERE", "WARNING"}]
    return [message for message in said if "willReadFrequently" not in message]  # that is of the tests themselves


LEAST_PIXELS = 4
"""Of a line, in its own colour. One that is hidden by others shows as many between their dashes."""

DRAWN = r"""
const rgb = (text) => text.match(/[\d.]+/g).map(Number);
const near = (pixels, i, colour) => [0, 1, 2].every((c) => Math.abs(pixels[i + c] - colour[c]) < 24);
const style = getComputedStyle(document.documentElement), probe = document.createElement('i');
document.body.append(probe);
const named = (name) => {
  probe.style.color = style.getPropertyValue(name);
  return rgb(getComputedStyle(probe).color);
};
const [mark, band, grid] = ['--mark', '--band', '--grid'].map(named);
probe.remove();
const onGrid = [0, 1, 2].map((c) => mark[3] * mark[c] + (1 - mark[3]) * grid[c]);
const within = (alpha, of) => Math.abs(alpha - 255 * of) < 20;
return [...document.querySelectorAll(SELECTOR)].map((chart) => {
  const title = chart.querySelector('figcaption b').textContent, canvas = chart.querySelector('canvas');
  const over = chart.querySelector('.u-over');
  const found = { title, lines: {}, dashes: {}, band: 0, ticks: 0, rings: 0 };
  if (!canvas || !over) return found;
  const scale = canvas.width / canvas.clientWidth, edge = 2;
  const box = [over.offsetLeft, over.offsetTop, over.clientWidth, over.clientHeight].map((v) => Math.round(v * scale));
  const wide = box[2] + 2 * edge, high = box[3] + 2 * edge;
  const pixels = canvas.getContext('2d').getImageData(box[0] - edge, box[1] - edge, wide, high).data;
  const count = (holds) => { let n = 0; for (let i = 0; i < pixels.length; i += 4) n += holds(i); return n; };
  for (const key of chart.querySelectorAll('.keys li')) {
    const sample = key.querySelector('path, circle:not(.ring)');
    if (!sample) continue;
    const look = getComputedStyle(sample), colour = rgb(sample.tagName === 'circle' ? look.fill : look.stroke);
    found.lines[key.textContent] = count((i) => pixels[i + 3] > 90 && near(pixels, i, colour));
    found.dashes[key.textContent] = [sample.getAttribute('stroke'), sample.getAttribute('stroke-dasharray')];
  }
  found.band = count((i) => within(pixels[i + 3], band[3]) && near(pixels, i, band));
  const marked = (i) => (within(pixels[i + 3], mark[3]) && near(pixels, i, mark)) || near(pixels, i, onGrid);
  let before = false;
  for (let x = 0; x < wide; x += 1) {
    const column = [1, 2, 3, 4].map((y) => marked(((y + edge) * wide + x) * 4));
    if (column.every(Boolean) && !before) found.ticks += 1;
    before = column.every(Boolean);
    found.rings += column.some(Boolean) && !before;
  }
  return found;
});
"""


@dataclass(frozen=True)
class Drawing:
    """What a chart shows, by the pixels of its plot."""

    title: str
    lines: dict[str, int]
    """By the name that its legend gives it: pixels in its own colour."""
    dashes: dict[str, tuple[str, str]]
    """By the same name, colour and dash."""
    band: int
    ticks: int
    """Marks of changes."""
    rings: int
    """Columns in which there are marks of changes that were not applied."""

    @property
    def missing(self) -> list[str]:
        """Lines that the legend names and nobody can see."""
        return [name for name, pixels in self.lines.items() if pixels < LEAST_PIXELS]

    @property
    def complete(self) -> bool:
        """Whether there are lines, and all can be seen."""
        return bool(self.lines) and not self.missing


def drawings(driver: Chrome, selector: str = "figure.chart") -> list[Drawing]:
    """All charts that the selector finds."""
    found = driver.execute_script(DRAWN.replace("SELECTOR", repr(selector)))
    return [Drawing(**one | {"dashes": {k: tuple(v) for k, v in one["dashes"].items()}}) for one in found]
