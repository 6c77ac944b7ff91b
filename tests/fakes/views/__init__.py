"""Played runs for tests of the gate and of the board."""
