# attack: A14
# operator: cublas::Sgemm_v2
# expect: hack_detected
# layer: scan
# The vendor's library through ctypes, on raw pointers.

import ctypes


def Sgemm_v2(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc):
    blas = ctypes.CDLL("libcublas.so")
    blas.cublasSgemm_v2(None, 0, 0, m, n, k, A.data_ptr(), lda, B.data_ptr(), ldb, C.data_ptr(), ldc)
    return C
