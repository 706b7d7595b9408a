"""A start of Spark without the page of remarks that Java and Hadoop print on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile


class SparkStartError(RuntimeError):
    """Spark did not start. The message is the first complaint that was printed."""


@contextmanager
def quiet_start() -> Iterator[None]:
    """What is started inside inherits a standard error that nobody sees; it is shown only if the start fails.

    Java keeps it as long as it lives. Errors of jobs come back as exceptions, and are not lost.
    """
    from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415 - takes a second

    sys.stderr.flush()
    ours = os.dup(2)
    with TemporaryFile() as unseen:
        os.dup2(unseen.fileno(), 2)
        try:
            yield
        except PySparkRuntimeError as error:
            unseen.seek(0)
            said = unseen.read().decode(errors="replace").splitlines()
            # The first complaint; what the scripts around Java say after it are consequences.
            first = next((line for line in said if line.strip() and not line.startswith("WARNING")), str(error))
            raise SparkStartError(first) from error
        finally:
            sys.stderr.flush()
            os.dup2(ours, 2)
            os.close(ours)
