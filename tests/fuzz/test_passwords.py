"""Passwords in urls of brokers that are written wrongly, in every way: no message and no printed value has a part."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.cli import program
from tests.fuzz.effort import tried

from mead.broker_url import check_url, fill_in
from mead.config.pipeline_file import parse_pipeline
from mead.keys import SECRET, ConfigError
from mead.spark.pipeline.build import load_source, load_streams
from mead.spark.sources.rabbitmq.connection import Connection, RabbitError
from mead.spark.sources.rabbitmq.location import StreamLocation

pytest.importorskip("pika")

LETTERS = "ghjkqvwxyzGHJKQVWXYZ"
"""Five of these in a row are in no word of a message."""

SPECIAL = "@/:#?%[]{}() ,;'\"\\*&!|>$^`~=+-\t"
PIECES = st.text(LETTERS, min_size=5, max_size=12)
passwords = st.lists(PIECES, min_size=1, max_size=3).flatmap(
    lambda pieces: st.lists(st.sampled_from(SPECIAL), min_size=len(pieces) - 1, max_size=len(pieces) - 1).map(
        lambda signs: "".join(a + b for a, b in zip(pieces, [*signs, ""], strict=True))
    )
)
schemes = st.sampled_from(["amqp://", "amqps://", "amqp:/", "amqp:", "amqp//", "amqp", "http://", "ampq://", "", "://"])
users = st.sampled_from(["me:", "me", "", ":", "me@:", "me/"])
rests = st.sampled_from(
    ["@host:5672/", "@host", "", "@", "@host:port/", "@host:99999/", "@[::1/", "@host/a/b", "@ho st/", "/", "@:5672"]
)
urls = st.builds(lambda *parts: ("".join(parts), parts[2]), schemes, users, passwords, rests)

QUOTES = ["{}", "'{}'", '"{}"', "[{}]", "{{{}}}", "!!int {}", "&{}", "|\n        {}"]
PLACES = [
    "source: {rabbitmq: {url: %s, stream: s}}",
    "source:\n  rabbitmq:\n    stream: s\n    url: %s",
    "source: {rabbitmq: %s}",
    "source: %s",
    "streams: {rabbitmq: {prefix: p, url: %s}}",
    "streams: {rabbitmq: {ulr: %s}}",
    "source: {rabbitmq: {url: x, stream: s, start: %s}}",
    "source: {stream: %s}",
]


def pieces(password: str) -> list[str]:
    return re.findall(f"[{LETTERS}]{{5,}}", password)


def hidden(password: str, said: str) -> None:
    assert not any(piece in said for piece in pieces(password)), said


@given(urls, st.sampled_from(QUOTES), st.sampled_from(PLACES))
@tried(800)
def test_no_message_about_a_file_repeats_a_password(url: tuple[str, str], quotes: str, place: str) -> None:
    text, password = url
    assume("url" in place or SECRET.search(text))  # otherwise it is a word like any other
    file = f"name: p\noperators: [{{name: a, demand_s: 1}}]\n{place % quotes.format(text)}\n"
    try:
        read = parse_pipeline(file.encode())
    except ConfigError as error:
        hidden(password, str(error))
        return
    if "stream: {" not in place:  # the name of a stream is no secret
        hidden(password, repr(read.keys))


@given(urls)
@tried(400)
def test_no_message_about_a_url_repeats_a_password(url: tuple[str, str]) -> None:
    text, password = url
    for take in (check_url, lambda url: fill_in("${URL}", {"URL": url})):
        try:
            take(text)
        except ValueError as error:
            hidden(password, str(error))
        else:
            return  # a good url needs a broker
    with pytest.raises(RabbitError) as refused:
        Connection(text)
    hidden(password, str(refused.value))
    hidden(password, repr(StreamLocation(text, "s")))


@given(st.text(min_size=1, max_size=30).filter(lambda text: text.isprintable()))
@tried(100)
def test_a_password_of_any_characters_can_come_from_the_environment(password: str) -> None:
    pika: Any = pytest.importorskip("pika")
    url = fill_in("amqp://${WHO}:${WORD}@host:5672/", {"WHO": "me", "WORD": password})
    assert pika.URLParameters(url).credentials.password == password


@pytest.mark.parametrize("url", ["amqp://me:secret/", "amqp://me:sec/ret@host/", "amqp://me:s[cret@host/", "secret"])
def test_a_run_refuses_a_malformed_url_before_anything_starts(tmp_path: Path, url: str) -> None:
    file = tmp_path / "pipe.yaml"
    file.write_text(
        "name: p\noperators: [{name: a, demand_s: 1, function: 'math:sqrt', output: x int}]\n"
        f"source: {{rabbitmq: {{url: '{url}', stream: s}}}}\n"
    )
    said = program.complaint("run", file, "--folder", tmp_path / "run")
    assert said.startswith(f"mead run: {file}:3: source.rabbitmq.url: is not a url of RabbitMQ: write it as amqp://")
    assert "cret" not in said
    assert not (tmp_path / "run").exists()


def test_a_variable_that_is_not_set_is_named_with_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_WORD", raising=False)
    url = '"amqp://me:${NO_SUCH_WORD}@host/"'
    file = parse_pipeline(
        f"name: p\noperators: [{{name: a, demand_s: 1}}]\nsource: {{rabbitmq: {{url: {url}, stream: s}}}}\n"
        f"streams: {{rabbitmq: {{url: {url}}}}}".encode()
    )
    said = "the environment variable NO_SUCH_WORD is not set: export it"
    with pytest.raises(ConfigError, match=rf"^source\.rabbitmq\.url: {said}$"):
        load_source(file, tmp_path, tmp_path, None, tmp_path)
    with pytest.raises(ConfigError, match=rf"^streams\.rabbitmq\.url: {said}$"):
        load_streams(file)
