"""Remove PySpark's zip file from the path of Python processes of the fast profile.

Python runs a module of this name when it starts. Spark puts the sources of PySpark first on the path, as a zip file,
which Python compiles again in every process. Where pip installed PySpark, the same library is on the path, already
compiled.
"""  # noqa: INP001 - no package: its folder is put on the path

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

HERE = os.path.dirname(__file__)  # noqa: PTH120 - every process loads this, and pathlib takes longer than all of it
ZIP = os.path.join("pyspark", "python", "lib", "pyspark.zip")  # noqa: PTH118 - as above


def without_zip(path: list[str]) -> list[str]:
    """Return the path without the zip file of a library that is on the path itself.

    >>> without_zip(["/venv/pyspark/python/lib/pyspark.zip", "/venv"])
    ['/venv']
    >>> without_zip(["/opt/spark/python/lib/pyspark.zip", "/venv"])
    ['/opt/spark/python/lib/pyspark.zip', '/venv']
    """
    return [place for place in path if not (place.endswith(ZIP) and place[: -len(ZIP)].rstrip(os.sep) in path)]


sys.path[:] = without_zip(sys.path)

# Run the sitecustomize that this one hides: of the system, or of a coverage tool.
hidden = PathFinder.find_spec("sitecustomize", [place for place in sys.path if place != HERE])
if hidden is not None and hidden.loader is not None:
    hidden.loader.exec_module(module_from_spec(hidden))
