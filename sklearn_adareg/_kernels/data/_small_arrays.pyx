"""Questions about small arrays, for which NumPy takes longer than the answer: a call that learns from one row asks several."""
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.dict cimport PyDict_GetItem
from cpython.object cimport PyObject
from libc.math cimport isfinite

from ..linalg._loops cimport dot

import numpy as np


def all_finite(array):
    """Whether an array of float64 or float32, contiguous in memory, has finite values only."""
    cdef Py_buffer view
    cdef Py_ssize_t i
    cdef double zero = 0.0
    cdef bint single = array.itemsize == sizeof(float)
    PyObject_GetBuffer(array, &view, PyBUF_SIMPLE)
    if single:
        for i in range(view.len // <Py_ssize_t> sizeof(float)):
            zero += 0.0 * (<const float*> view.buf)[i]
    else:
        for i in range(view.len // <Py_ssize_t> sizeof(double)):
            zero += 0.0 * (<const double*> view.buf)[i]
    PyBuffer_Release(&view)
    return zero == 0.0                           # NaN otherwise


def same_objects(dict values, tuple names, tuple objects):
    """Whether each name still stands for the very object that it stood for."""
    cdef Py_ssize_t i
    if len(names) != len(objects):
        return False
    for i in range(len(names)):
        if PyDict_GetItem(values, names[i]) != <PyObject*> objects[i]:
            return False
    return True


def sparse_margins(const double[::1] data, const Py_ssize_t[::1] pointers, const double[:, :] weights, bint intercept):
    """The margins of CSR rows, (n_rows, n_outputs), from weights at each of their numbers, and behind those an intercept; None where
    one of them is not finite."""
    cdef Py_ssize_t i, j, k
    cdef Py_ssize_t vectors = weights.shape[0]
    cdef bint finite = True
    cdef double total
    result = np.empty((pointers.shape[0] - 1, vectors))
    cdef double[:, ::1] out = result
    for i in range(pointers.shape[0] - 1):
        for k in range(vectors):
            total = 0.0
            for j in range(pointers[i], pointers[i + 1]):
                total += data[j] * weights[k, j]
            out[i, k] = total + weights[k, weights.shape[1] - 1] if intercept else total
            finite = finite and isfinite(out[i, k])
    return result if finite else None


def margins(const double[:, ::1] X, const double[:, ::1] coef, const double[::1] intercept, const double[:, ::1] limits=None):
    """X·coef' + intercept, (n_rows, n_outputs), of values within limits; None where one of them is not finite."""
    cdef Py_ssize_t i, j, k
    cdef double value, total
    cdef Py_ssize_t d = X.shape[1]
    cdef bint finite = True
    result = np.empty((X.shape[0], coef.shape[0]))
    cdef double[:, ::1] out = result
    for i in range(X.shape[0]):
        for k in range(coef.shape[0]):
            if limits is None:
                total = dot(&X[i, 0], &coef[k, 0], d)
            else:
                total = 0.0
                for j in range(d):
                    value = X[i, j] if X[i, j] > limits[0, j] else limits[0, j]
                    total += coef[k, j] * (value if value < limits[1, j] else limits[1, j])
            out[i, k] = total + intercept[k]
            finite = finite and isfinite(out[i, k])
    return result if finite else None
