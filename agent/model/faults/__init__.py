"""What went wrong in a call, as a `ModelFault` that `step` can act on: the right kind, the provider's own sentence."""

from .direct import Refused, of_body, of_exception, of_stream
from .raised import fault_of
from .said import Said, read_error

__all__ = ["Refused", "Said", "fault_of", "of_body", "of_exception", "of_stream", "read_error"]
