"""A real browser for tests and pictures: installed where that is possible, or a reason to go without."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
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


def painted(driver: Chrome, selector: str) -> list[bool]:
    """Of every canvas, whether something is painted on it besides the grid."""
    script = f"""return [...document.querySelectorAll('{selector}')].map((canvas) => {{
        const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        const seen = new Set();
        for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3] > 200) seen.add(pixels[i] + ',' + pixels[i + 1] + ',' + pixels[i + 2]);
        return seen.size > 8;
    }})"""  # noqa: E501
    return list(driver.execute_script(script))
