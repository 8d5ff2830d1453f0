"""Ports for servers that tests start."""

from __future__ import annotations

import contextlib
import random
import socket


def free_port() -> int:
    """A port of this machine that nothing listens on, and that no connection of another process is given meanwhile: systems take
    those from above 32,768.
    """
    for port in random.Random().sample(range(20_000, 30_000), 100):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("a hundred ports between 20,000 and 30,000 are taken")
