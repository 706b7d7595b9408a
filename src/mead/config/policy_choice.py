"""Which policy, with which options: what the command line may change of what a file says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import get_args, get_origin

from mead.config.yaml_lines import Plain, read_yaml
from mead.keys import ConfigError, Keys, did_you_mean, parsed
from mead.policies.options import PolicyOptions, kind_of

OPTIONS: dict[str, type[Keys]] = {
    kind.model_fields["name"].default: kind for kind, _ in map(get_args, get_args(get_args(PolicyOptions)[0]))
}
"""The options of every policy, by its name."""


class _Choice(Keys):
    policy: PolicyOptions


def chosen_policy(of_file: PolicyOptions, name: str | None, settings: Sequence[str]) -> PolicyOptions:
    """The options of a file with a few changed by ``key=value``, or those of another policy.

    What the file says counts for its own policy only; another starts from its defaults.

    >>> from mead.policies.options import MapOptions
    >>> chosen_policy(MapOptions(best=3), None, ["windows=20000,10000"]).windows
    (20000, 10000)
    >>> chosen_policy(MapOptions(best=3), "replay", ["interval_s=30"]).interval_s
    30.0
    """
    name = name or of_file.name
    kind = OPTIONS.get(kind_of({"name": name}) or "")
    if kind is None:
        near = did_you_mean(name, OPTIONS) or f"; there are {', '.join(OPTIONS)}"
        raise ConfigError(f"there is no policy {name!r}{near}")
    values: dict[str, Plain] = {"name": name}
    if name == of_file.name:
        values |= of_file.model_dump(mode="json", exclude_unset=True)
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise ConfigError(f"an option is key=value; got {setting!r}")
        if key.strip() == "name":
            raise ConfigError(f"a policy is chosen by its name, not by the option {setting!r}")
        values[key.strip()] = _value(kind, key.strip(), text)
    try:
        return parsed(_Choice, json.dumps({"policy": values})).policy
    except ConfigError as error:
        of_policy = ConfigError(error.complaint, error.location[1:])
        raise ConfigError(f"option of {name}: {of_policy}") from error


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
