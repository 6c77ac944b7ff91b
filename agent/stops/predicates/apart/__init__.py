"""What runs in the predicate's process and in the process of the code under test. Imports nothing of rundry.

The sources reach these processes as text: a sandbox may hide the folder in which rundry itself is installed.
"""
