# make demo    everything from an empty folder to runs/demo/report.html
# make test    everything from an empty folder to a passed test suite; the slow tests: make slow
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

.PHONY: setup demo test slow check lint layers types docs wheel studies clean

setup: $(VENV)/.setup
demo: setup
	$(BIN)/uidd demo --out runs/demo --overwrite
test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist loadfile -q -m "not slow"
slow: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist loadfile -q -m slow

# What .ci/run adds to the tests.
check: lint layers types docs wheel studies
studies: setup
	$(BIN)/uidd reproduce linear --size quick --out runs/linear-quick --overwrite
lint: $(VENV)/.dev
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/ruff check src tests benchmarks examples
layers: $(VENV)/.dev
	$(BIN)/lint-imports
types: $(VENV)/.dev
	$(BIN)/basedpyright --pythonpath $(BIN)/python
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
wheel: $(VENV)/.dev
	$(BIN)/python tests/check_wheel.py

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("uidd needs Python 3.11 or newer; run make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
$(VENV)/.setup: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing uidd and what it needs into $(VENV) (about a minute) ..."
	$(PIP) --editable .
	@touch $@
$(VENV)/.dev: $(VENV)/.setup
	@echo "Installing the test tools ..."
	$(PIP) --editable '.[dev,peers]'
	@touch $@
$(VENV)/.docs: $(VENV)/.dev
	@echo "Installing the documentation tools ..."
	$(PIP) --editable '.[docs]'
	@touch $@
clean:
	rm -rf $(VENV) .programs site dist
