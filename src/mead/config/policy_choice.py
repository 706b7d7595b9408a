"""The choice of a policy and its options, by a pipeline file and by the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, get_origin

from pydantic import BeforeValidator, SerializeAsAny

from mead.config.yaml_lines import Plain, read_yaml
from mead.keys import ConfigError, Keys, parse, wrong_key
from mead.policies import DEFAULT, PolicyOptions, options_class


def _options(value: object) -> object:
    """The options of the policy that is named, in place of a mapping with its name."""
    if not isinstance(value, dict):
        return value
    if value.get("name") is None:
        raise wrong_key("name", "is missing")
    try:
        kind = options_class(str(value["name"]))
    except ConfigError as error:
        raise wrong_key("name", error.complaint) from error
    try:
        return parse(kind, json.dumps(value))
    except ConfigError as error:
        raise wrong_key(error.location, error.complaint) from error


PolicyKey = Annotated[SerializeAsAny[PolicyOptions], BeforeValidator(_options)]
"""The key ``policy`` of a file: the registry knows which options belong to a name."""


def choose_policy(
    of_file: PolicyOptions | None, name: str | None, settings: Sequence[str], *, trust: bool = False
) -> PolicyOptions:
    """The options of a file with a few changed by ``key=value``, or those of another policy.

    The options of the file apply to its own policy only; another one starts from its defaults. A class that the file
    names is refused unless the user trusts the file, or has named that class too (``trust``).

    >>> of_file = options_class("map")(best=3)
    >>> choose_policy(of_file, None, ["windows=20000,10000"]).windows
    (20000, 10000)
    >>> choose_policy(of_file, "replay", ["interval_s=30"]).interval_s
    30.0
    """
    name = name or (of_file.name if of_file else DEFAULT)
    if of_file is not None and name == of_file.name and ":" in name and not trust:
        raise ConfigError(
            f"{name} is code, and would run with your rights: add --trust (Python: trust=True) if you trust this file, "
            "or choose a policy by --policy",
            ("policy", "name"),
        )
    kind = options_class(name)
    values: dict[str, Plain] = {"name": name}
    if of_file is not None and name == of_file.name:
        values |= of_file.model_dump(mode="json", exclude_unset=True)
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise ConfigError(f"an option is key=value; got {setting!r}")
        if key.strip() == "name":
            raise ConfigError(f"a policy is chosen by its name, not by the option {setting!r}")
        values[key.strip()] = _value(kind, key.strip(), text)
    try:
        return parse(kind, json.dumps(values))
    except ConfigError as error:
        raise ConfigError(f"option of {name}: {error}") from error


def _value(kind: type[Keys], key: str, text: str) -> Plain:
    """A value as YAML has it. A list needs no brackets."""
    field = kind.model_fields.get(key)
    is_list = field is not None and get_origin(field.annotation) is tuple
    try:
        return read_yaml(
            (f"[{text}]" if is_list and not text.strip().startswith("[") else text or "null").encode()
        ).value
    except ConfigError as error:
        raise ConfigError(f"option {key}: {error.complaint}") from error
