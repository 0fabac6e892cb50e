"""``python -m symsets`` is the ``symsets`` command."""

from symsets.cli import main

main()
