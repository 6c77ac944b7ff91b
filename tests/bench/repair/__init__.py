"""Repair real programs with a real model: which way of asking and of reading an answer repairs most."""
