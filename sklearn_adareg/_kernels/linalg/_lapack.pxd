# The LAPACK routines in use, with SciPy's signatures: `from ._lapack cimport dpotrf` instead of `from scipy.linalg.cython_lapack`.
cdef void dpotrf(char* uplo, int* n, double* a, int* lda, int* info) noexcept nogil
cdef void dpotri(char* uplo, int* n, double* a, int* lda, int* info) noexcept nogil
cdef void dpotrs(char* uplo, int* n, int* nrhs, double* a, int* lda, double* b, int* ldb, int* info) noexcept nogil
cdef void dsyevd(char* jobz, char* uplo, int* n, double* a, int* lda, double* w, double* work, int* lwork, int* iwork,
                 int* liwork, int* info) noexcept nogil
