"""Item keys, the frontier that stores items, and the search that works them."""

from .items.frontier import CHUNK, Frontier, in_chunks
from .items.item_state import Candidate, Counts, Item, Named, Row, State, Surfaced
from .items.keys import file_of, item_key, storable, url_key
from .items.view import FrontierView

__all__ = [
    "CHUNK",
    "Candidate",
    "Counts",
    "Frontier",
    "FrontierView",
    "Item",
    "Named",
    "Row",
    "State",
    "Surfaced",
    "file_of",
    "in_chunks",
    "item_key",
    "storable",
    "url_key",
]
