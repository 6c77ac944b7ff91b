"""Confirm a result: run its checks in a clean checkout, during the run or after it (docs/requirements.md 2.3.9)."""
