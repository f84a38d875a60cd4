"""Lines of svmlight text as numbers, without the GIL, so that a thread can read while another learns.

Plain lines only: a label, then ``index:value`` with indices that grow; ``#`` begins a comment. At anything else (query
identifiers, nan, what is no number) reading stops, and the caller has scikit-learn's reader take the block, or say what is wrong.

Values are those of Python's ``float``. A decimal with a mantissa up to 2^53 and a power of ten up to 22 is one multiplication or
division of two exact doubles, so correctly rounded; C's ``strtod`` does the others.
"""
from libc.stdint cimport uint64_t
from libc.stdlib cimport strtod

cdef double[23] TENS = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
                        1e20, 1e21, 1e22]
cdef int MOST_DIGITS = 19  # that surely fit into 64 bits
cdef int FAR = 100000  # an exponent beyond which all is 0 or infinite
cdef long long LARGEST = 2147483646  # index


cdef inline bint is_digit(char c) noexcept nogil:
    return c >= c'0' and c <= c'9'


cdef inline bint ends_token(char c) noexcept nogil:
    return c == c' ' or c == c'\n' or c == c'\t' or c == c'\r' or c == c'#' or c == 0


cdef inline const char* skip_spaces(const char* p) noexcept nogil:
    while p[0] == c' ' or p[0] == c'\t' or p[0] == c'\r':
        p += 1
    return p


cdef const char* read_number(const char* p, double* value) noexcept nogil:
    """The decimal number at p; where it ends, or NULL where there is none."""
    cdef:
        const char* begin = p
        char* end
        uint64_t mantissa = 0
        int digits = 0, exponent = 0, written = 0, found = 0
        bint negative = p[0] == c'-', below = False
    if p[0] == c'-' or p[0] == c'+':
        p += 1
    while is_digit(p[0]) or (p[0] == c'.' and not below):
        if p[0] == c'.':
            below = True
        else:
            found += 1
            if digits or p[0] != c'0':
                digits += 1
            if digits <= MOST_DIGITS:
                mantissa = 10 * mantissa + <uint64_t>(p[0] - c'0')
            exponent -= below
        p += 1
    if not found:
        return NULL
    if p[0] == c'e' or p[0] == c'E':
        p += 1
        below = p[0] == c'-'
        if p[0] == c'-' or p[0] == c'+':
            p += 1
        if not is_digit(p[0]):
            return NULL
        while is_digit(p[0]):
            if written < FAR:
                written = 10 * written + (p[0] - c'0')
            p += 1
        exponent += -written if below else written
    if not ends_token(p[0]):
        return NULL
    if digits <= MOST_DIGITS and mantissa <= (<uint64_t>1 << 53) and -22 <= exponent <= 22:
        value[0] = <double>mantissa * TENS[exponent] if exponent >= 0 else <double>mantissa / TENS[-exponent]
        if negative:
            value[0] = -value[0]
        return p
    value[0] = strtod(begin, &end)
    return p if end == p else NULL  # a locale may write decimals otherwise


cdef const char* read_index(const char* p, long long* index) noexcept nogil:
    """The index at p, and behind its colon; NULL where there is none."""
    if not is_digit(p[0]):
        return NULL
    index[0] = 0
    while is_digit(p[0]):
        index[0] = 10 * index[0] + (p[0] - c'0')
        if index[0] > LARGEST:
            return NULL
        p += 1
    return p + 1 if p[0] == c':' else NULL


def read_lines(bytes text, double[::1] labels, int[::1] indices, double[::1] values, int[::1] ends):
    """Fill labels, and indices, values and ends of rows as CSR has them; the number of rows, or −1 if a line is not plain.

    The arrays have room for as many labels as there are lines, one end more, and as many values as there are colons.
    """
    cdef:
        const char* p = text
        const char* stop = p + len(text)
        Py_ssize_t rows = 0, filled = 0
        long long index, previous
        double value = 0.0
    ends[0] = 0
    with nogil:
        while p < stop:
            p = skip_spaces(p)
            if p[0] != c'#' and p[0] != c'\n' and p < stop:
                p = read_number(p, &labels[rows])
                previous = -1
                while p != NULL:
                    p = skip_spaces(p)
                    if ends_token(p[0]):
                        break
                    p = read_index(p, &index)
                    if p == NULL or index <= previous:
                        p = NULL
                        break
                    p = read_number(p, &value)
                    indices[filled], values[filled] = <int>index, value
                    previous = index
                    filled += 1
                if p == NULL:
                    rows = -1
                    break
                rows += 1
                ends[rows] = <int>filled
            while p < stop and p[0] != c'\n':
                if p[0] == 0:
                    rows = -1
                    break
                p += 1
            if rows < 0:
                break
            p += 1
    return rows
