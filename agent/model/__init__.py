"""Models: litellm behind `protocol.Model`, prices, windows, token counts, what is reachable here, and the demo.

Importing this folder imports no third party but msgspec; litellm comes with `open_model` or `warm`.
"""

from .adapter import LiteModel, Patience, close_connections
from .counting import Counter
from .demo import DemoRun, lay_out
from .discovery import KeyFound, ModelLine, ServerFound, Survey, discover
from .endpoint import KEY_NAMES, is_local_server
from .library import warm
from .nobody import NOBODY, NoModel
from .opening import ASSUMED_WINDOW, OUTPUT_CAP, open_model
from .prices import price_of

__all__ = [
    "ASSUMED_WINDOW",
    "KEY_NAMES",
    "NOBODY",
    "OUTPUT_CAP",
    "Counter",
    "DemoRun",
    "KeyFound",
    "LiteModel",
    "ModelLine",
    "NoModel",
    "Patience",
    "ServerFound",
    "Survey",
    "close_connections",
    "discover",
    "is_local_server",
    "lay_out",
    "open_model",
    "price_of",
    "warm",
]
