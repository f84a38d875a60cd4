"""LAPACK once for all kernels: SciPy declares 1,400 routines, and Cython reads them all for every module that cimports one."""
from scipy.linalg cimport cython_lapack as lapack


cdef void dpotrf(char* uplo, int* n, double* a, int* lda, int* info) noexcept nogil:
    lapack.dpotrf(uplo, n, a, lda, info)


cdef void dpotri(char* uplo, int* n, double* a, int* lda, int* info) noexcept nogil:
    lapack.dpotri(uplo, n, a, lda, info)


cdef void dpotrs(char* uplo, int* n, int* nrhs, double* a, int* lda, double* b, int* ldb, int* info) noexcept nogil:
    lapack.dpotrs(uplo, n, nrhs, a, lda, b, ldb, info)


cdef void dsyevd(char* jobz, char* uplo, int* n, double* a, int* lda, double* w, double* work, int* lwork, int* iwork,
                 int* liwork, int* info) noexcept nogil:
    lapack.dsyevd(jobz, uplo, n, a, lda, w, work, lwork, iwork, liwork, info)
