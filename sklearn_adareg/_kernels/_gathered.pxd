from ._rows cimport Row
from ._structures cimport Structure


cdef class Gathered(Structure):
    cdef double *x
    cdef double *u
    cdef double *theta
    cdef double *G
    cdef Py_ssize_t stride           # from one coordinate's number to the next one's
    cdef bint on_records             # this sparse row is worked on where its coordinates lie
    cdef bint direct                 # this row's coordinates are worked on where they lie
    cdef Py_ssize_t span             # how far loops over them may go: to the end of the last vector where there is room
    cdef double *xb
    cdef double *ub
    cdef double *tb
    cdef double *Gb
    cdef double *hb                  # ψ(G)/η of the touched coordinates
    cdef double *nb                  # where they go
    cdef double[::1] workspace
    cdef Row* row

    cdef bint by_records(self) noexcept nogil
    cdef void first_sight(self, Row* row) noexcept nogil
    cdef void grow(self, Row* row) noexcept nogil
    cdef void carry(self, Py_ssize_t e, Py_ssize_t lane, double grown) noexcept nogil
    cdef void gather(self, Row* row, const double* field, double* buffer) noexcept nogil
    cdef void scatter(self, Row* row, const double* buffer, double* field) noexcept nogil
    cdef void dots(self, Row* row, const double* numbers, double* margins) noexcept nogil
    cdef void scatter_all(self, Row* row) noexcept nogil
