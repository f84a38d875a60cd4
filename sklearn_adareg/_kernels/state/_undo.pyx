"""What a round overwrites before it is certain to stand, so that it can be put back."""
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy


cdef class UndoLog:
    """Copies of numbers, in the order in which they were saved; ``clear`` it when a round begins.

    Rounds that change the state early are rare (units grow), so the log is short, and its
    memory is taken when it is first needed.
    """

    def __dealloc__(self):
        free(self.entries)
        free(self.copies)

    cdef void save(self, double* array, Py_ssize_t n, Py_ssize_t stride=1) noexcept nogil:
        """Copy n numbers, each ``stride`` after the one before it. Without memory the process could not go on anyway: ``failed``."""
        cdef Py_ssize_t i, wanted
        cdef void* grown
        if self.count == self.room:
            wanted = 2 * self.room + 16
            grown = realloc(self.entries, wanted * sizeof(Entry))
            if grown == NULL:
                self.failed = True
                return
            self.entries, self.room = <Entry*> grown, wanted
        if self.size + n > self.capacity:
            wanted = 2 * self.capacity + n
            grown = realloc(self.copies, wanted * sizeof(double))
            if grown == NULL:
                self.failed = True
                return
            self.copies, self.capacity = <double*> grown, wanted
        self.entries[self.count] = Entry(array, n, stride, self.size)
        if stride == 1:
            memcpy(self.copies + self.size, array, n * sizeof(double))
        else:
            for i in range(n):
                self.copies[self.size + i] = array[i * stride]
        self.count += 1
        self.size += n

    cdef void restore(self) noexcept nogil:
        """Put everything back, the last first."""
        cdef Py_ssize_t i, k
        cdef Entry entry
        for k in range(self.count - 1, -1, -1):
            entry = self.entries[k]
            for i in range(entry.n):
                entry.array[i * entry.stride] = self.copies[entry.at + i]
        self.clear()
