"""Runs a run: the one loop, the runner around it, and the view's side of both.

Modules are imported by name: a screen needs `session` and must not load what `runner` needs.
"""
