"""Turn errors of a model call into a `ModelFault` that `step` can act on, with its kind and the provider's words."""

from .direct import HttpRefusal, of_body, of_exception, of_stream
from .raised import fault_of
from .reported import ReportedError, read_error

__all__ = ["HttpRefusal", "ReportedError", "fault_of", "of_body", "of_exception", "of_stream", "read_error"]
