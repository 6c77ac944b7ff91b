"""What a command would change, as one proposal at the gate (decision 0039)."""
