"""What Python processes of an application with the fast profile do before anything else: they leave a zip file out.

Python runs a module of this name when it starts, if it finds one. Spark puts the sources of PySpark before everything
else, as a zip file, and from a zip file Python compiles them anew in every process that it starts. Where PySpark was
installed by pip, that file lies inside the very same library, which is compiled already.
"""  # noqa: INP001 - no package: its folder is put on the path

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

HERE = os.path.dirname(__file__)  # noqa: PTH120 - every process loads this, and pathlib takes longer than all of it
ZIP = os.path.join("pyspark", "python", "lib", "pyspark.zip")  # noqa: PTH118 - as above


def without_zip(path: list[str]) -> list[str]:
    """The places of a path but for the zip file of a library that lies in another of them.

    >>> without_zip(["/venv/pyspark/python/lib/pyspark.zip", "/venv"])
    ['/venv']
    >>> without_zip(["/opt/spark/python/lib/pyspark.zip", "/venv"])
    ['/opt/spark/python/lib/pyspark.zip', '/venv']
    """
    return [place for place in path if not (place.endswith(ZIP) and place[: -len(ZIP)].rstrip(os.sep) in path)]


sys.path[:] = without_zip(sys.path)

# There may be one that this one hides: of the system, or of a tool that measures what is executed.
hidden = PathFinder.find_spec("sitecustomize", [place for place in sys.path if place != HERE])
if hidden is not None and hidden.loader is not None:
    hidden.loader.exec_module(module_from_spec(hidden))
