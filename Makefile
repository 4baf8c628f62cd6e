# Everything runs in a private .venv made with plain venv and pip; nothing is installed globally.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help demo simulate test lint types layers unit bench clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 12

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group dev
	@touch $@

demo: $(STAMP) ## a skewed job on real Spark, placed in three ways; then simulate
	$(BIN)/python examples/spark_demo.py
	$(MAKE) --no-print-directory simulate

simulate: $(STAMP) ## compare all groupings on a skewed stream and write report.html
	$(BIN)/unskew compare --workers 20 --sources 5 \
	  --stream zipf:keys=100000,exponent=1.4,messages=2000000 --seed 1 --report report.html

test: lint types layers unit ## all checks: lint, types, import layers, tests

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

layers: $(STAMP)
	$(BIN)/lint-imports

# Each of the many Java processes lives for a minute: what they compile best comes too late.
unit: $(STAMP)
	JAVA_TOOL_OPTIONS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" \
	  $(BIN)/python -m pytest -n 2 --dist loadfile

bench: $(STAMP) ## measure speed, every figure as a ratio to a baseline in the same run
	$(BIN)/python -m benchmarks

clean: ## remove the environment and everything generated
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis report.html
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
