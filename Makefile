# One word a command, the same by hand and in CI. Needs: make, a shell, Python 3.11 or newer.
PY     := .venv/bin/python
STAMP  := .venv/.setup-done
# What set-up depends on; its checksum in the stamp lets every later start skip set-up without network.
INPUTS := pyproject.toml constraints.txt resources/setup.py resources/jars.py resources/java.py
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHONUNBUFFERED := 1
WAREHOUSE ?= warehouse

.DEFAULT_GOAL := help
.PHONY: help setup set-up-now demo test check fmt bench slow ui clean

help:
	@echo 'HAMLET on Spark. Every target sets up what it needs, once.'
	@echo
	@echo '  make demo    the main job on generated ride-sharing events, into $(WAREHOUSE)/'
	@echo '  make ui      the Dagster pages of that warehouse (stop with Ctrl-C)'
	@echo '  make test    all tests that CI runs: core first, then Spark, Dagster, browser'
	@echo '  make check   lint, format and types'
	@echo '  make fmt     format the code'
	@echo '  make slow    long differential and soak runs'
	@echo '  make bench   benchmarks'
	@echo '  make setup   .venv with all dependencies, Java if there is none, the Delta JARs'
	@echo '  make clean   remove caches and the demo warehouse (keeps .venv)'
	@echo
	@echo 'Settings: WAREHOUSE=dir, PYTHON=python3.12, HAMLET_JARS=dir with the Delta JARs.'

setup:
	@wanted="$$(cat $(INPUTS) | cksum)$$(pwd -P)"; \
	if [ -x $(PY) ] && [ "$$(cat $(STAMP) 2>/dev/null)" = "$$wanted" ]; then exit 0; fi; \
	$(MAKE) --no-print-directory set-up-now && printf '%s' "$$wanted" > $(STAMP)

set-up-now:
	@echo '[1/4] Python'; \
	python=''; \
	for candidate in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
	  if "$$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	  then python="$$candidate"; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo 'No Python 3.11 or newer with the venv module on the PATH (on Debian: apt install python3-venv).' >&2; \
	  exit 1; \
	fi; \
	echo "      $$($$python -V), $$(command -v $$python)"; \
	$(PY) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || "$$python" -m venv --clear .venv
	@echo '[2/4] Packages into .venv (about 1.4 GB; a minute or two the first time)'
	@$(PY) -m pip install --progress-bar off --constraint constraints.txt --editable '.[test,dev]' > .venv/install.log 2>&1 & \
	pid=$$!; \
	while kill -0 $$pid 2>/dev/null; do \
	  printf '\r      %s packages looked up' "$$(grep -c '^Collecting' .venv/install.log)"; sleep 1; \
	done; echo; \
	wait $$pid || { tail -n 15 .venv/install.log >&2; \
	  echo 'The packages could not be installed; the whole log is .venv/install.log. Is there a network?' >&2; exit 1; }
	@$(PY) -m resources.setup

demo: setup
	@$(PY) -m pipelines.cli demo --warehouse $(WAREHOUSE)

ui: setup
	@$(PY) -m pipelines.cli ui --warehouse $(WAREHOUSE)

# Each tier is a process of its own: the first starts no JVM, and a living Spark session is never shared.
test: setup
	$(PY) -m pytest -q -n 2 -m 'not spark and not dagster and not browser and not slow'
	$(PY) -m pytest -q -m 'spark and not slow'
	$(PY) -m pytest -q -m 'dagster and not browser and not slow'
	$(PY) -m pytest -q -m 'browser and not slow'

slow: setup
	$(PY) -m pytest -m slow

check: setup
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

fmt: setup
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

bench:
	@echo 'make bench: there are no benchmarks yet.' >&2; exit 2

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis $(WAREHOUSE)
	find hamlet_core pipelines resources tests -name __pycache__ -type d -prune -exec rm -rf {} +
