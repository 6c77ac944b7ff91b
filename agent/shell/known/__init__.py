"""Data on programs and their options: each row names the manual that it comes from."""
