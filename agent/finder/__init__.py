"""What a finder works on: items and their keys, and the frontier that remembers them."""

from .keys import KINDS, file_of, item_key, storable, url_key

__all__ = ["KINDS", "file_of", "item_key", "storable", "url_key"]
