"""A user who works in a workspace while runs change it: nothing of theirs changes unless somebody accepted it."""
