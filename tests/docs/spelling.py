"""Whether a command could be typed as it stands: what it names is there. Nothing is run."""

from __future__ import annotations

import re
import shlex
from functools import cache
from typing import Any

from experiments.commands import app as experiments_app
from tests.paths import ROOT
from typer.core import TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command

from mead.cli import app

EXPERIMENTS = "python -m experiments"
OPTION = re.compile(r"--?[a-z][\w-]*")
PROGRAM = re.compile(rf"(?:\.venv/bin/)?mead|{EXPERIMENTS}")
SCRIPT = re.compile(r"(?:(?:\.venv/bin/)?python )?(?P<file>(?:benchmarks|examples|tools)/\S+)")


@cache
def program(name: str = "mead") -> Any:
    """All commands; they take a while to be put together."""
    return get_command(experiments_app if name == EXPERIMENTS else app)


def named(command: str) -> tuple[str, list[str]]:
    """The program that a command begins with, and the other words."""
    if command.startswith(EXPERIMENTS):
        return EXPERIMENTS, shlex.split(command.removeprefix(EXPERIMENTS))
    first, *rest = shlex.split(command)
    return first, rest


def complaint_about(command: str) -> str:
    """What the program would say of a whole command before it does anything; empty if it would begin."""
    name: str | None
    name, rest = named(command.replace("\\\n", " "))
    if script := SCRIPT.match(command):
        return missing_from_script(script["file"], rest)
    if not PROGRAM.fullmatch(name):
        return f"{name} is no program of ours"
    now, context = program(name), None
    try:
        while isinstance(now, TyperGroup):
            context = now.make_context(name, rest, parent=context)
            name, now, rest = now.resolve_command(context, [*context._protected_args, *context.args])
        now.make_context(name, rest, parent=context)
    except TyperException as error:
        return error.format_message()
    return ""


def unknown_in(command: str) -> str:
    """The first sub-command or option of a mentioned command that is not there, as in ``mead generate KIND --help``."""
    first, rest = named(command)
    now = program(first)
    while isinstance(now, TyperGroup) and rest and not rest[0].startswith("-"):
        context = now.make_context(first, [], resilient_parsing=True)
        name, *rest = rest
        if name.isupper():  # stands for any
            return ""
        try:
            found = now.get_command(context, name)
        except TyperException:
            found = None
        if found is None:
            return name
        now = found
    known = {"--help"}.union(*((*parameter.opts, *parameter.secondary_opts) for parameter in now.params))
    return next((word for word in rest if OPTION.fullmatch(word) and word not in known), "")


def missing_from_script(file: str, words: list[str]) -> str:
    if not (ROOT / file).is_file():
        return f"there is no {file}"
    text = (ROOT / file).read_text()
    return next((f"{file} has no {word}" for word in words if OPTION.fullmatch(word) and f'"{word}"' not in text), "")
