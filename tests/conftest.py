"""Settings of the whole test suite."""

import os

# The matrices here are small: BLAS threads would only wait for one another.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
