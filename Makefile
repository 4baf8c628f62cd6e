# Everything runs in a private .venv made with plain venv and pip; nothing is installed globally.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

MATRIX ?= 3.5 4.0

.PHONY: help demo simulate docs test test-system test-matrix test-papers lint types layers unit fuzz chaos reproduce bench clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

$(STAMP): pyproject.toml papers/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[all]" --editable papers --group dev
	@touch $@

demo: $(STAMP) ## count the words of real text on Spark under three groupings; leaves report.html
	$(BIN)/unskew run wordcount -g key -g partial-key -g wrap --workers 8 --delay 0.5 \
	  --batch-rows 40000 --max-batches 5 --warm-up 2 --report report.html

simulate: $(STAMP) ## compare all groupings on a skewed stream and write report.html
	$(BIN)/unskew compare --workers 20 --sources 5 \
	  --stream zipf:keys=100000,exponent=1.4,rows=2000000 --seed 1 --report report.html

docs: $(STAMP) ## build the site into site/: pages, groupings, reference; every link has to lead somewhere
	$(BIN)/python -m pip install --quiet --group docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

test: lint ## all checks of the library: lint, types, import layers, tests
	$(MAKE) --jobs=3 types layers unit

lint: $(STAMP) ## ruff: lint and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP) ## mypy, strict
	$(BIN)/mypy

layers: $(STAMP) ## import-linter: who may import whom
	$(BIN)/lint-imports

# Settings that make the tests faster.
# Java: each JVM lives for about a minute, so only the fast compiler (C1) is worth its time, and
# verifying bytecode would take an eighth of it. Loading Spark's classes takes half of the start:
# one process writes an archive of them, which all others read (-XX:SharedArchiveFile).
# NumPy: the test processes already keep both cores busy, so it gets one thread, and malloc keeps
# freed memory, as getting it from the system again takes longer than most sums over it.
# Python: hundreds of processes start, so bytecode is written to disk.
JAVA_QUICK := -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions \
  -XX:-BytecodeVerificationRemote -Xlog:disable
CLASSES := $(abspath $(VENV))/spark-classes.jsa

# If this fails, tests only take longer.
$(CLASSES): $(STAMP) tests/spark_classes.py
	-JAVA_TOOL_OPTIONS="$(JAVA_QUICK)" \
	  PYSPARK_SUBMIT_ARGS="--driver-java-options -XX:ArchiveClassesAtExit=$@ pyspark-shell" \
	  $(BIN)/python -m tests.spark_classes

# Its claims are about times, so it runs alone.
ON_SPARK := papers/tests/test_figures_on_spark.py
SYSTEM := slow or cluster or kafka or browser

unit test-system test-papers: export JAVA_TOOL_OPTIONS := $(JAVA_QUICK) -XX:SharedArchiveFile=$(CLASSES)
unit test-system test-papers: export OMP_NUM_THREADS := 1
unit test-system test-papers: export MALLOC_MMAP_THRESHOLD_ := 67108864
unit test-system test-papers: export MALLOC_TRIM_THRESHOLD_ := 536870912
unit test-system test-papers: export PYTHONDONTWRITEBYTECODE :=
unit: $(STAMP) $(CLASSES) ## tests and doctests of the library that need no cluster, broker or browser
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -m "not ($(SYSTEM))"

test-system: $(STAMP) $(CLASSES) ## tests with clusters, brokers, browsers, Spark Connect and whole applications
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder tests -m "$(SYSTEM)"

test-matrix: export JAVA_TOOL_OPTIONS := $(JAVA_QUICK)
test-matrix: export OMP_NUM_THREADS := 1
test-matrix: $(STAMP) ## what must hold on every version of Spark, on MATRIX="3.5 4.0", with the oldest libraries
	$(BIN)/python -m tests.matrix $(MATRIX)

test-papers: $(STAMP) $(CLASSES) ## tests of the papers' experiments, at a small size
	$(BIN)/python -m pytest -n 2 --dist worksteal papers --ignore $(ON_SPARK)
	$(BIN)/python -m pytest $(ON_SPARK)

FUZZ_SECONDS ?= 300
fuzz: $(STAMP) ## damage what readers read, and call compiled loops with anything, for FUZZ_SECONDS
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS) $(if $(FUZZ_CASES),--cases $(FUZZ_CASES))

CHAOS_RUNS ?= 30
CHAOS_SEED ?= 1
chaos: $(STAMP) ## run CHAOS_RUNS jobs of all verbs on a cluster whose executors fail, from CHAOS_SEED on
	$(BIN)/python -m tests.chaos --runs $(CHAOS_RUNS) --seed $(CHAOS_SEED)

reproduce: $(STAMP) ## check the papers' tables and figures at a small size; leaves results/index.html
	$(BIN)/unskew reproduce all --jobs 2 --report results/index.html

bench: $(STAMP) ## measure speed, every figure as a ratio to a baseline in the same run
	$(BIN)/python -m benchmarks

clean: ## remove the environment and everything generated
	rm -rf $(VENV) .matrix .pytest_cache .mypy_cache .ruff_cache .hypothesis report.html results
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
