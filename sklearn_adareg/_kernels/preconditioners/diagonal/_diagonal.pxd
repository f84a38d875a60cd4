from ._coordinatewise cimport Coordinatewise
from ._fused_loops cimport descend_loop, records_loop


cdef class Diagonal(Coordinatewise):
    cdef descend_loop in_vectors     # a whole round with this potential's power inlined, or NULL
    cdef records_loop in_records     # the same on sparse rows whose numbers lie side by side
