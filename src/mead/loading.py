"""Import code that a file names as ``module:name``.

This holds for functions of operators, payloads, streams, and policies.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mead.keys import ConfigError, KeyPath


def modules_in(folder: Path) -> None:
    """Import modules from a folder, such as that of the pipeline file, before all others."""
    place = str(folder.resolve())
    if place not in sys.path:
        sys.path.insert(0, place)


def modules_beside(file: Path, name: str, *, trust: bool) -> None:
    """Import modules that lie beside a pipeline file, if the user trusts it.

    Otherwise refuse the ``name`` of a class whose module lies nowhere else: the files beside a pipeline file are of the
    same origin. Nothing is imported to find that out. Raises ConfigError.
    """
    if trust:
        modules_in(file.parent)
        return
    package = name.partition(":")[0].partition(".")[0]
    elsewhere = package in sys.modules or find_spec(package) is not None
    if not elsewhere and PathFinder.find_spec(package, [str(file.parent.resolve())]) is not None:
        raise ConfigError(
            f"the module of {name} lies beside {file}, and its code would run with your rights: add --trust (Python: "
            "trust=True) if you trust this folder, or put the module into the current folder"
        )


def load_object(name: str, where: KeyPath = ()) -> Any:
    """The object of that name. Raises ConfigError about the key that names it.

    >>> load_object("math:sqrt")(4.0)
    2.0
    >>> load_object("math:root")
    Traceback (most recent call last):
        ...
    mead.keys.ConfigError: cannot import `math:root`: module 'math' has no attribute 'root'
    """
    module, _, attribute = name.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"cannot import `{name}`: {error}", where) from error
    except Exception as error:  # whatever the module does when it is loaded
        said = " ".join(str(error).split())
        raise ConfigError(f"cannot import `{name}`: {type(error).__name__}: {said}", where) from error
