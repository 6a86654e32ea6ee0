# dradash: `make demo` looks at a simulated cluster, `make test` runs everything.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo up test lint format bench screenshots lock chromium clean

help:
	@echo "make demo    a simulated cluster on http://127.0.0.1:8000/ (ARGS='--port 8001 --scenario NAME' changes that)"
	@echo "make up      the cluster of the current kubeconfig"
	@echo "make test    every test; finds or installs Chromium for those in a browser"
	@echo "make lint    ruff, mypy, import contracts, templates"
	@echo "make format  what ruff can mend by itself"
	@echo "make bench   the figures of the README"
	@echo "make screenshots    the pictures in docs/screenshots, taken of the demo"
	@echo "make lock    pin requirements/*.txt anew"
	@echo "make chromium    only find or install the browser of the tests"
	@echo "make clean   remove the environment and all caches"

demo: $(VENV)/.run-installed
	@$(BIN)/python manage.py up --demo $(ARGS)

up: $(VENV)/.run-installed
	@$(BIN)/python manage.py up $(ARGS)

# pytest's summary is the last line of the output.
test: $(VENV)/.dev-installed
	@.ci/tests $(BIN)/python $(ARGS)

lint: $(VENV)/.dev-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/djlint --lint --quiet templates

format: $(VENV)/.dev-installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev-installed
	@for script in bench/[a-z]*.py; do echo "== $$script" && $(BIN)/python $$script $(ARGS) || exit 1; done

screenshots: $(VENV)/.dev-installed
	@CHROMIUM="$$(.ci/chromium)" && export CHROMIUM && $(BIN)/python -m tests.browser.screenshots $(ARGS)

# No hashes and no index address: the same files serve a mirror.
lock: $(BIN)/uv
	$(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --no-header --no-emit-index-url --no-annotate -q -o requirements/run.txt
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --no-header --no-emit-index-url --no-annotate -q -o requirements/dev.txt

chromium: $(VENV)/.dev-installed
	@.ci/chromium

clean:
	rm -rf $(VENV) build dist staticfiles .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(BIN)/uv: | $(VENV)/bin/python
	@$(BIN)/python -m pip install -q --disable-pip-version-check uv

# The stamps make the second start quick: pip runs only when the pinned versions have changed.
$(VENV)/bin/python:
	@.ci/venv "$(PYTHON)" "$(VENV)"

$(VENV)/.run-installed: requirements/run.txt | $(VENV)/bin/python
	@echo "installing what dradash needs into $(VENV) (first time only)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements/run.txt
	@touch $@

$(VENV)/.dev-installed: requirements/dev.txt | $(VENV)/bin/python
	@echo "installing what the tests need into $(VENV) (first time only)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements/dev.txt
	@touch $@ $(VENV)/.run-installed
