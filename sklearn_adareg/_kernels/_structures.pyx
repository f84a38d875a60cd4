# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""What every structure is: the verbs of one round, over L lanes that read the row together.

A round calls ``enter`` (bring the touched coordinates together), ``predict``, ``accumulate`` (G_t), ``precondition`` (H_t)
and ``update`` (x_{t+1}, projected; the average moves along), or ``rest`` when no lane has a slope. Nothing that outlives the
call changes before ``update``, so a round that fails leaves the state as it was.

The average Σ c_t x_t = C_T x_{T+1} − Σ C_s δ_s needs only the steps δ: ``u`` accumulates C_s δ_s, and costs what the step costs.
"""
from libc.math cimport pow

from ._domains cimport NoDomain

import numpy as np


cdef class Setting:
    """The numbers of a problem that do not change while it learns."""

    def __init__(self, *, Py_ssize_t d, Py_ssize_t lanes, bint intercept, eta, double epsilon, bint dual=False,
                 average=True, double alpha=0.0, double l1_ratio=0.0, double start=0.0):
        self.d, self.D, self.L = d, d + intercept, lanes
        self.intercept = intercept
        self.eta = np.zeros(lanes) + np.asarray(eta, dtype=np.float64)
        self.epsilon = epsilon
        self.dual = dual
        self.averaging = average is not False
        self.gamma = 0.0 if isinstance(average, bool) else average
        self.ridge, self.lasso = alpha * (1.0 - l1_ratio), alpha * l1_ratio
        self.start = start


cdef class Clock:
    """Rounds t, averaging weights c_t = t^γ and their sum C_t."""

    def __init__(self, Setting setting, double[::1] now):
        self.now = now
        self.averaging, self.gamma = setting.averaging, setting.gamma

    cdef void strike(self) noexcept nogil:
        self.t = self.now[0] + 1.0
        self.c = 1.0 if self.gamma == 0.0 else pow(self.t, self.gamma)
        self.C = self.now[1] + self.c

    cdef void keep(self) noexcept nogil:
        self.now[0] = self.t
        self.now[1] = self.C


cdef class Structure:
    """A structure bound to the arrays of one state."""

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        self.setting, self.potential, self.domain, self.arrays = setting, potential, domain, arrays
        self.penalised = setting.ridge > 0.0 or setting.lasso > 0.0
        self.free = isinstance(domain, NoDomain)
        self.wholly = not (self.free or domain.coordinatewise)
        self.clock = Clock(setting, arrays["clock"])

    def published(self):
        """The fitted model, (L, D): the average, or the last iterate with its pending penalty charged."""
        if not self.setting.averaging:
            return self.last_iterate()
        return self.average()

    cdef void enter(self, Row* row) noexcept nogil:
        pass

    cdef void predict(self, Row* row, double* margins) noexcept nogil:
        pass

    cdef void accumulate(self, Row* row, const double* slopes) noexcept nogil:
        pass

    cdef int precondition(self, Row* row) noexcept nogil:
        return -1

    cdef int update(self, Row* row) noexcept nogil:
        return -1

    cdef void rest(self, Row* row) noexcept nogil:
        pass
