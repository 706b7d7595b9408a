"""Code that a file names as ``module:name``: the functions of operators, payloads, streams, and policies."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from mead.keys import ConfigError, KeyPath


def modules_in(folder: Path) -> None:
    """Look for modules in a folder, such as that of the pipeline file, before all others."""
    place = str(folder.resolve())
    if place not in sys.path:
        sys.path.insert(0, place)


def named(name: str, where: KeyPath = ()) -> Any:
    """The object of that name. Raises ConfigError, about the key that names it.

    >>> named("math:sqrt")(4.0)
    2.0
    >>> named("math:root")
    Traceback (most recent call last):
        ...
    mead.keys.ConfigError: math:root cannot be had: module 'math' has no attribute 'root'
    """
    module, _, attribute = name.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{name} cannot be had: {error}", where) from error
    except Exception as error:  # whatever the module does when it is loaded
        said = " ".join(str(error).split())
        raise ConfigError(f"{name} cannot be had: {type(error).__name__}: {said}", where) from error
