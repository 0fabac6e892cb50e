# Every target sets up what it needs by itself: a virtual environment in .venv with the versions
# pinned in constraints.txt. Nothing is installed twice.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help setup demo test fuzz lint types check coverage format bench numbers docs release clean

help:  ## Show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 10

setup: $(READY)  ## Make the virtual environment

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "symsets needs Python 3.11 or newer; try: make PYTHON=python3.12"; exit 1; }
	@echo "Setting up $(VENV) (a minute or two, once) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $(READY)

demo: $(READY)  ## Run the main job: why early aggregation matters, in tables and pictures
	@$(BIN)/symsets run signals --preset quick --out runs/demo
	@printf '\nAnd with pictures: six colour channels of two photographs, shuffled; which belong together, and what\nare the colours? Two networks that were trained for it, on pictures they have never seen.\n\n'
	@$(BIN)/symsets evaluate results/colors --data embedded --sets 8 --out runs/demo-colors
	@printf '\nAnd a tool: five shots of one scene, each with noise, shifted and turned, become one picture.\n\n'
	@$(BIN)/python examples/merge_a_burst.py

test: lint types check  ## Lint, format check, types and the whole test suite

fuzz: $(READY)  ## Thousands of damaged files, odd calls and killed studies (about a quarter of an hour)
	$(BIN)/python -m pytest -n 2 --dist worksteal --large tests/fuzz tests/kill

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

# Coverage takes half as long again, so it is asked for by CI and by make coverage.
COVERAGE := --cov --cov-report=term:skip-covered --cov-fail-under=95

check: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal $(if $(CI),$(COVERAGE))

coverage: $(READY)  ## The test suite with its coverage, which must be 95 %
	$(BIN)/python -m pytest -n 2 --dist worksteal $(COVERAGE)

format: $(READY)  ## Format the code and sort the imports
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)  ## Measure what the layers cost
	$(BIN)/python benchmarks/layer_cost.py

# Notebooks run in the build, examples with >>> as doctests before it. -a and -E build all anew: Sphinx would lose entries of
# the index, and so search words, of pages that have not changed.
numbers: $(READY)  ## Write what results/ holds into the pages of docs/, and draw their figures
	$(BIN)/python docs/measurements.py
	$(BIN)/python docs/figures/concepts.py

docs: $(READY)  ## Build the documentation in site/ (about three minutes)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	$(BIN)/python -m pytest -q docs
	$(BIN)/python -m sphinx -a -E -W --keep-going -j 2 -q -d docs/generated/doctrees docs site
	@echo "open site/index.html"

# The wheel is built from this folder and not from the source distribution, which has no weights.
release: $(READY)  ## Build the package, check it, and try it in an environment of its own
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check build twine
	rm -rf dist build/bare
	$(BIN)/python -m build --sdist --wheel
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python release/sizes.py dist
	$(PYTHON) -m venv build/bare
	build/bare/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "$$(ls dist/*.whl)[all]"
	release/try_commands.sh build/bare/bin/symsets

clean:  ## Remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .coverage build dist site docs/generated jupyter_execute
