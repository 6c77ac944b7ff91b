"""The files of a workspace on a worker that does not share it: named by digest, sent once, verified on arrival."""
