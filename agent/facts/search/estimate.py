"""Estimate how many findings nobody found, from how many were found by exactly one searcher and by exactly two."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

_Z = 1.959964
"""Standard normal deviate of a two-sided interval of 95 %."""


class Richness(msgspec.Struct, frozen=True):
    """The estimated total number of things, found or not, with a 95 % interval."""

    total: float
    low: float
    high: float


def richness(times_found: Sequence[int], searchers: int | None) -> Richness | None:
    """Estimate the total number of things from how many searchers found each; None: nothing was found.

    With `searchers` this is Chao2, for searchers who each find a thing or do not; without, Chao1, for things that are
    counted. If no thing was found exactly twice, the bias-corrected form is used. The estimate is a lower bound: it is
    low if some things are much harder to find than others, or if the searchers look in the same places.

    Sources: A. Chao, Nonparametric estimation of the number of classes in a population, Scandinavian Journal of
    Statistics 11 (1984) 265-270; A. Chao, Estimating the population size for capture-recapture data with unequal
    catchability, Biometrics 43 (1987) 783-791, with the log-normal interval; the variances are those of R. K. Colwell,
    EstimateS User's Guide, appendix B.
    """
    found = [count for count in times_found if count > 0]
    if not found:
        return None
    once, twice = found.count(1), found.count(2)
    share = 1.0 if searchers is None else (searchers - 1) / searchers
    unseen = share * once**2 / (2 * twice) if twice else share * once * (once - 1) / 2
    if unseen > 0:
        return _log_normal(len(found), unseen, _variance(once, twice, share, len(found) + unseen))
    return _bounded_below(len(found), sum(found))


def _variance(once: int, twice: int, share: float, total: float) -> float:
    if twice:
        ratio = once / twice
        return twice * (share * ratio**2 / 2 + share**2 * ratio**3 + share**2 * ratio**4 / 4)
    spread = share * once * (once - 1) / 2 + share**2 * once * (2 * once - 1) ** 2 / 4
    return spread - share**2 * once**4 / (4 * total)


def _log_normal(found: int, unseen: float, variance: float) -> Richness:
    """Compute a log-normal interval, which never goes below the number of found things."""
    factor = math.exp(_Z * math.sqrt(math.log(1 + max(0.0, variance) / unseen**2)))
    return Richness(found + unseen, found + unseen / factor, found + unseen * factor)


def _bounded_below(found: int, times: int) -> Richness:
    """Compute the interval from the mean number of finds per thing, for the case that nothing seems to be missing."""
    missed = math.exp(-times / found)
    variance = found * missed * (1 - missed)
    middle, spread = found / (1 - missed), _Z * math.sqrt(variance) / (1 - missed)
    return Richness(float(found), max(float(found), middle - spread), middle + spread)
