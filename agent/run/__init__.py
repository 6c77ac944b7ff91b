"""Drive a run: the runner process, the loop in it, and the client side for views.

Import modules by name, because a screen needs `client.run_session` and must not load the imports of `process.runner`.
"""
