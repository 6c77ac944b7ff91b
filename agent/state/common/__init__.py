"""The folds that the runner and the views share: usage, proposals and questions, queue, hand-off, manual control."""
