"""A feature whose optional package is missing names the command that installs it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.cli.program import complaint
from tests.paths import EXAMPLES, ROOT

from mead.extras import EXTRAS, MissingExtraError, require
from mead.queueing import forecaster
from mead.spark.sources.rabbitmq.connection import Connection


def test_extras_are_those_of_the_package() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    provided = packages_distributions()
    for extra, modules in EXTRAS.items():
        named = {canonicalize_name(Requirement(line).name) for line in declared[extra]}
        assert {canonicalize_name(name) for module in modules for name in provided[module]} == named
    assert Requirement(declared["all"][0]).extras == EXTRAS.keys()


def test_every_missing_module_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "starlette", None)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    said = r'the live page needs starlette and uvicorn: pip install "mead-spark\[web\]"'
    with pytest.raises(MissingExtraError, match=said):
        require("web", "the live page")


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "arrivals.npy", "--plot", "fit.png"),
        ("characterize", "arrivals.npy", "--plot", "arrivals.png"),
        ("simulate", EXAMPLES / "log-analysis.yaml", "--trace", "arrivals.npy", "--plot", "run.png"),
    ],
    ids=lambda words: str(words[0]),
)
def test_a_plot_without_matplotlib_is_refused_before_the_work(
    words: tuple[str | Path, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert complaint(*words) == 'mead: --plot needs matplotlib: pip install "mead-spark[plot]"'


def test_a_forecaster_without_scikit_learn_is_refused_when_it_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    forecaster("lr", window=12, steps=6)
    with pytest.raises(
        MissingExtraError, match=r'the forecaster rf needs sklearn: pip install "mead-spark\[forecast\]"'
    ):
        forecaster("rf", window=12, steps=6)


def test_a_broker_without_pika_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pika", None)
    with pytest.raises(MissingExtraError, match=r'RabbitMQ needs pika: pip install "mead-spark\[rabbitmq\]"'):
        Connection("amqp://127.0.0.1/")


def test_a_page_without_a_server_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert complaint("serve", tmp_path) == 'mead: the live page needs uvicorn: pip install "mead-spark[web]"'


WITHOUT_EXTRAS = """
import sys
from importlib import import_module
from pkgutil import walk_packages

for name in {modules!r}:
    sys.modules[name] = None
import mead
for module in walk_packages(mead.__path__, "mead."):
    if "python_start" not in module.name:
        try:
            import_module(module.name)
        except ModuleNotFoundError:
            print(module.name)
"""


def test_only_the_page_and_the_plots_import_optional_packages() -> None:
    modules = [module for extra in EXTRAS.values() for module in extra]
    script = WITHOUT_EXTRAS.format(modules=modules)
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    needy = run.stdout.split()
    assert needy
    assert [name for name in needy if not name.startswith("mead.web.") and not name.endswith(("_plot", ".plots"))] == []
    assert "mead.web.watcher" not in needy, "mead top"
