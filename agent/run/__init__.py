"""Run a run: the loop, the runner process around it, and the client side for views.

Modules are imported by name: a screen needs `session` and must not load what `runner` needs.
"""
