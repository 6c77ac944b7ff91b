"""The demo: a scripted model and a small project with failing tests, for a first look without key or network."""

from .project_copy import CHECK, MODEL, TASK, DemoRun, copy_project

__all__ = ["CHECK", "MODEL", "TASK", "DemoRun", "copy_project"]
