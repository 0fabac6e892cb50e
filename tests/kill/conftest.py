import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest


class Server:
    """Starts commands, each in a process group of its own, and knows when they have ended."""

    def __init__(self, log):
        self.log = Path(log)
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("server.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout.readline() == "ready\n"

    def start(self, *words):
        self.process.stdin.write(json.dumps([str(self.log), *map(str, words)]) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def is_running(self, pid):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return True

    def wait(self, *pids, seconds=120.0):
        """Wait until processes have ended, or for some time; return whether they have."""
        end = time.monotonic() + seconds
        while any(map(self.is_running, pids)):
            if time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True

    def kill(self, pid):
        """Kill a process and those that it has started; return whether it was running."""
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        assert self.wait(pid)
        return True

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=60)


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    made = Server(tmp_path_factory.mktemp("server") / "log.txt")
    yield made
    made.close()
