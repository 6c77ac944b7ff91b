"""A review: the diff as text in parts, and where a finding lies in it."""
