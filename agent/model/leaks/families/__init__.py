"""Readers for families of models. Each starts after the opening tag and raises Refused for plain text."""
