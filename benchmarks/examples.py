"""What the examples that tutorials cite reach.

Run ``python benchmarks/examples.py [NAMES…] [--out FILE.json]``: each example runs as a program of
its own, with its own seed and sizes, and every number that it prints after words is kept under
these words (``test accuracy 0.944`` as ``"test accuracy": 0.944``).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

from kept import keep

EXAMPLES = Path(__file__).parent.parent / "examples"
CITED = ("bags_of_digits", "bags_of_features", "best_photo", "sets_of_graphs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=CITED)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found = {}
    for name in options.names:
        start = time.perf_counter()
        command = [sys.executable, str(EXAMPLES / f"{name}.py")]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        numbers = re.findall(r"([A-Za-z][A-Za-z0-9 ]*):? ([01]\.\d+)\b", printed)
        seconds = round(time.perf_counter() - start)
        found[name] = {words: float(value) for words, value in numbers} | {"seconds": seconds}
        print(name, found[name])
    keep(options.out, examples=found)


if __name__ == "__main__":
    main()
