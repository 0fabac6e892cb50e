"""Libraries that are imported where they are used."""

import sys
import threading

from symsets._extras import require

SLOW = """
import threading
import gate
gate.begun.set()
gate.go_on.wait(10)
value = 7
"""
GATE = "import threading\nbegun, go_on = threading.Event(), threading.Event()\n"


def test_a_thread_waits_for_a_library_that_another_one_is_importing(tmp_path, monkeypatch):
    (tmp_path / "gate.py").write_text(GATE)
    (tmp_path / "slow_library.py").write_text(SLOW)
    monkeypatch.syspath_prepend(tmp_path)
    gate = require("gate", "all")
    found = []
    first, second = (
        threading.Thread(target=lambda: found.append(require("slow_library", "all").value))
        for _ in range(2)
    )
    first.start()
    assert gate.begun.wait(10)
    second.start()
    second.join(0.2)
    gate.go_on.set()
    for thread in (first, second):
        thread.join(10)
    assert found == [7, 7]
    for name in ("gate", "slow_library"):
        del sys.modules[name]
