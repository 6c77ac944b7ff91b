"""Compare places of the workspace before and after a command, if the sandbox cannot protect them."""
