"""Success predicates other than a check: a file, a function, a schema of the answer, required actions."""
