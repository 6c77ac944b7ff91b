"""Changes and commands of the model at the gate, including proposals that outlived their runner."""
