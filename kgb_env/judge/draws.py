"""Statistics for random outputs: does a sample follow its law, and are its elements independent?

Every test gives a p-value; a sample is doubted below 1e-6, and a submission is rejected only when two
independent samples are doubted by the same test.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from scipy import stats

from kgb_env.operators.model import Drawn

__all__ = ["P_LIMIT", "impossible", "p_values"]

P_LIMIT = 1e-6
_LEAST_VARIANCE = 10.0
"""Summed variance below which the normal approximation of a sum is not trusted."""
_TAIL = 5.0
"""Standard deviations taken off a lagged correlation: its tails are heavy, and it is the largest of many."""
_LEAST_LAGGED = 256
"""Elements below which lags are not looked at."""


def impossible(law: Drawn, sample: torch.Tensor) -> torch.Tensor:
    """Return where a value cannot come from the law: outside the support, or off a certain value."""
    values = sample.double()
    bad = ~values.isfinite()
    if law.support is not None:
        allowed = torch.zeros_like(bad)
        for value in law.support:
            allowed |= values == value
        bad |= ~allowed
    return bad | ((law.variance == 0) & (values != law.mean))


def _two_sided(z: float) -> float:
    return math.erfc(abs(z) / math.sqrt(2.0))


def p_values(law: Drawn, sample: torch.Tensor) -> Mapping[str, float]:
    """Return p-values by test: mean, trend (does it follow each element's own mean), lags, and ks."""
    uncertain = law.variance > 0
    values, mean, variance = (x[uncertain].double() for x in (sample.double(), law.mean, law.variance))
    total = float(variance.sum())
    found: dict[str, float] = {}
    if law.cdf is not None and values.numel() >= 8:
        found["ks"] = float(stats.kstest(law.cdf(sample.double())[uncertain].flatten().numpy(), "uniform").pvalue)
    if total < _LEAST_VARIANCE:
        return found
    off = values - mean
    found["mean"] = _two_sided(float(off.sum()) / math.sqrt(total))
    tilt = mean - mean.mean()
    spread = float((variance * tilt.square()).sum())
    if spread > 1e-3 * total:
        found["trend"] = _two_sided(float((off * tilt).sum()) / math.sqrt(spread))
    found["lags"] = _lags(off / variance.sqrt())
    return found


def _lags(standard: torch.Tensor) -> float:
    """Correlate elements at every distance: a kernel that repeats its block repeats its draws."""
    count = standard.numel()
    if count < _LEAST_LAGGED:
        return 1.0
    length = 1 << (2 * count - 1).bit_length()  # zeros enough that nothing wraps around
    spectrum = torch.fft.rfft(standard, n=length)
    correlation = torch.fft.irfft(spectrum * spectrum.conj(), n=length)[1 : count - _LEAST_LAGGED // 2]
    overlap = torch.arange(count - 1, _LEAST_LAGGED // 2, -1, dtype=torch.float64)
    worst = float((correlation.abs() / overlap.sqrt()).max())
    return _two_sided(max(0.0, worst - _TAIL))
