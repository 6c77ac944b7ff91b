"""Find, recognize, read and describe the images in a user's messages."""

from .attach import MAX_IMAGE_BYTES, MAX_IMAGES, Attached, attach, can_be_attached, check_attached, looks_like_picture
from .mentions import Mention, dropped_paths, mention_of, mentions
from .words import no_images_message, without_images

__all__ = [
    "MAX_IMAGES",
    "MAX_IMAGE_BYTES",
    "Attached",
    "Mention",
    "attach",
    "can_be_attached",
    "check_attached",
    "dropped_paths",
    "looks_like_picture",
    "mention_of",
    "mentions",
    "no_images_message",
    "without_images",
]
