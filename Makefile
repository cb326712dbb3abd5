# Everything happens in .venv; only Python 3.11 or newer and make are needed.
#   make run     set up and start the server with its page     make check   the quick gate
#   make test    set up and run every test                     make docs    write the generated pages
#   make bench   measure quality and speed on this machine

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
TEST_HOME := .cache/engram-test-home

.PHONY: run test check docs bench clean

run: $(READY)
	$(BIN)/engram models add e5-small || echo "The model pack could not be added; the built-in embedder serves."
	$(BIN)/engram serve --no-token

test: $(READY)
	$(BIN)/python -m pytest -n auto --dist loadgroup --max-worker-restart=0

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n auto -q --dist loadgroup --max-worker-restart=0 -m "not slow"

docs: $(READY)
	$(BIN)/python scripts/write_reference.py

bench: $(READY)
	$(BIN)/python -m evals.speed
	$(BIN)/python -m evals.locomo --data $${LOCOMO:-../shared/data/locomo-dev.json}

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev
	touch $(READY)

clean:
	rm -rf $(VENV) .cache build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
