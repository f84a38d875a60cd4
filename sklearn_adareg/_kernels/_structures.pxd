from ._domains cimport Domain
from ._forgetting cimport Forgetting
from ._potentials cimport Potential
from ._rows cimport Row
from ._setting cimport Clock, Setting
from ._units cimport FeatureScale

cdef enum:
    POTENTIAL_RAISED = -1, NOT_PROJECTED = -2, NOT_FINITE = -3, TOO_HEAVY = -4     # why a verb gives up; 0: all is well


cdef class Structure:
    cdef readonly Setting setting
    cdef readonly Potential potential
    cdef readonly Domain domain
    cdef readonly Clock clock
    cdef readonly dict arrays
    cdef FeatureScale scale          # None: features in raw units
    cdef Forgetting memory           # None: nothing is forgotten
    cdef double[::1] rho             # per lane: what steps are multiplied with
    cdef double[::1] loss_units      # per lane: the gradient of the loss itself over that of the lane; penalties are on its scale
    cdef bint penalised
    cdef bint unconstrained          # no domain
    cdef bint projects_whole         # a domain whose projection moves the whole point
    cdef bint always_steps           # moves even when no lane has a slope
    cdef bint fused                  # can learn from a row in one pass in which nothing can fail
    cdef bint steep                  # slopes of the loss are unbounded
    cdef bint logistic               # the loss is log(1 + exp(−ym)) in each lane
    cdef const double* curvatures    # per lane: ℓ'' of the round under way, or NULL: steps are explicit
    cdef double* average_margins     # per lane: where ``predict`` leaves the margins of the averages, or NULL
    cdef double* iterate_margins     # per lane: those of the iterates that would be published, before units change; or NULL
    cdef readonly bint tells         # what ``predict`` gives are the margins of the weights that would be published
    cdef readonly bint by_columns    # some coordinates can be published without the others
    cdef bint watched                # somebody asks for those of the units from before the row
    cdef bint changed                # they differ, and are in the next two
    cdef double[::1] old_margins, old_averages
    cdef const double* slopes        # per lane: ω ℓ' of the round under way
    cdef double round_weight         # ω of the round under way
    cdef double longest_step         # that a gradient of norm 1 can cause
    cdef double[::1] weighted_slopes
    cdef bint familiar               # the row has been seen before: it tells nothing new about the features
    cdef unsigned char[::1] rests    # per lane: neither learns nor forgets in this round

    cdef object mixed(self, double[:, :, ::1] shares)
    cdef bint wants_curvatures(self, bint steep) noexcept nogil
    cdef void bind_loss(self, const double* curvatures, bint steep) noexcept nogil
    cdef const double* entering(self, const double* slopes) noexcept nogil

    cdef void enter(self, Row* row) noexcept nogil
    cdef void predict(self, Row* row, double* margins) noexcept nogil
    cdef int accumulate(self, Row* row, const double* slopes) noexcept nogil
    cdef int precondition(self, Row* row) noexcept nogil
    cdef int update(self, Row* row) noexcept nogil
    cdef void learn(self, Row* row, const double* slopes) noexcept nogil
    cdef int rest(self, Row* row) noexcept nogil
    cdef void abandon(self, Row* row) noexcept nogil
    cdef void put_back(self) noexcept nogil
