"""Changes and commands of the model at the gate, also those whose proposals outlived their runner."""
