"""What a finder sees: items, findings, their fates."""

from __future__ import annotations

from .base import EventBase


class ItemQueued(EventBase, frozen=True, kw_only=True):
    key: str
    kind: str
    value: str
    source: str
    reason: str
    """`seed`, `new`, `retry`, `regressed` or `person`."""


class ItemDuplicate(EventBase, frozen=True, kw_only=True):
    key: str
    source: str


class ItemFailed(EventBase, frozen=True, kw_only=True):
    key: str
    error: str
    attempts: int
    final: bool


class FindingReported(EventBase, frozen=True, kw_only=True):
    key: str
    title: str
    detail: str = ""
    evidence: str = ""
    source: str = ""


class FindingJudged(EventBase, frozen=True, kw_only=True):
    key: str
    verdict: str
    """`confirmed` or `refuted`."""
    by: str
    reasons: list[str] = []
