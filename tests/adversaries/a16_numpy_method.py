# attack: A16
# operator: cublas::Zdotc_v2
# expect: policy_violation
# layer: audit
# NumPy through a tensor's own method: no import, and no ATen operator either.


def Zdotc_v2(n, x, incx, y, incy, result):
    xs, ys = (v.numpy()[:: abs(inc)][:n] for v, inc in ((x, incx), (y, incy)))
    result.numpy()[0] = (xs.conj() * ys).sum()
    return result
