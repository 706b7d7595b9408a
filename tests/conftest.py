"""What all tests share."""

from __future__ import annotations

import os

from hypothesis import settings

# Set before a test imports NumPy: the matrices are small, and more BLAS threads only get in each other's way.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# The same examples in every run, so that a red run can be repeated. No deadline: a first call may compile.
settings.register_profile("mead", derandomize=True, deadline=None)
settings.load_profile("mead")
