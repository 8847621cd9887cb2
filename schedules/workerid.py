"""By which name a loop of a process is known in the rows that it holds."""

import os
import socket

from schedules.sessions import log


def new() -> str:
    """A name of its own: two processes of one machine are two, and so is one that started again."""
    return f"{socket.gethostname()}:{os.getpid()}:{log.new_id()[-12:]}"
