"""Record the approved state of guarded files by digest, compare the files with it, and restore it."""
