"""Pipeline files that nobody would write, by the thousand: each is a pipeline, or one line that says why not.

`tests/config` mutates the bytes of good files. Here values are put together that are good YAML: of the right keys with
the wrong values, of the wrong keys, of graphs of every kind. What is accepted has to work.
"""

from __future__ import annotations

import json
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from tests.cli import program
from tests.fuzz.effort import tried

from mead.config import choose_policy
from mead.config.operator_keys import BatchKeys, OperatorKeys
from mead.config.pipeline_file import (
    MOST_LEVELS,
    PipelineFile,
    PipelineKeys,
    RequirementKeys,
    parse_pipeline,
    read_pipeline,
)
from mead.config.yaml_lines import MOST_BYTES
from mead.keys import LONGEST_NAME, ConfigError
from mead.policies import policies as registered
from mead.values import Pipeline

OPTIONS = registered()
KINDS: tuple[type[BaseModel], ...] = (PipelineKeys, OperatorKeys, BatchKeys, RequirementKeys, *OPTIONS.values())
KEYS = sorted({key for kind in KINDS for key in kind.model_fields} | {"p95_s", "p99.9_s", "trace", "generate", "kind"})
NAMES = ["a", "b", "c", "parser", "a>b", "a>c", "", "../..", "a/b", ".", "\x1b[2J", "naïve", "x" * 200, "null", "1"]

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=True, allow_infinity=True)
    | st.sampled_from([0, 1, -1, 1e-300, 1e300, 0.1, 1e-12, 1e12, 10**400])
    | st.sampled_from([*NAMES, *OPTIONS, "static", "no:such", "math:sqrt", "p95", "1e-4"])
    | st.text(max_size=8)
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)

demands = st.sampled_from([1e-4, 0.001, 1.0, 1e-12, 1e12])
operators = st.fixed_dictionaries(
    {"name": st.sampled_from(["a", "b", "c", "d", "e"]), "demand_s": demands},
    optional={
        "scv": st.sampled_from([0, 0.5, 1, 30, 1e6]),
        "phases": st.integers(1, 5),
        "shares": st.lists(st.sampled_from([0.2, 0.5, 1.0, 2.0]), min_size=1, max_size=4),
        "replicas": st.fixed_dictionaries({"max": st.integers(1, 4)}, optional={"min": st.integers(1, 4)}),
        "batch": st.fixed_dictionaries({"overhead_s": st.sampled_from([0.0, 0.05])}),
    },
)
edges = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), min_size=2, max_size=2).flatmap(
        lambda pair: st.just(pair) | st.sampled_from([0.1, 0.5, 1.0, 3.0]).map(lambda selectivity: [*pair, selectivity])
    ),
    max_size=7,
)
requirements = st.lists(
    st.fixed_dictionaries(
        {"path": st.sampled_from(["a", "b", "a>b", "a>b>c", "a>c", "c>b>a"])},
        optional={"mean_s": st.sampled_from([0.1, 1.0]), "p95_s": st.sampled_from([0.1, 2.0])},
    ),
    max_size=3,
)
policies = st.sampled_from(list(OPTIONS)).flatmap(
    lambda name: st.fixed_dictionaries(
        {"name": st.just(name)}, optional={"interval_s": st.sampled_from([1.0, 30.0, -1])}
    )
)
pipelines = st.fixed_dictionaries(
    {"name": st.sampled_from(["p", "log-analysis"]), "operators": st.lists(operators, min_size=1, max_size=5)},
    optional={
        "edges": edges,
        "requirements": requirements,
        "policy": policies,
        "actuation_delay_s": st.sampled_from([0, 5]),
    },
)


def read(document: Any) -> PipelineFile | None:
    """A pipeline, or None after one line that is fit for a terminal."""
    try:
        return parse_pipeline(json.dumps(document).encode())
    except ConfigError as error:
        said = str(error)
    assert "\n" not in said
    assert len(said) < 30_000, "an error names what is wrong, and does not repeat the file"
    return None


def works(pipeline: Pipeline) -> None:
    """What a policy asks of a pipeline that was accepted."""
    for requirement in pipeline.requirements:
        assert requirement.path in pipeline.paths
    pipeline.check(pipeline.most)
    assert set(pipeline.order) == {operator.name for operator in pipeline.operators}
    assert all(visits >= 0 for visits in pipeline.visits.values())
    for operator in pipeline.operators:
        assert len(operator.levels) == len(operator.shares) * (operator.max_replicas - operator.min_replicas + 1)
        assert operator.name.isprintable()
        assert "/" not in operator.name


@given(values)
@tried(600)
def test_anything_that_yaml_can_say_is_answered_in_one_line(document: Any) -> None:
    found = read(document)
    if found is not None:
        works(found.pipeline)


@given(st.dictionaries(st.sampled_from(list(PipelineKeys.model_fields)), values, max_size=6), pipelines)
@tried(400)
def test_good_files_with_parts_that_are_wrong_are_answered_in_one_line(
    wrong: dict[str, Any], good: dict[str, Any]
) -> None:
    found = read(good | wrong)
    if found is not None:
        works(found.pipeline)


@given(pipelines)
@tried(500)
def test_every_graph_is_a_pipeline_that_works_or_is_refused(document: dict[str, Any]) -> None:
    found = read(document)
    if found is not None:
        works(found.pipeline)


@given(
    st.sampled_from([*OPTIONS, "", "no", "a:b", "::"]),
    st.lists(
        st.text(max_size=12) | st.sampled_from(KEYS).flatmap(lambda key: scalars.map(lambda value: f"{key}={value}")),
        max_size=3,
    ),
)
@tried(300)
def test_any_option_of_a_policy_is_answered_in_one_line(name: str, words: list[str]) -> None:
    said = ""
    try:
        options = choose_policy(parse_pipeline(b"name: p\noperators: [{name: a, demand_s: 1}]").policy, name, words)
        assert not name or options.name == name
    except ConfigError as error:
        said = str(error)
    assert "\n" not in said


# -- limits -----------------------------------------------------------------------------------------------------------


def test_a_file_without_an_end_is_not_read_to_it() -> None:
    with pytest.raises(ConfigError, match=f"/dev/zero: is longer than {MOST_BYTES:,} bytes"):
        read_pipeline("/dev/zero")


@pytest.mark.parametrize("command", ["solve", "allocate"])
def test_a_case_without_an_end_is_not_read_to_it(command: str) -> None:
    assert "is longer than 16,777,216 bytes" in program.complaint(command, "/dev/zero")
    said = program.complaint(command, "-", stdin=b"[" * (16 * 1024 * 1024 + 1))
    assert said == f"mead {command}: standard input: is longer than 16,777,216 bytes, the most that are read"


@pytest.mark.parametrize("name", ["../../etc", "a/b", ".hidden", "a\nb", "a\x1b[2Jb", "x" * (LONGEST_NAME + 1), ""])
@pytest.mark.parametrize("of", ["operator", "pipeline"])
def test_names_are_fit_to_be_those_of_folders(of: str, name: str) -> None:
    names = {"operator": "a", "pipeline": "p"} | {of: name}
    document = {"name": names["pipeline"], "operators": [{"name": names["operator"], "demand_s": 1}]}
    with pytest.raises(ConfigError) as caught:
        parse_pipeline(json.dumps(document).encode())
    assert str(caught.value).startswith("operators[0].name: " if of == "operator" else "name: ")
    assert str(caught.value).isprintable()


def test_choices_of_an_operator_are_limited() -> None:
    shares = [round(0.01 * n, 2) for n in range(1, 101)]
    document = {"name": "p", "shares": shares, "operators": [{"name": "a", "demand_s": 1, "replicas": {"max": 9000}}]}
    with pytest.raises(
        ConfigError, match=rf"operators\[0\]\.replicas: .* 900,000 choices; at most {MOST_LEVELS:,} are allowed"
    ):
        parse_pipeline(json.dumps(document).encode())


def test_a_dense_graph_is_refused_before_its_paths_are_counted_out() -> None:
    names = [f"o{i}" for i in range(44)]  # every operator to all behind it: 2^42 paths
    document = {
        "name": "dense",
        "operators": [{"name": name, "demand_s": 1} for name in names],
        "edges": [list(pair) for pair in combinations(names, 2)],
    }
    with pytest.raises(ConfigError, match=r"edges\[\d+\]: [\d,]+ paths from source to sink; at most 1,000 are allowed"):
        parse_pipeline(json.dumps(document).encode())


def test_the_longest_chain_is_a_pipeline(tmp_path: Path) -> None:
    names = [f"o{i}" for i in range(200)]
    (tmp_path / "chain.yaml").write_text(
        json.dumps(
            {
                "name": "chain",
                "operators": [{"name": name, "demand_s": 1} for name in names],
                "edges": [list(pair) for pair in pairwise(names)],
            }
        )
    )
    assert len(read_pipeline(tmp_path / "chain.yaml").pipeline.paths) == 1
