"""The resources of a run that its steps use. Each class has one duty, and `Kit` holds one object of each."""
