# The verbs of the house. Each says what is missing on this machine and installs it where it can (Debian, as root or with sudo).

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# One set of flags for every build, so that no verb compiles again what another has compiled. Warnings are errors in Package.swift.
SWIFT_FLAGS := --explicit-target-dependency-import-check error
SOURCES     := Package.swift Services Shared Tests Benchmarks
# Of debug information only what a crash says of its lines, and no index: editors keep one of their own. Who steps through code builds with
# `swift build --build-tests` alone, which compiles everything again.
DEBUG_FLAGS := $(SWIFT_FLAGS) -Xswiftc -gline-tables-only
RELEASE     := .build/release

LIBRARIES   := git ca-certificates libzmq3-dev libssl-dev libcurl4-openssl-dev zlib1g-dev libsqlite3-dev
RUN_NEEDS   := $(LIBRARIES) caddy
TEST_NEEDS  := $(RUN_NEEDS) e2fsprogs python3 python3-venv openssl kannel kannel-extras chromium chromium-driver
BENCH_NEEDS := $(RUN_NEEDS) wrk influxdb postgresql-15 postgresql-client-15 gcc libc6-dev python3 python3-venv

# Tests that run at the same time. More would wait for the two threads of two cores while some compute, and miss their deadlines.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 2

# Tests as `swift test --filter` and `--skip` take them. A filter that begins with a module's name builds the tests of that module alone.
FILTER ?=
SKIP   ?=
MODULE := $(patsubst Tests/%,%,$(wildcard Tests/$(shell sed -nE 's/^\^?([A-Za-z]+Tests)(\\?[./][^|]*)?$$/\1/p' <<<'$(FILTER)')))

# Seconds that each fuzz target runs.
SECONDS_EACH ?= 20

# Seconds that the standing stranger has.
ATTACK_SECONDS ?= 60

# People who are made up for the attacks on group data.
ATTACK_PEOPLE ?= 20000

# Mutations, as an attack (T11) or a part of a name or a file; all of them where nothing is named.
ONLY ?=

# Lives through the machine of supervision; a tenth of it are seeds through both dispatchers.
SEEDS ?= 20000

# Where `make install` puts things; DESTDIR is for packages.
PREFIX  ?= /usr/local
DESTDIR ?=

.PHONY: help up install demo test check docs bench bench-check fuzz simulate chaos attack attack-http mutations upgrade clean build build-tests lint interop

help: ## what each verb does
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: build ## build, then start every service and the edge here; Ctrl-C stops them
	@exec $(RELEASE)/trackme up

install: build ## put executables and systemd's unit under PREFIX=/usr/local, below DESTDIR; starts nothing
	@PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) deploy/install $(RELEASE)

demo: build ## a failing heart, from first critical entry to acknowledged dispatch, in under a minute
	@exec $(RELEASE)/trackme demo

test: build-tests ## everything that proves something: Swift tests, then peers written in Python; FILTER=ConsentTests.AccessTests: that alone
	@Tests/run $(if $(FILTER),--filter '$(FILTER)') $(if $(SKIP),--skip '$(SKIP)')
	@$(if $(FILTER),,$(MAKE) interop)

check: lint build-tests ## format, warnings as errors, imports, the rules of the house, whether each mutation can still be made
	@Tests/Mutations/run --list >/dev/null
	@Tests/run --filter '^HouseTests\.'

docs: build-tests ## write the generated tables of README and docs/ anew
	@HOUSE_WRITES_DOCS=1 Tests/run --filter '^HouseTests\.GeneratedTablesTests' --filter '^SOSDispatcherTests\.RulesMatrixTests'

bench: ## measure each path beside its reference; prints a table, writes var/bench/*.json
	@deploy/install-missing swift $(BENCH_NEEDS)
	@swift build -c release $(SWIFT_FLAGS)
	@exec $(RELEASE)/Benchmarks

bench-check: ## as bench, but fails on a regression past 20 %
	@deploy/install-missing swift $(BENCH_NEEDS)
	@swift build -c release $(SWIFT_FLAGS)
	@exec $(RELEASE)/Benchmarks --check

fuzz: ## feed every decoder with rubbish, SECONDS_EACH=20 seconds each
	@deploy/install-missing swift $(LIBRARIES)
	@Tests/Fuzz/run $(SECONDS_EACH)

simulate: build-tests ## virtual time: SEEDS=20000 lives through the rules, a tenth of it through both dispatchers with every fault, planted ones
	@Tests/Simulation/run --seeds $(SEEDS)

chaos: build-tests ## the fault matrix: real processes killed, halted, starved of disk, time and network; prints the table
	@.ci/chaos

attack: build-tests ## who asks for groups to learn of one person: attacks on group data of ATTACK_PEOPLE=20000 people; prints a table
	@ATTACK_PEOPLE=$(ATTACK_PEOPLE) .ci/interop attack_groups.py

attack-http: build-tests ## a standing stranger: every route attacked for ATTACK_SECONDS=60 seconds while hearts fail; prints a table
	@ATTACK_SECONDS=$(ATTACK_SECONDS) .ci/interop attack_http.py

mutations: ## each rule of group data made wrong, one after the other, in a copy under .build/mutations: tests must fail; ONLY=T11: those alone
	@deploy/install-missing swift $(TEST_NEEDS)
	@Tests/Mutations/run $(if $(ONLY),--only '$(ONLY)')

upgrade: ## a running suite of an old release goes on under a new one: TRACKME_OLD_BUILD=/old/.build/release, TRACKME_BUILD=.build/release
	@TRACKME_BUILD=$(or $(TRACKME_BUILD),$(RELEASE)) .ci/interop upgrade.py

clean: ## delete what was built; data under var/ stays
	@rm -rf .build

# Steps that the verbs share.

build: ## everything as a release
	@deploy/install-missing swift $(RUN_NEEDS)
	@swift build -c release $(SWIFT_FLAGS)

build-tests: ## build everything with its tests, and nothing else
	@deploy/install-missing swift $(TEST_NEEDS)
	@$(if $(MODULE),TRACKME_TEST_MODULE=$(MODULE)) swift build --build-tests $(DEBUG_FLAGS)

lint:
	@deploy/install-missing swift
	@swift format lint --strict --recursive --parallel $(SOURCES)

interop: ## let peers of other makes (Python, schemathesis, Caddy) speak with the services
	@.ci/interop
