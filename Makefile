# Every target does its own set-up: a new machine needs Go and network access to modules, and for
# `make ci` npm, PostgreSQL, Django and Chromium (on Debian: installed where they are missing).

GO ?= go
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOFUMPT = mvdan.cc/gofumpt@v0.12.0
# A number of inputs, since a run whose time ends during an input may be reported as a failure
# (go.dev/issue/75804). A time such as 10m is possible as well.
FUZZTIME ?= 15000x
DOCUMENTS ?= 10000000
SEED ?= 1
# The MCP Inspector needs a newer node than most systems have; npm has one for each.
INSPECTOR = @modelcontextprotocol/inspector@2.12.0
# The official conformance suite. Only the 0.2 alphas contain the scenarios of 2026-07-28.
CONFORMANCE = @modelcontextprotocol/conformance@0.2.0-alpha.12
# The TypeScript SDK: version 1, and the client of version 2, which supports 2026-07-28.
TYPESCRIPT = @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0
# A real OpenID provider, for the tests of runtime/identity/oidc.
PROVIDER = oidc-provider@9.13.3
NODE = node-$(shell uname -s | tr A-Z a-z)-$(subst aarch64,arm64,$(subst x86_64,x64,$(shell uname -m)))@22

# The tests of the host adapters run against Django and PostgreSQL; those of the console drive a
# browser.
HOSTS = postgresql python3-django python3-psycopg2 chromium
# Without root, sudo must work without a password.
AS_ROOT = $(shell test "$$(id -u)" = 0 || echo sudo -n)

# The modules of go.work without the root, and those of testdata, which are in no workspace, since
# they would lift the versions of all others. ./... of the root contains none of these.
NESTED = $(shell sed -n 's,^	\./,,p' go.work)
APART = testdata/bench testdata/browser testdata/clients testdata/corpus
# mcpgen takes the patterns of go build, but not the word "work" for all packages of a workspace.
SERVED = ./... ./examples/... ./runtime/sandbox/...

.DEFAULT_GOAL := help
.PHONY: help modules tidy version demo test ci setup generate build fmt vet staticcheck walls check prove race racing \
	corpus benchtest browser bench benchscale benchreadme timing examples fuzz cover decoderoracle \
	conformance clients

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

demo: ## serve the team directory, the inventory and the workspace, and visit them as their users
	$(GO) generate ./examples/...
	$(GO) build -o bin/ ./examples/team ./examples/team/tour ./examples/inventory ./examples/inventory/visit ./examples/workspace ./examples/workspace/flow
	bin/tour bin/team
	@echo
	$(GO) tool mcpgen matrix ./examples/team/...
	@echo
	bin/visit bin/inventory
	@echo
	bin/flow bin/workspace

test: ## run all tests
	$(GO) test -p 3 -timeout 20m work
	@$(MAKE) --no-print-directory decoderoracle DOCUMENTS=20000

ci: export CI = true
ci: export FUZZTIME = 1000x
ci: ## everything that must hold before a change lands
	@for step in setup fmt modules vet staticcheck check prove demo corpus benchtest browser \
		clients decoderoracle cover fuzz; do \
		start=$$(date +%s); \
		echo "== $$step"; \
		$(MAKE) --no-print-directory $$step DOCUMENTS=20000 || { echo "== $$step failed"; exit 1; }; \
		echo "== $$step took $$(($$(date +%s) - start)) s"; \
	done

setup: ## download what later targets need
	$(GO) mod download
	@for module in $(APART); do (cd $$module && GOWORK=off $(GO) mod download) || exit 1; done
	$(GO) run $(STATICCHECK) -version
	$(GO) run $(GOFUMPT) -version
	npm install --prefix .tools --no-save --no-fund --no-audit --loglevel=error \
		$(INSPECTOR) $(CONFORMANCE) $(TYPESCRIPT) $(PROVIDER) $(NODE)
	@dpkg -s $(HOSTS) >/dev/null 2>&1 || { \
		export DEBIAN_FRONTEND=noninteractive; \
		$(AS_ROOT) apt-get update -qq && $(AS_ROOT) apt-get install -qq --no-install-recommends $(HOSTS) >/dev/null; \
	} || echo "tests need $(HOSTS): as root, apt-get install $(HOSTS)"

generate: ## regenerate what mcpgen writes in this repository
	$(GO) generate work
	cd testdata/bench && GOWORK=off $(GO) generate ./...

modules: ## build each module of the workspace without the workspace, as a release of it is built
	@for module in . $(NESTED); do \
		echo "build $$module"; \
		(cd $$module && GOWORK=off $(GO) build ./... && GOWORK=off $(GO) mod tidy -diff) || exit 1; \
	done

tidy: ## go mod tidy in every module
	@for module in . $(NESTED) $(APART); do (cd $$module && GOWORK=off $(GO) mod tidy) || exit 1; done

version: ## write VERSION=v1.2.3 into the go.mod files for a release, see VERSIONING.md
	sed -i -E 's,(github\.com/mcpgen/mcpgen[^ ]*) v[^ ]+,\1 $(VERSION),' $(addsuffix /go.mod,$(NESTED) $(APART))

build: ## build the command into bin/
	$(GO) build -o bin/ ./cmd/mcpgen

fmt: ## fail where gofmt would change a file, or gofumpt a generated one
	@files=$$(git ls-files '*.go' | xargs gofmt -l); test -z "$$files" || { echo "run gofmt -w on:"; echo "$$files"; exit 1; }
	@files=$$($(GO) run $(GOFUMPT) -l $$(git ls-files '*mcp_gen.go' '*mcp_gen_test.go')) || exit 1; \
		test -z "$$files" || { echo "gofumpt would change:"; echo "$$files"; exit 1; }

vet: ## go vet
	$(GO) vet work

staticcheck: ## staticcheck, generated code included
	$(GO) run $(STATICCHECK) work

.PHONY: prose
prose: ## fail on long sentences, words to avoid and wide comments, and count sentences
	$(GO) run ./internal/prose

walls: ## the walls between packages, and the threat list's tests, which race runs as well
	$(GO) test -count=1 -run 'TestWalls|TestThreats' ./cmd/mcpgen

check: ## fail where generated files are stale or a handler is unannotated
	$(GO) tool mcpgen check $(SERVED)

prove: ## fail where handlers of the example that declares it reach more than they declare
	$(GO) tool mcpgen prove --check ./examples/workspace/...

# Under the race detector: packages of internal and runtime that start goroutines or share memory.
# Of SLOW, only the concurrent tests: packages over SQLite without cgo are ten times slower under the
# detector, and the helpers of the sandbox are programs of their own. The generator, the command and
# the examples have little concurrency and run without it. make racing runs all tests under it.
# Without cgo the sandbox uses pid namespaces, and is tested both ways. Tests of every role, tool and
# transport run without the detector. make vet has vetted all these packages and tests, but for those
# without cgo.
SHARING = \bgo func|"sync"|"sync/atomic"|\.Parallel\(
DETECTED = $$(grep -rlE --include='*.go' '$(SHARING)' ./internal ./runtime | xargs -n 1 dirname | sort -u | grep -v -e /testdata -e /runtime/store -e /stored -e /runtime/admin -e /sandbox -e /objectperm -e /django -e /systemtest/secrettest)
SLOW = ./runtime/store ./runtime/grant/stored ./runtime/catalog/stored ./runtime/admin/... ./runtime/sandbox
EXHAUSTIVE = EveryRole|ByteForByte|HostAgree|CatalogNarrows|ParamsThatDoNotFit|OverRawHTTP|EveryMethod
CONCURRENT = AtOnce|Contention|Concurrent|HoldsUp|InARing|Share|NoHelperIsLost|ReplicasDoNot|Together|OfManyWho|Voices
# The packages below folders that have tests of these names: others are not built for them.
having = $$(grep -rlE --include='*_test.go' '^func Test\w*($(1))' $(2) | xargs -n 1 dirname | sort -u)
# The runs without the detector write which statements they ran, with those of the programs that
# tests start as the test binary. Under the detector, counting makes tests up to nine times slower.
PRODUCT = ./generator/... ./runtime/... ./cmd/... ./internal/... ./sourcehash \
	$(patsubst %,./%/...,$(filter-out examples,$(NESTED)))
COVERED = bin/cover
# A test binary links every package of the pattern that a test of the same run depends on. So the
# generator and the runtime have runs of their own, without the drivers and libraries of the others.
COVER = -covermode=set -coverpkg=github.com/mcpgen/mcpgen/... -coverprofile=$(COVERED)
race: ## run all tests, and those of what runs at once under the race detector as well
	@rm -rf $(COVERED) && mkdir -p $(COVERED)
	$(GO) test -vet=off -race -p 3 -timeout 12m -skip '$(EXHAUSTIVE)' $(DETECTED)
	$(GO) test -vet=off -race -p 3 -timeout 12m -run '$(CONCURRENT)' $(call having,$(CONCURRENT),$(SLOW:/...=))
	$(GO) test -vet=off $(COVER)/generator -p 3 -timeout 12m ./generator/... ./cmd/... ./sourcehash
	$(GO) test -vet=off $(COVER)/runtime -p 3 -timeout 12m ./runtime/... ./internal/...
	$(GO) test -vet=off $(COVER)/nested -p 3 -timeout 12m $(patsubst %,./%/...,$(NESTED))
	CGO_ENABLED=0 $(GO) test $(COVER)/nocgo -timeout 12m ./runtime/sandbox

racing: ## run all tests but the command's under the race detector, which takes half an hour
	$(GO) test -race -p 3 -timeout 60m $$($(GO) list work | grep -v /cmd/)

corpus: ## hold the schema walker against jsonschema.Reflector on the types of testdata/corpus
	cd testdata/corpus && export GOWORK=off && $(GO) vet ./... && $(GO) test -count=1 -v .

benchtest: ## vet and test the benchmarks against other servers, without measuring
	cd testdata/bench && export GOWORK=off && $(GO) vet ./... && $(GO) test ./...

browser: ## drive the console in headless Chromium
	cd testdata/browser && export GOWORK=off && $(GO) vet ./... && $(GO) test -count=1 -v .

clients: ## drive examples/conformance with stock clients: go-sdk, mcp-go, TypeScript SDK, Inspector
	cd testdata/clients && export GOWORK=off && $(GO) vet ./... && $(GO) test -count=1 -v .

conformance: ## count the checks of the official conformance suite that examples/conformance passes
	$(GO) test -count=1 -v -run TestConformance ./examples/conformance

bench: ## measure against other servers, in one run, and print the table of ratios
	cd testdata/bench && GOWORK=off $(GO) run ./table -o bench.out $(BENCHFLAGS)

benchscale: ## measure mcpgen on many packages, and what generated code costs (SCALEFLAGS)
	cd testdata/bench && GOWORK=off $(GO) test -run '^$$' -bench '^BenchmarkScale$$' -benchtime 5x .
	cd testdata/bench && GOWORK=off $(GO) run ./scale $(SCALEFLAGS)

benchreadme: ## write the results of make bench into the README
	cd testdata/bench && GOWORK=off $(GO) run ./table -from bench.out -readme ../../README.md

timing: ## measure whether response times tell a hidden tool from an unknown one
	cd testdata/bench && GOWORK=off $(GO) run ./timing $(TIMINGFLAGS)

examples: ## build every example
	$(GO) build -o bin/ ./examples/...

fuzz: ## run every fuzz target for FUZZTIME
	@git grep -l '^func Fuzz' -- '*_test.go' | while read -r file; do \
		grep -ho '^func Fuzz[A-Za-z0-9]*' "$$file" | sed 's/func //' | while read -r target; do \
			echo "fuzz $$target in $$(dirname "$$file") for $(FUZZTIME)"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1000x "./$$(dirname "$$file")" || exit 1; \
		done || exit 1; \
	done

decoderoracle: ## compare generated decoders with an independent validator on DOCUMENTS documents
	cd testdata/decoderoracle && $(GO) run ./gentypes && $(GO) tool mcpgen .
	$(GO) test ./testdata/decoderoracle -count=1 -timeout 0 -v -documents $(DOCUMENTS) -seed $(SEED)

cover: race ## run race, print the coverage of code that is not generated, fail below 95 percent
	@$(GO) run ./internal/testcoverage -least 95 $(COVERED) $(PRODUCT)
