"""``mead evaluate``: policies compared on a user's pipeline file and trace."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from experiments.commands import app as experiments_app
from tests.cli.program import answer, complaint, run
from tests.paths import EXAMPLES
from tests.reports.live_results import live_result
from typer.main import get_command

from mead.cli.evaluate import EXPERIMENTS
from mead.config import PipelineFile
from mead.history import IN_FOLDER, History
from mead.policies import policy_names
from mead.queueing import MAP
from mead.reports.pages.report_page import REPORT
from mead.reports.runs import LiveReport
from mead.spark.pipeline import file_run
from mead.spark.pipeline.file_run import RunSettings

LOG_ANALYSIS = EXAMPLES / "log-analysis.yaml"


@pytest.fixture(scope="module")
def arrivals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "arrivals.npy"
    np.save(path, np.cumsum(MAP.two_state(300.0, 20.0).sample(18_000, np.random.default_rng(1))))
    return path


def test_the_cheapest_policy_that_meets_all_requirements_is_named(arrivals: Path) -> None:
    policies = ("--policy", "static", "--policy", "static@share=0.85", "--policy", "static@share=0.4")
    document = answer("evaluate", LOG_ANALYSIS, "--trace", arrivals, *policies)
    met = {one["policy"]: one["met"] for one in document["policies"]}
    assert met == {"static": True, "static@share=0.85": True, "static@share=0.4": False}
    assert document["cheapest"] == "static@share=0.85"
    assert (document["pipeline"], document["arrivals"]) == ("log-analysis", "arrivals.npy")
    assert (document["engine"], document["policies"][0]["cores_mean"]) == ("simulator", pytest.approx(3.0))


def test_figures_are_those_of_mead_simulate(arrivals: Path) -> None:
    compared = answer("evaluate", LOG_ANALYSIS, "--trace", arrivals, "--policy", "threshold", "--seed", 4)
    simulated = answer("simulate", LOG_ANALYSIS, "--trace", arrivals, "--policy", "threshold", "--seed", 4)
    (trial,) = compared["policies"][0]["runs"]
    assert trial["seed"] == 4
    assert (trial["cores"], trial["changes"]) == (simulated["cores"], simulated["changes"])
    (requirement,) = trial["requirements"]
    path = simulated["paths"][requirement["path"]]
    assert (requirement["response_s"], requirement["met"]) == (path["mean_s"], path["met"])
    assert requirement["broken_windows"] == path["broken_windows"]["mean_s"]


def test_all_policies_are_compared_unless_some_are_named(arrivals: Path) -> None:
    document = answer("evaluate", LOG_ANALYSIS, "--trace", arrivals, "--duration", 10)
    names = [one["policy"] for one in document["policies"]]
    assert names[0] == "map", "the policy of the file comes first"
    assert set(names) == set(policy_names())


def test_the_table_has_a_row_for_each_requirement_and_spreads_over_seeds(arrivals: Path, tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    asked = "{path: parser>matcher, mean_s: 0.3, p95_s: 0.00001}"
    file.write_text(LOG_ANALYSIS.read_text().replace("{path: parser>matcher, mean_s: 0.3}", asked))
    plot = tmp_path / "comparison.png"
    words = ("--policy", "static", "--policy", "static@share=0.55", "--seeds", 2, "--plot", plot)
    shown = run("evaluate", file, "--trace", arrivals, *words, columns=100).stdout
    assert "log-analysis, arrivals.npy, simulated, 2 seeds" in shown
    assert shown.count("mean <= 0.3") == shown.count("p95 <= 1e-05") == 2
    assert "2/2" in shown
    assert "0/2" in shown
    assert "No policy met all requirements." in shown
    assert plot.stat().st_size > 10_000


@pytest.mark.parametrize("name", ["mead-table1", "drs-fig6", "arena", "live"])
def test_an_experiment_is_referred_to_its_new_place(name: str) -> None:
    assert complaint("evaluate", name, "--only", "synt") == (
        f"mead evaluate: {name} is an experiment of the papers; run `python -m experiments {name}` in a clone of the "
        "repository"
    )


def test_every_experiment_that_is_referred_is_there() -> None:
    assert set(EXPERIMENTS) <= set(get_command(experiments_app).commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((LOG_ANALYSIS,), "give the arrivals by --trace FILE, or run on Spark with --live"),
        ((LOG_ANALYSIS, "--live", "--plot", "x.png"), "--plot draws simulated runs"),
        (("mead-tabel1", "--trace", "x.csv"), "mead-tabel1"),
        ((LOG_ANALYSIS, "--trace", "none.csv"), "none.csv"),
        ((LOG_ANALYSIS, "--trace", "none.csv", "--policy", "maap"), "there is no policy 'maap'"),
        ((LOG_ANALYSIS, "--live", "--trace", "{arrivals}"), "--trace needs a pipeline file whose source is"),
    ],
)
def test_a_comparison_that_cannot_be_made_is_refused(words: tuple[str, ...], said: str, arrivals: Path) -> None:
    assert said in complaint("evaluate", *(str(word).format(arrivals=arrivals) for word in words))


def test_a_live_run_whose_report_cannot_be_written_ends_with_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def done(file: PipelineFile, _: Path, settings: RunSettings, **__: object) -> LiveReport:
        (settings.folder / REPORT).mkdir(parents=True)  # no file can take its place
        with History.open(settings.folder / IN_FOLDER) as history:
            history.begin("one", file.pipeline, policy="static", started="2026-01-01T12:00:00Z")
        path = file.pipeline.requirements[0].path
        return LiveReport.of(live_result(file.pipeline, 60.0, {path: [(1.0, 0.1)]}, number=1))

    monkeypatch.setattr(file_run, "run_file", done)
    words = ("--live", "--policy", "static", "--folder", tmp_path / "runs", "--json")
    result = run("evaluate", LOG_ANALYSIS, *words)
    assert (result.exit_code, json.loads(result.stdout)["engine"]) == (1, "spark")
    assert f"There is no report: {tmp_path}/runs/static/{REPORT}: cannot be written" in result.stderr


def test_a_pipeline_without_requirements_is_refused(arrivals: Path, tmp_path: Path) -> None:
    file = tmp_path / "none.yaml"
    file.write_text("name: none\noperators: [{name: one, demand_s: 0.001}]\n")
    assert "requirements: give at least one" in complaint("evaluate", file, "--trace", arrivals)
