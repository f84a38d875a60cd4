cimport cython

from ...linalg._loops cimport dot, vector_dots
from ...data._rows cimport Row


@cython.final
cdef class Cells:
    cdef Py_ssize_t L, D
    cdef Py_ssize_t stride           # from one coordinate's number to the next one's
    cdef double *x
    cdef double *u                   # Σ C_s δ_s, or NULL
    cdef double *theta               # Σ g_s, or NULL
    cdef double *G                   # or NULL
    # of the coordinates that the row touches, n·L numbers each
    cdef bint records                # they are worked on where they lie, as records
    cdef bint direct                 # they are worked on where they lie, as vectors
    cdef Py_ssize_t span             # how far loops over them may go: to the end of the last vector where there is room
    cdef double *xb
    cdef double *ub
    cdef double *tb
    cdef double *Gb
    cdef double *hb                  # ψ(G)/η
    cdef double *nb                  # where they go
    cdef double *room                # for the G of a row's records
    cdef double[::1] workspace

    cdef void make_room(self, Py_ssize_t widest)
    cdef void take_copies(self, Row* row) noexcept nogil
    cdef void gather(self, Row* row, const double* field, double* buffer) noexcept nogil
    cdef void scatter(self, Row* row, const double* buffer, double* field) noexcept nogil
    cdef void scatter_all(self, Row* row) noexcept nogil

    cdef inline void take_records(self) noexcept nogil:
        """A sparse row: work on the records, with room for the row's G."""
        self.records = True
        self.Gb = self.room

    cdef inline void take_vectors(self, Row* row) noexcept nogil:
        """A dense row: work on the arrays themselves."""
        self.records, self.direct = False, True
        # of a single coordinate nobody knows what lies behind it
        self.span = row.room if self.L == 1 and self.D > 1 else row.n
        self.xb, self.ub, self.tb, self.Gb = self.x, self.u, self.theta, self.G

    cdef inline void dots(self, Row* row, const double* numbers, double* margins) noexcept nogil:
        """Σ_j z_j numbers_jl of each weight vector."""
        if self.L == 1:
            margins[0] = dot(row.z, numbers, self.span)
        else:
            vector_dots(row.z, numbers, margins, row.n, self.L)
