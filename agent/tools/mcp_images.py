"""Keep the images of a result of an MCP server, within the limits of images that a person attaches."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from ..models.images.attach import MAX_IMAGE_BYTES, MAX_IMAGES, POSSIBLE
from ..models.images.image_headers import other_format, read_header
from ..protocol import ImageRef

if TYPE_CHECKING:
    from ..journal.blobs import Blobs


class ResultImages:
    """The images of one result that follow it."""

    def __init__(self, tool: str, blobs: Blobs, blind: str = "") -> None:
        """`blind`: the name of the model, if it does not accept images."""
        self._tool, self._blobs, self._blind = tool, blobs, blind
        self.kept: list[ImageRef] = []

    def take(self, data: str) -> str:
        """Keep an image in base64. Returns whether it is shown, or why not, for a line of the result."""
        why = self._take(data)
        return f"not shown, {why}" if why else f"image {len(self.kept)}, shown after the results"

    def _take(self, data: str) -> str:
        if self._blind:
            return f"because {self._blind} does not accept images"
        if len(self.kept) == MAX_IMAGES:
            return f"because a result has at most {MAX_IMAGES} images"
        if len(data) * 3 // 4 > MAX_IMAGE_BYTES + 2:
            return f"because an image has at most {MAX_IMAGE_BYTES >> 20} MB"
        try:
            content = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            return "because it is not base64"
        header = read_header(content)
        if header is None:
            return f"because it is {other_format(content) or 'not an image'}, not {POSSIBLE}"
        if header.is_broken:
            return "because it is damaged"
        if len(content) > MAX_IMAGE_BYTES:
            return f"because an image has at most {MAX_IMAGE_BYTES >> 20} MB"
        self.kept.append(
            ImageRef(
                sha=self._blobs.keep(content),
                media=header.media,
                name=f"{self._tool} {len(self.kept) + 1}",
                width=header.width,
                height=header.height,
                size=len(content),
            )
        )
        return ""
