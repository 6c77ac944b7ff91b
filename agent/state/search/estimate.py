"""Estimate how many things nobody found, from how many of several looks found each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

FEWEST_LOOKS = 4
"""Below four inspectors, no estimate of this kind was accurate for the defects of inspected documents."""
_LEAST_OVERLAP = 0.5
"""Share of the finds of things that more than one look found, below which the looks seem to look for other things."""
_MEANS = [step / 20 for step in range(1, 20)]
_SPREADS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 10_000.0)
"""From things that are found always or never to things that are all equally hard to find."""
_ALL, _MOST = 200, 40
"""Numbers of unseen things are tried one by one up to the first, then in steps up to this multiple of those found."""
_UNLIKELY = 12.0
"""Difference of logarithms below which a number does not count any more."""


class Richness(msgspec.Struct, frozen=True):
    """The estimated total number of things, found or not, with a 95 % interval."""

    total: float
    low: float
    high: float


def richness(times_found: Sequence[int], looks: int) -> Richness | None:
    """Estimate the total number of things from how many looks found each.

    None means too few looks, or they hardly overlap. Each look must be able to find each thing, with a chance that may
    differ from thing to thing (the model M_h). If each looks for something else, nearly all things are found once, and
    any estimate grows without a thing being missed; so there is none for looks that did not mostly find the same
    things.

    The chances of the things have a beta distribution. Its mean and its spread are unknown and averaged over, as is
    the total with the prior 1/N; the result is the median, with the middle 95 % of the posterior. The lower bound of
    Chao, which was used before, held the truth in 25 to 95 % of simulations with looks of one kind.

    Sources: R. M. Dorazio, J. A. Royle, Mixture models for estimating the size of a closed population when capture
    rates vary among individuals, Biometrics 59 (2003) 351-364; for the number of looks: L. C. Briand, K. El Emam,
    B. G. Freimut, O. Laitenberger, A comprehensive evaluation of capture-recapture models for estimating software
    defect content, IEEE Transactions on Software Engineering 26 (2000) 518-540.
    """
    found = sorted(count for count in times_found if count > 0)
    if looks < FEWEST_LOOKS or not found or 1 - found.count(1) / sum(found) < _LEAST_OVERLAP:
        return None
    return _posterior(tuple(found), looks)


@lru_cache(maxsize=64)
def _posterior(found: tuple[int, ...], looks: int) -> Richness:
    counted = [found.count(times) for times in range(looks + 1)]
    cells = [(sum(n * log for n, log in zip(counted, logs, strict=True)), logs[0]) for logs in _chances(looks)]
    best_cell = max(log for log, _ in cells)
    likely = [(log - best_cell, unseen) for log, unseen in cells if log > best_cell - 40.0]
    weights = list(_weights(len(found), likely))
    top = max(log for _, log, _ in weights)
    mass = [(total, math.exp(log - top) * width) for total, log, width in weights]
    whole = sum(share for _, share in mass)
    median, low, high = (_quantile(mass, part * whole) for part in (0.5, 0.025, 0.975))
    return Richness(median, low, high)


def _weights(found: int, cells: Sequence[tuple[float, float]]) -> Iterator[tuple[int, float, int]]:
    """Yield total numbers with the logarithm of their weight, and how many numbers each stands for."""
    total, best = found, -math.inf
    while total <= found * _MOST + _ALL:
        logs = [log + (total - found) * unseen for log, unseen in cells]
        top = max(logs)
        inside = top + math.log(sum(math.exp(log - top) for log in logs))
        weight = math.lgamma(total + 1) - math.lgamma(total - found + 1) - math.log(total) + inside
        best = max(best, weight)
        width = 1 if total < found + _ALL else max(1, (total - found) // 50)
        yield total, weight, width
        if weight < best - _UNLIKELY:
            return
        total += width


def _quantile(mass: Sequence[tuple[int, float]], part: float) -> float:
    reached = 0.0
    for total, share in mass:
        reached += share
        if reached >= part:
            return float(total)
    return float(mass[-1][0])


@lru_cache(maxsize=16)
def _chances(looks: int) -> list[list[float]]:
    """Return, for each mean and spread, the logarithms of the chances to be found by 0 to all looks."""
    found: list[list[float]] = []
    for mean in _MEANS:
        for spread in _SPREADS:
            hit, miss = mean * spread, (1 - mean) * spread
            found.append([_log_beta_binomial(times, looks, hit, miss) for times in range(looks + 1)])
    return found


def _log_beta_binomial(times: int, looks: int, hit: float, miss: float) -> float:
    ways = math.lgamma(looks + 1) - math.lgamma(times + 1) - math.lgamma(looks - times + 1)
    return ways + _log_beta(hit + times, miss + looks - times) - _log_beta(hit, miss)


def _log_beta(one: float, other: float) -> float:
    return math.lgamma(one) + math.lgamma(other) - math.lgamma(one + other)
