"""Optional packages, and the extra of ``mead-spark`` that installs each."""

from __future__ import annotations

from importlib.util import find_spec

EXTRAS = {
    "forecast": ("sklearn",),
    "plot": ("matplotlib",),
    "rabbitmq": ("pika",),
    "vision": ("cv2",),
    "web": ("prometheus_client", "sse_starlette", "starlette", "uvicorn"),
}
"""By extra, the modules that MEAD imports from its packages."""


class MissingExtraError(ImportError):
    """A feature needs a package that is not installed. The message names the command that installs it."""


def require(extra: str, feature: str) -> None:
    """Check that the packages of an extra are installed, before ``feature`` imports them.

    >>> require("plot", "--plot")
    """
    missing = [module for module in EXTRAS[extra] if find_spec(module) is None]
    if missing:
        raise MissingExtraError(f'{feature} needs {" and ".join(missing)}: pip install "mead-spark[{extra}]"')
