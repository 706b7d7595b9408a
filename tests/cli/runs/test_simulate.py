"""``mead simulate`` as a user meets it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.cli.program import answer, complaint, run
from tests.paths import EXAMPLES

from mead.config import read_pipeline
from mead.policies import policies
from mead.queueing import MAP
from mead.simulator import Simulation
from mead.values import Allocation, Resources
from mead.workload import read_trace

LOG_ANALYSIS = EXAMPLES / "log-analysis.yaml"


@pytest.fixture(scope="module")
def bursty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "bursty.npy"
    np.save(path, np.cumsum(MAP.two_state(200.0, idc=50.0).sample(24_000, np.random.default_rng(1))))
    return path


@pytest.fixture
def one_queue(tmp_path: Path) -> Path:
    path = tmp_path / "one.yaml"
    path.write_text("name: one\noperators: [{name: server, demand_s: 0.004, scv: 1}]\npolicy: {name: static}\n")
    return path


# -- the document -----------------------------------------------------------------------------------------------------


def test_the_document_has_what_the_contract_names(bursty: Path) -> None:
    document = answer("simulate", LOG_ANALYSIS, "--trace", bursty, "--policy", "threshold")
    assert document.keys() >= {"policy", "paths", "cpu_share_mean", "timeline", "tuples", "lost"}
    assert document["policy"] == "threshold"
    assert (document["tuples"], document["lost"]) == (24_000, 0)
    assert list(document["paths"]) == ["parser>counter", "parser>matcher"]
    path = document["paths"]["parser>matcher"]
    assert path.keys() >= {"mean_s", "p50_s", "p95_s", "p99_s", "required", "met"}
    assert path["required"] == {"mean_s": 0.3}
    assert path["met"] is (path["mean_s"] <= 0.3)
    assert 0 < path["p50_s"] < path["p95_s"] < path["p99_s"]
    first, second = document["timeline"][:2]
    assert first["time_s"] == 0
    assert first["allocation"]["matcher"] == {"share": 1.0, "replicas": 1}
    assert second.keys() >= {"time_s", "allocation", "predicted", "reason"}
    assert second["time_s"] == 10
    assert 0.4 <= document["cpu_share_mean"] <= 1


def test_a_static_run_is_the_simulation_without_a_loop(bursty: Path) -> None:
    document = answer("simulate", LOG_ANALYSIS, "-t", bursty, "--policy", "static", "--seed", 3)
    pipeline = read_pipeline(LOG_ANALYSIS).pipeline
    simulation = Simulation(pipeline, read_trace(bursty), 3)
    simulation.drain()
    responses_s = simulation.responses("parser>matcher").response_s
    path = document["paths"]["parser>matcher"]
    assert path["mean_s"] == responses_s.mean()
    assert path["p95_s"] == np.percentile(responses_s, 95)
    assert document["cpu_share_mean"] == 1
    assert document["changes"] == 0


def test_an_exponential_server_under_poisson_arrivals_is_an_mm1_queue(one_queue: Path, tmp_path: Path) -> None:
    trace = tmp_path / "poisson.npy"
    np.save(trace, np.cumsum(np.random.default_rng(5).exponential(1 / 150, 150_000)))
    path = answer("simulate", one_queue, "-t", trace)["paths"]["server"]
    mean_s = 1 / (1 / 0.004 - 150)
    assert path["mean_s"] == pytest.approx(mean_s, rel=0.05)
    assert path["p95_s"] == pytest.approx(mean_s * np.log(20), rel=0.05)
    assert (path["required"], path["met"]) == ({}, True)


def test_cores_and_their_mean_follow_from_the_timeline(bursty: Path) -> None:
    document = answer("simulate", LOG_ANALYSIS, "-t", bursty, "--policy", "threshold")
    times_s = [entry["time_s"] for entry in document["timeline"]] + [document["duration_s"]]
    cores = {
        name: sum(
            (end - start) * entry["allocation"][name]["share"] * entry["allocation"][name]["replicas"]
            for start, end, entry in zip(times_s[:-1], times_s[1:], document["timeline"], strict=True)
        )
        / document["duration_s"]
        for name in ("parser", "counter", "matcher")
    }
    assert document["cores"] == pytest.approx(cores)
    assert document["cpu_share_mean"] == pytest.approx(sum(cores.values()) / 3)


def test_the_same_seed_gives_the_same_answer_and_another_does_not(bursty: Path) -> None:
    first, again, other = (
        answer("simulate", LOG_ANALYSIS, "-t", bursty, "--policy", "threshold", "--seed", s) for s in (1, 1, 2)
    )
    assert first == again
    assert first["paths"]["parser>matcher"]["mean_s"] != other["paths"]["parser>matcher"]["mean_s"]


def test_the_first_part_of_a_trace_can_be_had(bursty: Path) -> None:
    document = answer("simulate", LOG_ANALYSIS, "-t", bursty, "--policy", "static", "--duration", 30)
    assert document["tuples"] == np.count_nonzero(read_trace(bursty).times_s <= 30)
    assert document["duration_s"] <= 30


def test_the_delay_of_the_file_puts_off_every_change(bursty: Path, tmp_path: Path) -> None:
    late = tmp_path / "late.yaml"
    late.write_text(LOG_ANALYSIS.read_text() + "actuation_delay_s: 1000\n")
    words = ("-t", bursty, "--policy", "threshold")
    assert answer("simulate", late, *words)["cpu_share_mean"] == 1
    assert answer("simulate", LOG_ANALYSIS, *words)["cpu_share_mean"] < 1


def test_replicas_that_take_longer_than_shares_do_so_in_virtual_time(bursty: Path, tmp_path: Path) -> None:
    def cpu(matcher: str, more: str = "") -> float:
        file = tmp_path / "late.yaml"
        file.write_text(f"name: one\noperators: [{{name: matcher, demand_s: 0.001, {matcher}}}]\n{more}")
        return float(answer("simulate", file, "-t", bursty, "--policy", "threshold")["cpu_share_mean"])

    by_replicas, by_share, late = "shares: [1], replicas: {max: 3}", "shares: [0.4, 1]", "replicas_delay_s: 1000"
    assert cpu(by_replicas, late) == pytest.approx(3)
    assert cpu(by_replicas) < 2.9
    assert cpu(by_share, late) == cpu(by_share) < 1


# -- policies and their options ---------------------------------------------------------------------------------------


def test_the_help_names_the_policies_that_there_are() -> None:
    assert ", ".join(policies()) in " ".join(run("simulate", "--help").stdout.replace("│", " ").split())


@pytest.mark.parametrize("command", ["simulate", "plan"])
def test_help_lists_the_options_of_the_policies(command: str) -> None:
    shown = run(command, "--help", columns=100).stdout
    for kind in policies().values():
        assert all(f"• {key}: " in shown for key in kind.model_fields if key != "name")


def test_options_change_what_the_file_says_of_its_policy(bursty: Path, tmp_path: Path) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(LOG_ANALYSIS.read_text().split("policy:")[0] + "policy: {name: static, share: 0.55, interval_s: 5}")
    words = (file, "-t", bursty, "--duration", 20)
    shares = [
        answer("simulate", *words, *more)["timeline"][1]["allocation"]["matcher"]["share"]
        for more in ((), ("--option", "share=0.7"))
    ]
    assert shares == [0.55, 0.7]
    assert [e["time_s"] for e in answer("simulate", *words, "--option", "interval_s=10")["timeline"]][:2] == [0, 10]


def test_a_policy_other_than_the_files_starts_from_its_own_defaults(bursty: Path) -> None:
    document = answer("simulate", LOG_ANALYSIS, "-t", bursty, "--policy", "threshold", "--duration", 25)
    assert [entry["time_s"] for entry in document["timeline"]] == [0, 10, 20]  # 60 s in the file, for its policy map


def test_a_window_may_be_longer_than_a_monitor_keeps_by_itself(one_queue: Path, tmp_path: Path) -> None:
    trace = tmp_path / "long.npy"
    np.save(trace, np.cumsum(np.random.default_rng(5).exponential(1 / 150, 70_000)))
    words = ("--policy", "mg1", "--option", "interval_s=450", "--option", "windows=60000")
    reason = answer("simulate", one_queue, "-t", trace, *words)["timeline"][-1]["reason"]
    assert "of the last 60000 IATs" in reason


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_simulates_with_its_own_policy(path: Path, tmp_path: Path) -> None:
    trace = tmp_path / "arrivals.npy"
    np.save(trace, np.cumsum(MAP.two_state(200.0, idc=20.0).sample(14_000, np.random.default_rng(2))))
    document = answer("simulate", path, "-t", trace)
    assert document["lost"] == 0
    assert document["failed_rounds"] == 0, [e["reason"] for e in document["timeline"] if "failed" in e["reason"]]
    assert len(document["timeline"]) > 1
    names = {operator.name for operator in read_pipeline(path).pipeline.operators}
    assert all(entry["allocation"].keys() == names for entry in document["timeline"])


# -- for people -------------------------------------------------------------------------------------------------------


def test_the_tables_show_paths_requirements_and_cost(bursty: Path) -> None:
    result = run("simulate", LOG_ANALYSIS, "--trace", bursty, "--policy", "threshold")
    assert result.exit_code == 0
    for words in ("log-analysis under threshold: 24,000 tuples", "parser>matcher", "mean of parser>matcher <= 0.3"):
        assert words in result.stdout
    assert "0 tuples lost" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_a_broken_requirement_is_said_to_be_broken(bursty: Path, tmp_path: Path) -> None:
    strict = tmp_path / "strict.yaml"
    strict.write_text(LOG_ANALYSIS.read_text().replace("mean_s: 0.3", "mean_s: 1e-6"))
    result = run("simulate", strict, "--trace", bursty, "--policy", "static")
    assert " NO " in result.stdout
    assert result.exit_code == 0


def test_a_path_that_nothing_takes_has_no_response_time(tmp_path: Path) -> None:
    file, trace = tmp_path / "rare.yaml", tmp_path / "few.csv"
    file.write_text(
        "name: rare\noperators: [{name: a, demand_s: 1e-3}, {name: b, demand_s: 1e-3}, {name: c, demand_s: 1e-3}]\n"
        "edges: [[a, b], [a, c, 1e-9]]\nrequirements: [{path: a>c, p95_s: 1}]\npolicy: {name: static}\n"
    )
    trace.write_text("".join(f"{i}\n" for i in range(20)))
    document = answer("simulate", file, "-t", trace)
    assert document["paths"]["a>c"]["mean_s"] is None
    assert run("simulate", file, "-t", trace).exit_code == 0


def test_the_plot_is_a_picture(bursty: Path, tmp_path: Path) -> None:
    plot = tmp_path / "run.png"
    result = run("simulate", LOG_ANALYSIS, "-t", bursty, "--policy", "threshold", "--plot", plot)
    assert f"Plot: {plot}" in result.stdout.replace("\n", "")
    assert plot.read_bytes().startswith(b"\x89PNG")


# -- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--policy", "mop"], "there is no policy 'mop'; did you mean map?"),
        (["--policy", "best"], "there is no policy 'best'; there are adaptive, dabs"),
        (["--option", "best"], "an option is key=value; got 'best'"),
        (["--option", "bst=3"], "option of map: bst: there is no such key; did you mean best?"),
        (["--option", "best=0"], "option of map: best: must be >= 1; got 0"),
        (["--option", "windows=50000,x"], "option of map: windows[1]: must be a valid integer; got 'x'"),
        (["--option", "name=ds2"], "a policy is chosen by its name, not by the option 'name=ds2'"),
        (["--duration", "-1"], "the end of a part, -1 s, must not be before its start, 0 s"),
        (["--duration", "1e-9"], "fewer than two arrivals lie between 0 s and 1e-09 s"),
        (["--plot", "run.txt"], "run.txt: the name must end in one of .png, .pdf, .svg"),
    ],
)
def test_a_mistake_is_one_line(words: list[str], said: str, bursty: Path) -> None:
    result = run("simulate", LOG_ANALYSIS, "--trace", bursty, *words)
    assert result.exit_code == 2
    assert result.stderr.startswith("mead simulate: ")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert not result.stdout


def test_a_mistake_in_a_file_names_file_line_and_key(bursty: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(LOG_ANALYSIS.read_text().replace("0.0015", "-1"))
    result = run("simulate", wrong, "--trace", bursty)
    assert result.stderr == f"mead simulate: {wrong}:7: operators[2].demand_s: must be > 0; got -1\n"
    result = run("simulate", LOG_ANALYSIS, "--trace", tmp_path / "none.csv")
    assert result.stderr == f"mead simulate: {tmp_path / 'none.csv'}: there is no such file\n"
    assert run("simulate", LOG_ANALYSIS).stderr == "mead simulate: Missing option '--trace' / '-t'.\n"


def test_a_start_is_all_that_may_be_had(bursty: Path) -> None:
    pipeline = read_pipeline(LOG_ANALYSIS).pipeline
    start = answer("simulate", LOG_ANALYSIS, "-t", bursty, "--policy", "threshold", "--duration", 5)["timeline"][0][
        "allocation"
    ]
    given = Allocation.of({name: Resources(**entry) for name, entry in start.items()})
    assert given == pipeline.most


# -- runs that would not end ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["simulate", "evaluate"])
def test_a_trace_with_a_gap_of_thirty_years_is_refused(command: str, tmp_path: Path) -> None:
    path = tmp_path / "gap.npy"
    np.save(path, np.array([0.0, 0.5, 1.0, 1e9, 1e9 + 0.5]))
    said = complaint(command, LOG_ANALYSIS, "--trace", path, "--policy", "static")
    assert "it lasts 1e+09 s, which takes 1,000,000,000 rounds of 1 s; at most 3,000,000 are simulated" in said
    assert "--duration" in said
    whole = answer("simulate", LOG_ANALYSIS, "--trace", path, "--policy", "static", "--duration", 2)
    assert whole["duration_s"] == pytest.approx(1.0)


def test_rounds_of_less_than_a_hundredth_of_a_second_are_refused(bursty: Path) -> None:
    for name, options in policies().items():
        if "interval_s" in options.model_fields:
            said = complaint(
                "simulate", LOG_ANALYSIS, "--trace", bursty, "--policy", name, "--option", "interval_s=1e-12"
            )
            assert "interval_s: must be" in said
