"""The passes of a run: their start, verdict, commit and roll-back."""
