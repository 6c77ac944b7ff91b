"""Code for the predicate's process and the process of the code under test. It imports nothing from rundry.

rundry sends the sources as text, because a sandbox may hide the folder in which rundry is installed.
"""
