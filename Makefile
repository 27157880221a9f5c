# Loadcurve: every task of the project, by name. `make help` lists them.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Two native builds at once would only wait for each other's lock.
.NOTPARALLEL:

PYTHON ?= python3
BIN := .venv/bin
STAMPS := .stamps
# What the native parts are built from, and what the Python environment is.
NATIVE_SOURCES := Cargo.toml Cargo.lock pyproject.toml packaging/build_backend.py packaging/install_editable.py \
	$(shell find crates -name '*.rs' -o -name Cargo.toml)
# The other locks are parts of these.
AUDITED_LOCKS := requirements/development.lock requirements/ray.lock

# The servers that the catalogue holds as source: Rust, each a workspace of its own, and Go, each a module.
CATALOG := python/loadcurve/catalog
RUST_SERVERS := $(patsubst $(CATALOG)/%/Cargo.toml,%,$(wildcard $(CATALOG)/*/Cargo.toml))
GO_SERVERS := $(patsubst $(CATALOG)/%/go.mod,%,$(wildcard $(CATALOG)/*/go.mod))
BUILT_SERVERS := $(RUST_SERVERS) $(GO_SERVERS)

# Modules are compiled once for all processes of the tests, whatever the person's own habit is.
unexport PYTHONDONTWRITEBYTECODE

# The first start compiles what it imports; without this that would be a person's.
compile_the_command = @$(BIN)/loadcurve --version > /dev/null

# The tests of `make test`.
SHORT := not long and not builds
# The files that may have tests with the machine to themselves: importing all others takes as long as some of these.
WITH_TESTS_ALONE = $(sort $(shell grep -rlw alone --include='test_*.py' tests/browser tests/e2e tests/servers))
# What builds the documentation; nothing else needs it, so no environment has it.
SITE_BUILDER := zensical@0.0.73
# As packaging/build_backend.py compiles them, which then has nothing left to do.
COMPILE_PROGRAMS = cargo build --quiet --locked --bins --profile $(NATIVE_PROFILE) \
	--package loadcurve-probe --package loadcurve-servers --package loadcurve-python
# With what profiles of cargo the native parts and Rust's tests are built; where both are one, so are their dependencies.
export NATIVE_PROFILE ?= release
export TEST_PROFILE ?= dev
# The Pythons that the wheel is tried with, and how a release is signed: by ssh or gpg with KEY, or not at all (none).
PYTHONS ?= 3.11 3.13 3.14
# The Debians whose own Pythons try the wheel of a release, where uv cannot download some: bookworm, trixie and forky have these.
DEBIANS ?=
# The platforms of a release, whose standard library Rust has, and the oldest glibc that it runs with.
PLATFORMS ?= x86_64 aarch64
GLIBC ?= 2.28
SIGN ?= ssh
KEY ?=
# How long each target is fuzzed.
SECONDS ?= 30

.PHONY: help setup demo test test-long test-rust test-python test-servers-installed servers check check-python check-rust \
	check-long check-demo check-fuzz check-servers fuzz fuzz-corpus loom format wheel test-wheel test-wheel-debian wheels release reproduce audit docs pictures notebook bench bench-long bench-builds behaviours campaigns lock clean

help: ## Show this list
	@grep -hE '^[a-z][a-z-]*:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 24

# What was there at the last attempt may be missing now, the free disk for instance.
$(STAMPS)/runtime: requirements/installer.lock requirements/runtime.lock
	@PYTHON=$(PYTHON) packaging/check-toolchain
	@mkdir -p $(STAMPS)
	@echo "loadcurve: making the Python environment, about a minute: it downloads 0.2 GB" >&2
	@$(PYTHON) -m venv --clear .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/installer.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/runtime.lock
	@touch $@

# What only development needs: a first demo does without.
$(STAMPS)/environment: $(STAMPS)/runtime requirements/development.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/development.lock
	@touch $@

$(STAMPS)/native: $(STAMPS)/environment $(NATIVE_SOURCES)
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python packaging/install_editable.py
	$(compile_the_command)
	@touch $@

# A first demo needs no databases, no TLS and not the last percent of speed, and compiles in a fraction of the time.
$(STAMPS)/demo: $(STAMPS)/runtime $(NATIVE_SOURCES)
	@if [ -e $(STAMPS)/native ]; then $(MAKE) --no-print-directory $(STAMPS)/native; \
	else PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python packaging/install_editable.py --demo; fi
	$(compile_the_command)
	@touch $@

setup: $(STAMPS)/native ## Make the virtual environment and build the native parts

demo: $(STAMPS)/demo ## Compare the servers at hand by the quickstart study, shortened
	@$(BIN)/loadcurve run studies/quickstart.toml --quick

# What fails soon comes first. Servers and Python's packages come from the network while the compiler has the CPUs: the
# programs need no Python. Whether they can be compiled is for `setup` to say.
test: ## Check format, lint and types, and run all tests but the long ones
	@tests/install-servers & servers=$$!; \
	$(COMPILE_PROGRAMS) 2> /dev/null & programs=$$!; \
	$(MAKE) --no-print-directory setup || { kill $$programs 2> /dev/null || true; wait $$servers || true; exit 1; }; \
	wait $$programs || true; \
	wait $$servers
	@$(MAKE) --no-print-directory check test-rust test-python

test-long: setup test-servers-installed ## Run the tests that take long for what they tell beyond the others
	$(BIN)/pytest --quiet -m long
	$(BIN)/python -m benches.quick_studies

test-servers-installed: ## As root on Debian: install the real servers and the browser that the tests use
	@tests/install-servers

# What the wire is compared with changes the features of crates that the drivers of databases use, too. Loads of tests
# wait most of their time: more of them at once than there are CPUs.
test-rust: export RUST_TEST_THREADS ?= 4
test-rust: setup
	cargo test --quiet --profile $(TEST_PROFILE) --workspace --exclude loadcurve-python --exclude loadcurve-wire --locked
	cargo test --quiet --profile $(TEST_PROFILE) --package loadcurve-wire --locked

# What measures under load has the machine to itself, and all else runs beside each other; most tests of servers wait.
# Browsers come before the servers: theirs are many busy threads, which starve a load of a tenth of a second.
test-python: export TMPDIR := $(shell tests/temporary-folder)
test-python: setup
	$(BIN)/pytest --quiet --numprocesses logical --maxprocesses 8 tests/unit
	$(BIN)/pytest --quiet --numprocesses 3 --dist loadfile -m '$(SHORT) and not alone' tests/browser
	$(BIN)/pytest --quiet --numprocesses 3 --dist loadfile -m '$(SHORT) and not alone' tests/e2e tests/servers
	$(BIN)/pytest --quiet -m '$(SHORT) and alone' $(WITH_TESTS_ALONE)

servers: setup ## Build the servers that the catalogue holds as source, and check each
	@for server in $(BUILT_SERVERS); do $(BIN)/loadcurve servers check $$server; done

# Most of what looks at Python has one thread, and the compiler takes the CPU that it leaves.
check: setup ## Format, lint and types: changes nothing
	@trap 'kill $$rust 2> /dev/null || true' EXIT; \
	$(MAKE) --no-print-directory check-rust & rust=$$!; \
	$(MAKE) --no-print-directory check-python; \
	wait $$rust

check-python: setup
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/stubtest loadcurve._engine

check-rust:
	cargo fmt --check
	cargo fmt --check --manifest-path fuzz/Cargo.toml
	cargo clippy --quiet --profile $(TEST_PROFILE) --workspace --features loadcurve-quic/observe --all-targets --locked -- -D warnings

# Apart from `check` and `test`, because its targets are compiled for it alone, which takes a minute of both CPUs.
check-fuzz: fuzz-corpus ## Lint what is fuzzed, and read the corpus of each target once
	cd fuzz && cargo clippy --quiet --profile $(TEST_PROFILE) --all-targets --locked -- -D warnings

check-long: check check-demo check-fuzz check-servers audit loom reproduce fuzz ## The same, what takes long to check, and a bounded time of fuzzing

check-demo: ## Lint what a first demo builds, without databases and TLS
	cargo clippy --quiet --package loadcurve-database --package loadcurve-engine --package loadcurve-python --package loadcurve-servers --no-default-features --locked -- -D warnings

check-servers: setup ## Format, lint and test the servers that the catalogue holds as source
	@for server in $(RUST_SERVERS); do \
	    export CARGO_TARGET_DIR=target/catalog; manifest=$(CATALOG)/$$server/Cargo.toml; \
	    cargo fmt --check --manifest-path $$manifest; \
	    cargo clippy --quiet --manifest-path $$manifest --all-targets --locked -- -D warnings; \
	    cargo test --quiet --manifest-path $$manifest --locked; \
	done
	@for server in $(GO_SERVERS); do \
	    gofmt -d $(CATALOG)/$$server; \
	    test -z "$$(gofmt -l $(CATALOG)/$$server)"; \
	    go vet -C $(CATALOG)/$$server -mod=readonly .; \
	done
	$(BIN)/pytest --quiet -m builds

audit: setup ## Look for known holes, licences and duplicates in what this project depends on (needs cargo-deny, govulncheck and a network)
	@command -v cargo-deny > /dev/null || \
	    { echo "loadcurve: cargo-deny is missing: cargo install --locked cargo-deny" >&2; exit 1; }
	cargo deny --locked check
	@for manifest in fuzz/Cargo.toml $(RUST_SERVERS:%=$(CATALOG)/%/Cargo.toml); do \
	    cargo deny --locked --config deny.toml --manifest-path $$manifest check --allow unmatched-skip --allow unnecessary-skip; \
	done
	$(BIN)/python packaging/audit_go.py $(GO_SERVERS:%=$(CATALOG)/%)
# Strict, because a package that the index tells nothing of would otherwise pass.
	$(BIN)/uv tool run --python $(BIN)/python pip-audit --strict --disable-pip $(AUDITED_LOCKS:%=--requirement %)

fuzz-corpus: ## Read the corpus of each fuzz target once
	fuzz/run 0

fuzz: ## Fuzz each target for SECONDS=30
	fuzz/run $(SECONDS)

# Models replace the threads of what they try, so only they are run. Cryptography shares nothing that they look at.
loom: ## Try every order of what threads share, by models
	RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom cargo test --quiet --release --locked --no-default-features \
	    --package loadcurve-ycsb --package loadcurve-engine --lib models::

format: setup ## Format all code
	cargo fmt
	cargo fmt --manifest-path fuzz/Cargo.toml
	for server in $(RUST_SERVERS); do cargo fmt --manifest-path $(CATALOG)/$$server/Cargo.toml; done
	for server in $(GO_SERVERS); do gofmt -w $(CATALOG)/$$server; done
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --quiet --fix .

# What is released is compiled by cargo's release profile, whatever NATIVE_PROFILE is: `wheels` does not read it.
wheel: setup ## Build the wheel into dist/
	rm -rf dist
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/uv build --quiet --wheel --no-build-isolation --python $(BIN)/python --out-dir dist \
	    --config-setting "build-args=--profile $(NATIVE_PROFILE)"
	@ls dist/*.whl

test-wheel: wheel ## Install the wheel into empty environments of PYTHONS elsewhere and run the quickstart study in each
	tests/try-wheel $(PYTHONS)

test-wheel-debian: ## As root: install the wheels of dist/ with pip into clean DEBIANS and try them (needs debootstrap)
	tests/try-wheel-debian $(or $(DEBIANS),bookworm trixie forky)

wheels: setup ## Build the wheels of PLATFORMS for glibc GLIBC and newer into dist/
	$(BIN)/python packaging/build_wheels.py dist $(GLIBC) $(PLATFORMS)

# Each wheel is built once: what is released is what was tested, where it runs on this machine.
release: wheels ## Write dist/release: the wheels, what is in them, checksums; signed as SIGN=ssh|gpg|none with KEY says
	$(if $(PYTHONS),WHEEL="$$(ls dist/*_$$(uname -m).whl)" tests/try-wheel $(PYTHONS))
	$(if $(DEBIANS),tests/try-wheel-debian $(DEBIANS))
	$(BIN)/python packaging/release.py --key "$(KEY)" dist/release "$(SIGN)" dist/*.whl

reproduce: setup ## Build the wheel in two folders and compare the two
	tests/same-wheel

docs: $(STAMPS)/environment ## Build the documentation as a site into target/docs (needs a network the first time)
	@$(BIN)/python -m docs.generate.site target/docs-pages
	@$(BIN)/uv tool run --quiet --python $(BIN)/python $(SITE_BUILDER) build --strict
	@echo target/docs/index.html

PICTURED := loadcurve-runs/quickstart
pictures: setup ## Make the documents' pictures from a new run of the quickstart (needs Chromium)
	rm -rf target/pictures && mkdir -p target/pictures
	cd target/pictures && $(CURDIR)/$(BIN)/loadcurve run quickstart --quick --out $(PICTURED)
	cd target/pictures && $(CURDIR)/$(BIN)/python $(CURDIR)/docs/pictures/make.py $(PICTURED)
	$(BIN)/python -m docs.pictures.guides target/pictures/guides

notebook: setup ## Run the documentation's notebook anew, and keep what it shows
	$(BIN)/python -m docs.run_notebook

bench: setup ## Compare the engine with others and the floor; time the probe, findings, pages and the start
	cargo build --quiet --release --locked --package loadcurve-floor
	$(BIN)/python -m benches.side_by_side
	$(BIN)/python -m benches.encrypted
	$(BIN)/python -m benches.messages
	$(BIN)/python -m benches.fan_out
	$(BIN)/python -m benches.real_servers
	$(BIN)/python -m benches.lateness
	$(BIN)/python -m benches.lateness --connections 10 --streams 100
	$(BIN)/python -m benches.many_connections
	$(BIN)/python -m benches.large_files
	cargo run --quiet --release --locked --package loadcurve-ycsb --example operations_per_second
	$(BIN)/python -m benches.databases
	$(BIN)/python -m benches.probe_cost
	$(BIN)/python -m benches.findings_speed
	$(BIN)/python -m benches.page_speed
	$(BIN)/python -m benches.watch_cost
	$(BIN)/python -m benches.together_cost
	$(BIN)/python -m benches.driven_cost
	$(BIN)/python -m benches.command_start
	$(BIN)/python -m benches.first_hour
	$(BIN)/python -m benches.hostile_servers
	$(BIN)/python -m benches.hostile_http2
	$(BIN)/python -m benches.hostile_grpc
	$(BIN)/python -m benches.hostile_messages
	$(BIN)/python -m benches.hostile_http3
	$(BIN)/python -m benches.http3_cpu
	$(BIN)/python -m benches.quic_cases
	$(BIN)/python -m benches.malformed_http3
	$(BIN)/python -m benches.grpc_conformance
	$(BIN)/python -m benches.grpc_conformance --http 3
	$(BIN)/python -m benches.named_faults
	$(BIN)/python -m benches.killed_runs

bench-long: setup ## Measure what takes hours or root: a long point, imports, lists, other machines, pauses, few trials
	$(BIN)/python -m benches.import_speed
	$(BIN)/python -m benches.many_runs
	$(BIN)/python -m benches.history_speed
	$(BIN)/python -m benches.copied_run
	$(BIN)/python -m benches.site_speed
	$(BIN)/python -m benches.ranking_windows
	$(BIN)/python -m benches.request_lists
	$(BIN)/python -m benches.pauses
	$(BIN)/python -m benches.what_tools_hide
	$(BIN)/python -m benches.several_machines
	$(BIN)/python -m benches.remote_trials
	$(BIN)/python -m benches.few_trials
	$(BIN)/python -m benches.change_points
	$(BIN)/python -m benches.gate_simulation --gates 4000
	$(BIN)/python -m benches.gate_real
	$(BIN)/python -m benches.gate_real --more-us 2.4
	$(BIN)/python -m benches.history_real 1.4.4 2.0.0 2.1.0 2.1.1 2.1.2 3.0.0 3.0.1 3.0.2
	$(BIN)/python -m benches.endurance

bench-builds: setup ## Compare two built checkouts in turn: make bench-builds BEFORE=folder AFTER=folder
	$(BIN)/python -m benches.builds $(BEFORE) $(AFTER)

behaviours: setup ## Look anew at what the servers here do by default, for the rules that explain and for their page
	$(BIN)/python -m benches.behaviour
	$(BIN)/python -m docs.generate

campaigns: setup ## Try harmful servers, files, kills and lost machines by the thousand; takes hours
	$(BIN)/python -m benches.campaigns

lock: setup ## Resolve the Python dependencies anew into requirements/
	packaging/lock

clean: ## Remove everything that was built
	rm -rf .venv .stamps .cache target dist python/loadcurve/native python/loadcurve/*.so
