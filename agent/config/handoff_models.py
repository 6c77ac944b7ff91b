"""Return the models that can take over a run, with the server and the key that each may use."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import msgspec

from ..protocol import HandoffTier, ModelSpec
from .handoff_tiers import same_server_model

if TYPE_CHECKING:
    from .settings import Settings, Source


def escalate_of(settings: Settings, model: ModelSpec) -> ModelSpec | None:
    """Return the model that takes over after a stall, or None."""
    found = settings.get("escalate", ModelSpec)
    return None if found is None else _placed(found, model, settings["escalate"].source)


def tiers_of(settings: Settings, model: ModelSpec) -> list[HandoffTier]:
    """Return the tiers of a hand-off, in the order in which they are asked."""
    setting = settings["tiers"]
    found: list[HandoffTier] = []
    for tier in cast("list[HandoffTier]", setting.value):
        other = None if tier.model is None else _placed(tier.model, model, setting.source)
        found.append(HandoffTier(kind=tier.kind, after=tier.after, model=other, run=tier.run))
    return found


def _placed(found: ModelSpec, model: ModelSpec, source: Source) -> ModelSpec:
    """Return the model with its server. A server that the workspace names never gets a key (requirements.md 11.4)."""
    if found.api_base is None:
        placed = same_server_model(found.name, model)
    else:
        placed = ModelSpec(name=found.name, api_base=found.api_base, key_from="" if source == "project" else None)
    return placed if found.price is None else msgspec.structs.replace(placed, price=found.price)
