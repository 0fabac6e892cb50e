"""Hold the files of a release to their sizes: ``python release/sizes.py dist``."""

import sys
from pathlib import Path

LIMITS = {"*.tar.gz": 3, "*.whl": 25}  # in MB

for pattern, limit in LIMITS.items():
    [file] = Path(sys.argv[1]).glob(pattern)
    size = file.stat().st_size / 1e6
    print(f"{file.name}: {size:.2f} MB of {limit}")
    if size > limit:
        sys.exit(f"{file.name} must have at most {limit} MB, got {size:.2f}")
