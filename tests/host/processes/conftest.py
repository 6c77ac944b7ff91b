"""Fixtures of several files of this folder."""

import os

import pytest

from rundry.agent.sandbox.command_environment import command_env


@pytest.fixture
def env():
    return command_env(os.environ)
