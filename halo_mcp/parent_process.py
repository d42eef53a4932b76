"""Ends a child process with the process that started it."""

import multiprocessing
import os
import signal
import threading


def end_with_parent() -> None:
    """Sends SIGTERM to this process when its parent ends, however that ends.

    An orphan would go on with old settings and old code. Does nothing in a process that
    multiprocessing has not started.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait_for_end() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait_for_end, daemon=True).start()
