"""All events of a run, as one closed union (`union.py`), with their encoding (`stamped.py`)."""
