"""Algorithm 1 of Gupta, Koren & Singer, once, for every loss, potential, structure, domain, update and average.

A round is a transaction. It stops without a trace when its loss or its gradient is not finite, or when a piece fails; the
rounds before it stand.
"""
from libc.math cimport fmax, isfinite, sqrt
from libc.string cimport memcpy

from ..linalg._loops cimport ask_for
from ..losses._losses cimport Loss
from ..aggregation._methods cimport Method
from ..prequential._records cimport Records, Transcript
from ..data._rows cimport Row, Rows
from ..preconditioners._structures cimport NOT_FINITE, POTENTIAL_RAISED, Structure

cdef enum:
    SOON = 8, LATER = 16            # how many rounds ahead memory is asked for a row, and for where to find one
cdef double LARGEST = 1e290         # a squared gradient beyond this would soon take G past what a double holds


cdef class Tally:
    """What the rounds of one call add up to."""


def run_rounds(Method method, Rows rows, const Py_ssize_t[::1] order, const double[:, ::1] targets, const double[::1] weights,
               Records records=None, double[::1] class_counts=None, Transcript transcript=None) -> Tally:
    """Play one round for each row number in ``order``; ``targets`` and ``weights`` go by row number too.

    Returns a :class:`Tally`; its ``status`` says why the rounds ended before the rows did. ``records`` and ``class_counts`` take in
    the rows played before anybody can interrupt, so they always are those of the finished rounds; ``transcript`` takes what each
    round said.
    """
    cdef Tally tally = Tally()
    method.structure.prepare(rows.widest)
    with nogil:
        play(method, method.structure, method.loss, rows, order, targets, weights, records, transcript, tally)
        if class_counts is not None:
            count(order[:tally.rounds], targets, class_counts)
        method.structure.clock.end_rounds()
    if method.error is not None:
        error, method.error = method.error, None
        raise error
    return tally


cdef void play(Method method, Structure structure, Loss loss, Rows rows, const Py_ssize_t[::1] order, const double[:, ::1] targets,
               const double[::1] weights, Records records, Transcript transcript, Tally tally) noexcept nogil:
    cdef Row[2] pair                 # the row of this round, and the next one, on its way while this one is learnt from
    cdef Row* row = &pair[1]
    cdef Row* coming = &pair[0]
    cdef Py_ssize_t i, k, l
    cdef Py_ssize_t n = order.shape[0]
    cdef Py_ssize_t vectors = structure.setting.all_vectors
    cdef bint weighted = weights.shape[0] > 0
    cdef double* margins = &method.margins[0]
    cdef double* slopes = &method.slopes[0]
    # what does not change between rounds, read once: a round of few features takes some 50 ns
    cdef bint direct = method.direct
    cdef bint in_residuals = not method.objective.plain
    cdef bint watched = method.watched
    cdef bint scaled = method.scale is not None
    cdef bint as_published = method.as_published
    cdef bint looked_up = watched and method.looked_up
    cdef bint recorded = records is not None
    cdef bint tracked = recorded and records.tracks is not None
    cdef bint transcribed = transcript is not None
    cdef double longest_step = structure.longest_step
    cdef bint earlier                # what was published before this round is worked out apart, since the row has changed units
    cdef double value, steepest, squared, reach, weight = 1.0, prequential = 0.0
    cdef double total_loss = 0.0, total_weight = 0.0
    cdef int status
    k = 0
    if recorded:
        records.begin()
    if n > 0:
        rows.fetch(order[0], coming)
    for k in range(n):
        i = order[k]
        if k + LATER < n and order[k + SOON] != i + SOON:
            rows.announce(order[k + SOON], order[k + LATER])
            ask_for(&targets[order[k + SOON], 0], sizeof(double))
        row, coming = coming, row
        if k + 1 < n:
            rows.fetch(order[k + 1], coming)
        if row.stray:
            tally.status = STRAY_COLUMN
            break
        if looked_up and not method.look_up(row):
            break
        structure.clock.begin_round()
        if method.combines:
            method.begin_round()

        # (1) Output x_t; receive f_t.
        if scaled:
            method.scale.propose(row)
        earlier = watched and not looked_up and scaled and method.scale.grew > 0
        if earlier:
            method.show_earlier(row)
        structure.enter(row)
        structure.predict(row, margins)
        if watched and not (earlier or looked_up or method.combines):
            method.show(margins, &method.average_margins[0])
        if weighted:
            weight = weights[i]
        structure.round_weight = weight
        if direct:                                      # one call less in the chain of a short round
            value = loss.evaluate(margins, &targets[i, 0], slopes, vectors)
        else:
            value = method.evaluate_loss(&targets[i, 0], weight)
        if watched:
            prequential = method.evaluate_published(&targets[i, 0], value, earlier)
        steepest = 0.0
        for l in range(vectors):
            if weighted:
                slopes[l] *= weight
            steepest += slopes[l] * slopes[l]
        squared = steepest * row.norm2                  # ‖g_t‖²
        reach = longest_step * structure.clock.C
        if in_residuals:
            reach *= largest(&structure.rho[0], vectors)  # steps are in the unit of the residuals
        if not ((1.0 if reach < 1.0 else reach) * (1.0 + squared) < LARGEST and isfinite(value)):      # at most then
            tally.status = overflow(value, squared, reach)
            if in_residuals and not isfinite(total_of(&structure.rho[0], vectors)):      # the square of a residual is in it
                tally.status = LOSS_OVERFLOW
            if tally.status != FINISHED:
                structure.abandon(row)
                break
        if structure.fused and steepest != 0.0:
            structure.learn(row, slopes)                   # (2), (3) and (4) in one pass
        else:
            if steepest == 0.0 and not structure.always_steps:
                status = structure.rest(row)               # g_t = 0: G, H and x stay
            else:
                status = structure.accumulate(row, slopes)      # (2) g_t, G_t = G_{t−1} + g_t g_tᵀ
                if status == 0:
                    status = structure.precondition(row)        # (3) H_t = ψ(P_S G_t)
                if status == 0:
                    status = structure.update(row)              # (4) x_{t+1} = Π(x_t − H_t g_t), or Π(x_1 − H_t Σ g_s)
            if status != 0:
                structure.abandon(row)
                tally.status = reason(status)
                break

        if method.in_units:
            method.commit(row)
        structure.clock.commit()
        if recorded:
            records.note(prequential if as_published else value, weight, method.predicting, &targets[i, 0])
        if tracked:
            records.tracks.follow(method.predicting, &targets[i, 0])
        if transcribed:
            transcript.values[k] = prequential if as_published else value
            memcpy(&transcript.margins[k, 0], method.predicting, transcript.margins.shape[1] * sizeof(double))
            if transcript.shown is not None:
                memcpy(&transcript.shown[k, 0], &method.shown[0], transcript.shown.shape[1] * sizeof(double))
        total_loss += weight * value
        total_weight += weight
    else:
        k = n
    if recorded:
        records.add_up()
    tally.loss, tally.weight, tally.rounds = total_loss, total_weight, k


cdef void count(const Py_ssize_t[::1] order, const double[:, ::1] targets, double[::1] class_counts) noexcept nogil:
    """Add the rows of each class; two classes are −1 and 1."""
    cdef Py_ssize_t k, n = order.shape[0], positive = 0
    if class_counts.shape[0] > 2:
        for k in range(n):
            class_counts[<Py_ssize_t> targets[order[k], 0]] += 1.0
    else:                            # in a register: a sum in memory would wait for itself in every row
        for k in range(n):
            positive += targets[order[k], 0] > 0.0
        class_counts[0] += n - positive
        class_counts[1] += positive


cdef int overflow(double value, double squared, double reach) noexcept nogil:
    """Whether a loss, a squared gradient, or a step that can go ``reach`` times the gradient far, is too large to go on."""
    if not isfinite(value):
        return LOSS_OVERFLOW
    if not squared < LARGEST:
        return GRADIENT_OVERFLOW
    if squared > 0.0 and not reach * (1.0 + squared) < LARGEST and not reach * sqrt(squared) < LARGEST:
        return STEP_OVERFLOW
    return FINISHED


cdef inline double largest(const double* numbers, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef double most = numbers[0]
    for i in range(1, n):
        most = fmax(most, numbers[i])
    return most


cdef inline double total_of(const double* numbers, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef double total = 0.0
    for i in range(n):
        total += numbers[i]
    return total


cdef int reason(int status) noexcept nogil:
    if status == NOT_FINITE:
        return STEP_OVERFLOW
    return POTENTIAL_FAILED if status == POTENTIAL_RAISED else PROJECTION_FAILED
