"""Images of a run, and a chat that has some."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fakes.pictures import gif, jpeg, png, webp

from rundry.agent.journal.journal import Journal
from rundry.agent.models.images.attach import attach
from rundry.agent.protocol import (
    Say,
)

PICTURES = {"a.png": png(), "b.jpg": jpeg(), "c.gif": gif(), "d.webp": webp()}


def kept(run: Any, text: str) -> Say:
    """The message as a view puts it: the bytes of its images are in the journal."""
    images = attach(text, Path(run.spec.workspace))
    journal = Journal.open(run.path)
    for one in images:
        journal.blobs.keep(one.data)
    journal.close()
    return Say(text=text, images=[one.ref for one in images])


def images_of(request: Any) -> list[str]:
    return [image.name for message in request.messages for image in message.images]
