"""The two lines at the top of the screen: the task and what works on it, and the meters."""
