"""Count the tests of a check from its output, and compare the counts with those of the baseline."""
