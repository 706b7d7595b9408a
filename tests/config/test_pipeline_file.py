"""Pipeline files: what they may say, and how a mistake is named by file, line and key."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.paths import EXAMPLES

from mead.config.pipeline_file import PipelineFile, parse_pipeline, read_pipeline
from mead.config.yaml_lines import MOST_BYTES
from mead.keys import ConfigError
from mead.policies.baselines.threshold import ThresholdOptions
from mead.policies.predictive.map import MapOptions
from mead.policies.predictive.replay import ReplayOptions
from mead.queueing import Edge
from mead.values import DEFAULT_SHARES, Batches, Operator, Pipeline, Requirement

FILES = sorted(EXAMPLES.glob("*.yaml"))

SMALLEST = """\
name: log-analysis
shares: [0.4, 0.55, 0.7, 0.85, 1.0]
operators:
  - {name: parser,  demand_s: 0.0001, phases: 2}
  - {name: counter, demand_s: 0.0001, phases: 2}
  - {name: matcher, demand_s: 0.0015, phases: 2}      # optional: replicas: {min: 1, max: 8}, function: module:name
edges: [[parser, counter], [parser, matcher]]          # optional third element: selectivity
requirements:
  - {path: parser>matcher, mean_s: 0.3}                # or p95_s, p99_s ...
policy: {name: map, interval_s: 60, windows: [50000, 25000], best: 5}
"""

IN_PYTHON = Pipeline(
    "log-analysis",
    [Operator("parser", 0.0001), Operator("counter", 0.0001), Operator("matcher", 0.0015)],
    [Edge("parser", "counter"), Edge("parser", "matcher")],
    [Requirement("parser>matcher", 0.3)],
)


def read(text: str) -> PipelineFile:
    return parse_pipeline(text.encode())


def complaint(folder: Path, text: str | bytes) -> str:
    """What is said about a file of this text, after its name."""
    path = folder / "pipe.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as caught:
        read_pipeline(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}:")
    return message.removeprefix(f"{path}:")


# -- what a file may say ----------------------------------------------------------------------------------------------


def test_the_smallest_form_is_the_pipeline_that_it_would_be_in_python() -> None:
    file = read(SMALLEST)
    assert file.pipeline == IN_PYTHON
    assert file.policy == MapOptions(interval_s=60.0, windows=(50_000, 25_000), best=5)
    assert file.knowledge.pipeline == IN_PYTHON
    assert file.knowledge.actuation_delay_s == 0


def test_block_and_flow_style_say_the_same() -> None:
    flow = (
        "{name: log-analysis, operators: [{name: parser, demand_s: 1e-4}, {name: counter, demand_s: 1E-4},"
        " {name: matcher, demand_s: 1.5e-3}], edges: [[parser, counter], [parser, matcher, 1]],"
        " requirements: [{path: parser>matcher, mean_s: 3e-1}]}"
    )
    assert read(flow).pipeline == IN_PYTHON


def test_only_a_name_and_an_operator_are_needed() -> None:
    file = read("name: one\noperators:\n- name: matcher\n  demand_s: 1")
    assert file.pipeline == Pipeline("one", [Operator("matcher", 1.0, 0.5, DEFAULT_SHARES)])
    assert file.policy == MapOptions()


def test_every_key_reaches_the_pipeline() -> None:
    file = read(
        """
        name: all
        shares: [0.5, 1]
        actuation_delay_s: 2.5
        operators:
          - name: first
            demand_s: 0.002
            scv: 3
            replicas: {min: 2, max: 8}
            batch: {overhead_s: 0.15, trigger_s: 1, max_tuples: 500}
            function: my.operators:first
          - name: second
            demand_s: 0.001
            phases: 4
            shares: [1, 2]
        edges:
          - [first, second, 0.25]
        requirements:
          - {path: first>second, mean_s: 1, p95_s: 2, p99.9_s: 4}
        policy: {name: threshold, high: 0.9}
        """
    )
    assert file.pipeline == Pipeline(
        "all",
        [
            Operator("first", 0.002, 3.0, (0.5, 1.0), 2, 8, Batches(0.15, 1.0, 500)),
            Operator("second", 0.001, 0.25, (1.0, 2.0)),
        ],
        [Edge("first", "second", 0.25)],
        [
            Requirement("first>second", 1.0),
            Requirement("first>second", 2.0, 95.0),
            Requirement("first>second", 4.0, 99.9),
        ],
    )
    assert file.keys.operators[0].function == "my.operators:first"
    assert file.knowledge.actuation_delay_s == 2.5
    assert file.policy == ThresholdOptions(high=0.9)


def test_replicas_may_take_longer_than_shares() -> None:
    one = "name: one\noperators: [{name: matcher, demand_s: 1, replicas: {max: 4}}]\nactuation_delay_s: 0.5\n"
    known, late = read(one).knowledge, read(one + "replicas_delay_s: 8").knowledge
    assert (known.shares_after_s, known.actuation_delay_s) == (0.5, 0.5)
    assert (late.shares_after_s, late.actuation_delay_s) == (0.5, 8.0)


def test_words_that_older_yaml_takes_for_truth_values_and_times_are_names() -> None:
    file = read("name: on\noperators: [{name: no, demand_s: 1}, {name: 2026-01-01, demand_s: 1}]")
    assert [operator.name for operator in file.pipeline.operators] == ["no", "2026-01-01"]


def test_levels_can_be_shared_by_an_anchor() -> None:
    file = read(
        "name: two\noperators:\n- {name: a, demand_s: 1, shares: &levels [1, 2]}\n"
        "- {name: b, demand_s: 1, shares: *levels}"
    )
    assert [operator.shares for operator in file.pipeline.operators] == [(1.0, 2.0)] * 2


def test_files_of_windows_editors_are_read(tmp_path: Path) -> None:
    path = tmp_path / "pipe.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + SMALLEST.replace("\n", "\r\n").encode())
    assert read_pipeline(path).pipeline == IN_PYTHON


# -- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("0.0015", "-1", "6: operators[2].demand_s: must be > 0; got -1"),
        ("0.0015", "1 ms", "6: operators[2].demand_s: must be a valid number; got '1 ms'"),
        ("0.0015", "true", "6: operators[2].demand_s: must be a valid number; got True"),
        ("0.0015", ".nan", "6: operators[2].demand_s: must be a finite number; got nan"),
        ("0.0015", "1e-20", "6: operators[2].demand_s: must lie between 1e-12 and 1e+12, check the unit; got 1e-20"),
        ("0.0015", "", "6: operators[2].demand_s: must be a valid number; got None"),
        ("0.0015", "9" * 5000, "6: operators[2].demand_s: cannot be read as a value of type int: '9999"),
        ("demand_s: 0.0015", "demnd_s: 1", "6: operators[2].demnd_s: there is no such key; did you mean demand_s?"),
        ("demand_s: 0.0015, ", "", "6: operators[2].demand_s: is missing"),
        ("phases: 2} ", "phases: 2, scv: 1} ", "6: operators[2].phases: give scv or phases, not both"),
        ("phases: 2} ", "phases: 0.5} ", "6: operators[2].phases: must be a valid integer; got 0.5"),
        ("phases: 2} ", "replicas: {max: 0}} ", "6: operators[2].replicas.max: must be >= 1; got 0"),
        ("phases: 2} ", "replicas: {min: 3, max: 2}} ", "6: operators[2].replicas.min: must not exceed max, which is"),
        ("phases: 2} ", "replicas: 4} ", "6: operators[2].replicas: must be a mapping such as {key: value}; got 4"),
        ("phases: 2} ", "batch: {}} ", "6: operators[2].batch.overhead_s: is missing"),
        ("phases: 2} ", "function: my.module} ", "6: operators[2].function: must be module:name, such as"),
        ("phases: 2} ", "shares: [1, 0.5]} ", "6: operators[2].shares: levels must rise from one to the next"),
        (
            "phases: 2} ",
            "prices: [1, 2]} ",
            "6: operators[2]: operator matcher: give one price, or one for each",
        ),
        (
            "phases: 2} ",
            "prices: [5, 4, 3, 2, 1]} ",
            "6: operators[2]: operator matcher: prices must be above 0",
        ),
        ("phases: 2} ", "price: 1, prices: [1]} ", "6: operators[2].prices: give price or prices, not both"),
        ("phases: 2} ", "price: 0} ", "6: operators[2].price: must be > 0; got 0"),
        ("phases: 2} ", "shares: []} ", "6: operators[2].shares: must have at least 1 entry; got 0"),
        ("name: matcher", "name: parser", "6: operators[2]: two operators have the name 'parser'"),
        ("name: matcher", "name: a>b", "6: operators[2]: an operator needs a name without '>'"),
        ("name: matcher", "name: 7", "6: operators[2].name: must be a valid string; got 7"),
        ("name: log-analysis", "nam: x", "1: nam: there is no such key; did you mean name?"),
        ("name: log-analysis\n", "", "1: name: is missing"),
        ("[0.4, 0.55, 0.7, 0.85, 1.0]", "0.4", "2: shares: must be a list; got 0.4"),
        ("shares:", "name: again\nshares:", "2: name: duplicate key, first on line 1"),
        ("phases: 2} ", "phases: 2, phases: 2} ", "6: operators[2].phases: duplicate key, first on this line"),
        ("[parser, matcher]", "[parser, mtcher]", "7: edges[1]: the edge 'parser' to 'mtcher' names an unknown"),
        ("[parser, matcher]", "[parser, counter]", "7: edges[1]: the edge 'parser' to 'counter' is listed twice"),
        ("[parser, matcher]", "[parser, matcher, 0]", "7: edges[1][2]: must be > 0; got 0"),
        ("[parser, matcher]", "[parser]", "7: edges[1][1]: is missing"),
        ("[parser, matcher]", "[parser, matcher, 1, 1]", "7: edges[1]: must have at most 3 entries; got 4"),
        (
            "[parser, matcher]]",
            "[parser, matcher],\n  [matcher, parser]]",
            "8: edges[2]: the loops of log-analysis return 1 tuples for each that enters; it must be below 1",
        ),
        ("parser>matcher,", "matcher,", "9: requirements[0]: there is no path matcher; the paths of log-analysis are"),
        (
            "parser>matcher,",
            "[parser, matcher],",
            "9: requirements[0].path: must be text, with > between the operators: write 'parser>matcher', not a list",
        ),
        ("mean_s", "mean", "9: requirements[0].mean: there is no such key; did you mean mean_s?"),
        ("mean_s", "p95", "9: requirements[0].p95: there is no such key; did you mean p95_s"),
        ("mean_s", "p100_s", "9: requirements[0].p100_s: a percentile must lie between 1 and 99.99999999"),
        ("mean_s: 0.3", "p95_s: 0", "9: requirements[0].p95_s: must be > 0; got 0"),
        (", mean_s: 0.3", "", "9: requirements[0]: give mean_s, or a percentile such as p95_s"),
        (", mean_s: 0.3", ", mean_s: null", "9: requirements[0]: give mean_s, or a percentile such as p95_s"),
        (
            "mean_s: 0.3}",
            "mean_s: 0.3}\n  - {path: parser>counter, mean_s: 1}\n  - {path: parser>matcher, p95_s: 1, mean_s: 0.5}",
            "11: requirements[2].mean_s: there is a bound on the mean of parser>matcher already, requirements[0].mean",
        ),
        (
            "mean_s: 0.3",
            "p95_s: 0.3, p95.0_s: 0.3",
            "9: requirements[0]['p95.0_s']: there is a bound on the p95 of parser>matcher already, requirements[0].p",
        ),
        ("name: map", "name: mapp", "10: policy.name: there is no policy 'mapp'; did you mean map?"),
        ("name: map", "name: best", "10: policy.name: there is no policy 'best'; there are adaptive, dabs, drs"),
        ("name: map, ", "", "10: policy.name: is missing"),
        ("best: 5", "bst: 5", "10: policy.bst: there is no such key; did you mean best?"),
        ("best: 5", "map: 5", "10: policy.map: there is no such key"),
        (
            "{name: map, interval_s: 60, windows: [50000, 25000], best: 5}",
            "\n  name: threshold\n  high: 0.6\n  low: 0.8",
            "13: policy.low: must be below high, which is 0.6; got 0.8",
        ),
        ("25000]", "5]", "10: policy.windows[1]: must be >= 100; got 5"),
        ("best: 5}", "best: 5}\nactuation_delay_s: -1", "11: actuation_delay_s: must be >= 0; got -1"),
        (
            "best: 5}",
            "best: 5}\nactuation_delay_s: 3\nreplicas_delay_s: 2",
            "12: replicas_delay_s: must not be below actuation_delay_s, 3",
        ),
        ("best: 5}", "best: 5}\nstreams: {}", "11: streams.rabbitmq: is missing"),
        ("best: 5}", "best: 5}\nstreams: {kafka: {}}", "11: streams.kafka: there is no such key"),
        (
            "best: 5}",
            "best: 5}\nstreams:\n  rabbitmq:\n    max_age: 7 days",
            "13: streams.rabbitmq.max_age: must be a number and one of Y, M, D, h, m and s, such as 12h or 7D; got '7",
        ),
        (
            "best: 5}",
            "best: 5}\nstreams:\n  rabbitmq:\n    stream: x",
            "13: streams.rabbitmq.stream: there is no such key",
        ),
        (
            "best: 5}",
            "best: 5}\nsource: {rabbitmq: {url: 'amqp://me:word@host:5672/', stream: s, colour: blue}}",
            "11: source.rabbitmq.colour: there is no such key",
        ),
        (
            "best: 5}",
            "best: 5}\nsource: {rabbitmq: {url: amqp://me:word@host:5672/, stream: s, colour: blue}}",
            "11: source.rabbitmq: cannot be read: put quotes around the url, and check the keys",
        ),
        (
            "best: 5}",
            "best: 5}\nsource: {rabbitmq: {url: 'amqp://me:word', colour: blue}}",
            "11: source.rabbitmq: cannot be read: put quotes around the url, and check the keys",
        ),
        (
            "best: 5}",
            "best: 5}\nsource: {rabbitmq: {url: 'amqp://word@host:5672/', stream: s}}",
            "11: source.rabbitmq.url: is not a url of RabbitMQ: it has a user, but no password: write user:password",
        ),
        ("best: 5}", "best: 5", "11: not YAML: expected ',' or '}'"),
        ("  - {name: counter", "\t- {name: counter", "5: not YAML: tabs cannot indent; use spaces"),
        ("0.0015", "!!python/name:os.system x", "6: operators[2].demand_s: unknown tag !python/name:os.system"),
        ("0.0015", '"\\ud800"', "6: operators[2].demand_s: half of a surrogate pair is no character"),
        ("parser>matcher, mean_s", '"a\\nb", mean_s', "9: requirements[0]: there is no path a b; the paths of"),
    ],
)
def test_a_mistake_is_named_by_line_and_key(old: str, new: str, expected: str, tmp_path: Path) -> None:
    assert SMALLEST.count(old) == 1
    assert complaint(tmp_path, SMALLEST.replace(old, new)).startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1: the file is empty"),
        ("# nothing\n", "1: the file is empty"),
        ("- name: x", "1: a pipeline file is a mapping"),
        ("just words", "1: a pipeline file is a mapping"),
        ("{}", "1: name: is missing"),
        (b"name: \xff", "1: not UTF-8: byte 0xff; save the file in UTF-8"),
        (SMALLEST.encode("utf-16"), "1: not UTF-8"),
        ("name: a\n---\nname: b", "2: not YAML: but found another document"),
        ("name: a\x00b", "1: not YAML: the character #x0 is not allowed"),
        ('name: "\\UFFFFFFFF"', "1: not YAML"),
        ("name: x\n? [a, b]\n: c", "2: a key must be a word"),
        ("a: " + "[" * 30 + "]" * 30, "1: values are nested more than 20 levels deep"),
        ("a: " + "[" * 20_000, "1: "),
        ("a: &a [*a]", "1: values are nested more than 20 levels deep"),
        ("x: y\n" * MOST_BYTES, " is longer than 262,144 bytes, the most that are read"),
        (
            "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
            + "".join(
                f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n"
                for before, name in zip("abcdefgh", "bcdefghi", strict=True)
            ),
            "1: the file stands for more than 50,000 values",
        ),
    ],
    ids=lambda value: repr(value[:20]),
)
def test_a_file_that_is_none_is_refused_in_one_line(text: str | bytes, expected: str, tmp_path: Path) -> None:
    assert complaint(tmp_path, text).startswith(expected)


def test_an_error_found_after_reading_has_its_line_too(tmp_path: Path) -> None:
    path = tmp_path / "pipe.yaml"
    path.write_text(SMALLEST)
    file = read_pipeline(path)
    for location, line in (("operators", 2, "function"), ":6"), (("policy", "windows", 1), ":10"), (("source",), ""):
        with pytest.raises(ConfigError) as raised, file.naming_lines():
            raise ConfigError("is wrong", location)
        assert str(raised.value).startswith(f"{path}{line}: {location[0]}")
        assert str(raised.value).endswith(": is wrong")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing\.yaml: cannot be read \(No such file or directory\)$"):
        read_pipeline(tmp_path / "missing.yaml")


def test_forks_that_are_joined_again_and_again_are_refused_before_their_paths_are_counted_out(tmp_path: Path) -> None:
    joints = 30
    names = [f"{kind}{i}" for i in range(joints) for kind in ("in", "left", "right")] + [f"in{joints}"]
    edges = [
        edge
        for i in range(joints)
        for side in ("left", "right")
        for edge in (f"[in{i}, {side}{i}]", f"[{side}{i}, in{i + 1}]")
    ]
    operators = ", ".join(f"{{name: {name}, demand_s: 1}}" for name in names)
    said = complaint(tmp_path, f"name: x\noperators: [{operators}]\nedges: [{', '.join(edges)}]")
    assert said.startswith("3: edges[")
    assert "paths from source to sink; at most 1,000 are allowed" in said


# -- examples ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_example_is_a_pipeline_with_a_requirement(path: Path) -> None:
    assert read_pipeline(path).pipeline.requirements


def test_the_log_analysis_is_the_smallest_form() -> None:
    path = next(path for path in FILES if path.stem == "log-analysis")
    assert read_pipeline(path).keys == read(SMALLEST).keys


def test_the_examples_use_more_than_the_default_policy() -> None:
    kinds = {type(read_pipeline(path).policy) for path in FILES}
    assert {MapOptions, ReplayOptions, ThresholdOptions} <= kinds


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_mutation_of_an_example_does_worse_than_a_complaint(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(FILES)).read_bytes()
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 12)))
        new = data.draw(
            st.binary(max_size=4)
            | st.sampled_from(
                [b"*a", b"&a ", b"[", b"]", b"{", b"}", b"- ", b": ", b"\n", b"  ", b"null", b"-1", b"1e999"]
            )
            | st.sampled_from(
                [b"!!set", b"|", b">", b"'", b'"', b"%YAML 1.1", b"---", b"<<", b"0x1F", b"1_000", b"12:30"]
            )
            | st.integers(0, max(0, len(text) - 1)).map(lambda i, text=text: text[i : i + 40])  # type: ignore[misc]
        )
        text = text[:start] + new + text[end:]
    with suppress(ConfigError):
        assert parse_pipeline(text).pipeline.paths
