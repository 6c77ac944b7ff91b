"""The tools of the model, as far as layers below `agent/tools` must know them."""
