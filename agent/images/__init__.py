"""Images in a person's messages: find, recognize, read and describe them."""

from .attach import MOST, MOST_BYTES, Attached, attach, can_be_attached, check_attached, looks_like_picture
from .mentions import Mention, as_mention, dropped, mentions
from .words import no_images, without_images

__all__ = [
    "MOST",
    "MOST_BYTES",
    "Attached",
    "Mention",
    "as_mention",
    "attach",
    "can_be_attached",
    "check_attached",
    "dropped",
    "looks_like_picture",
    "mentions",
    "no_images",
    "without_images",
]
