import signal
from contextlib import contextmanager

import pytest


class HangError(BaseException):
    """Not an Exception, which readers of files turn into errors of their own."""


@pytest.fixture
def no_hang():
    """End what takes longer than a damaged file may."""

    @contextmanager
    def limited(seconds=60):
        def late(*_):
            raise HangError(f"still busy after {seconds} s")

        before = signal.signal(signal.SIGALRM, late)
        signal.alarm(seconds)
        try:
            yield
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)

    return limited
