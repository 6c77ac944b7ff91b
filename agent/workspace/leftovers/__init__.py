"""Record the temporary files of writes, and remove those that a killed process left."""
