"""Passes, tries and items: units of a run that work in a layer or a copy of the workspace."""
