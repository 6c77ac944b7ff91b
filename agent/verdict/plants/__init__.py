"""Plant faults in the code under test, to see whether a check fails on them."""
