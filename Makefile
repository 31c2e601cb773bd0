# Every target does its own set-up: a new machine needs Go and network access to modules, and for
# `make ci` npm, PostgreSQL, Django and Chromium (on Debian: installed where they are missing).

GO ?= go
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOFUMPT = mvdan.cc/gofumpt@v0.12.0
GOLANGCI = github.com/golangci/golangci-lint/v2@v2.15.0
# A number of inputs, since a run whose time ends during an input may be reported as a failure
# (go.dev/issue/75804). A time such as 10m is possible as well.
FUZZTIME ?= 15000x
DOCUMENTS ?= 10000000
SEED ?= 1
# The MCP Inspector needs a newer node than most systems have; npm has one for each.
INSPECTOR = @modelcontextprotocol/inspector@2.12.0
# The official conformance suite. Only the 0.2 alphas contain the scenarios of 2026-07-28.
CONFORMANCE = @modelcontextprotocol/conformance@0.2.0-alpha.12
# The TypeScript SDK: version 1, and the client of version 2, which supports 2026-07-28, with tasks.
TYPESCRIPT = @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0 \
	@modelcontextprotocol/ext-tasks@0.2.2
# The libraries that translate the schemas of tools for OpenAI, Anthropic and Gemini, and clients on
# top of the TypeScript SDK.
LIBRARIES = openai@7.57.0 @openai/agents@0.20.0 @anthropic-ai/sdk@1.13.0 @google/genai@3.3.0 \
	@ai-sdk/mcp@2.0.99 mcp-remote@0.15.1
# A real OpenID provider, for the tests of runtime/identity/oidc.
PROVIDER = oidc-provider@9.13.3
# The JSON schema of SARIF 2.1.0, in a package of Microsoft.
SARIF = @microsoft/jest-sarif@1.0.0-beta.0
# The schema of server.json, in a Go module that no package imports.
REGISTRY = github.com/modelcontextprotocol/registry@v1.8.8
NODE = node-$(shell uname -s | tr A-Z a-z)-$(subst aarch64,arm64,$(subst x86_64,x64,$(shell uname -m)))@22

# The tests of the host adapters run against Django and PostgreSQL, those of the console drive a
# browser, and those of tutorials run curl and openssl.
HOSTS = postgresql python3-django python3-psycopg2 chromium curl openssl
# Without root, sudo must work without a password.
AS_ROOT = $(shell test "$$(id -u)" = 0 || echo sudo -n)

# The modules of go.work without the root, and those of testdata, which are in no workspace, since
# they would lift the versions of all others. ./... of the root contains none of these.
NESTED = $(shell sed -n 's,^	\./,,p' go.work)
ADOPTERS = $(patsubst %/go.mod,%,$(wildcard testdata/adopters/*/go.mod))
# A pattern contains the packages of one module.
EXAMPLES = $(patsubst %,./%/...,$(filter examples%,$(NESTED)))
APART = testdata/bench testdata/browser testdata/clients generator/testdata/corpus $(ADOPTERS)
# mcpgen takes the patterns of go build, but not the word "work" for all packages of a workspace.
SERVED = ./... $(EXAMPLES) ./runtime/sandbox/...

.DEFAULT_GOAL := help
.PHONY: help site docs adopters modules tidy version demo tour test ci setup generate build fmt vet staticcheck walls check prove race racing \
	corpus benchtest browser bench benchscale benchreadme timing examples fuzz cover decoderoracle \
	conformance clients

# Not in ci: it downloads and compiles everything anew. make fresh ONLY=demo leaves parts out.
.PHONY: fresh
fresh: ## do what a new user of README does with the last commit, and measure it
	$(GO) run ./internal/fresh $(if $(ONLY),-only $(ONLY))

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

demo: export CGO_ENABLED = 0
demo: ## print what each caller lists, and six properties of mcpgen, with real servers
	@echo "compiling mcpgen and the demo, which takes a minute on a new machine" >&2
	@cd examples/demo && GOWORK=off $(GO) build -o ../../bin/ . github.com/mcpgen/mcpgen/cmd/mcpgen
	@bin/demo bin/mcpgen

tour: ## use everything that three examples serve, as each of their users
	$(GO) build -o bin/ ./examples/team/... ./examples/inventory/... ./examples/workspace/... ./cmd/mcpgen
	bin/tour bin/team
	@echo
	bin/mcpgen matrix ./examples/team/...
	@echo
	bin/visit bin/inventory
	@echo
	bin/flow bin/workspace

# make test needs Go alone. -short is the quick run: pairs in place of products, 25 cases a property
# (rapid divides its number by five), and no test that needs another program.
# The tests of the modules in SYSTEM need PostgreSQL, Django, exporters, capslock, OpenAPI, a browser
# or npm. The full run of the packages in FULL also starts PostgreSQL and programs of npm, and makes
# disks as root.
SYSTEM = cmd/mcpgen-openapi cmd/mcpgen-prove examples/inventory examples/team examples/workspace \
	generator/internal/systemtest internal/systemtest runtime/admin runtime/telemetry
GENERATOR = cmd/mcpgen generator
ALONE = $(patsubst %,./%/...,$(filter-out $(SYSTEM) $(GENERATOR),$(NESTED)))
FULL = ./runtime/store/... ./runtime/boundary/stored ./runtime/catalog/stored ./runtime/grant/stored \
	./runtime/identity/oidc ./runtime/sandbox/... ./examples/conformance
TEST = $(GO) test -p 3 -timeout 20m
# With PROFILES=FOLDER, test and system write which statements they ran. Each test binary of a run
# then links every package that another test of the run needs, so the sides have runs of their own.
profile = $(if $(PROFILES),-covermode=set -coverpkg=github.com/mcpgen/mcpgen/... -coverprofile=$(PROFILES)/$(1))
test: export RAPID_CHECKS = 125
test: ## run the tests that need Go alone
	$(TEST) -short $(call profile,generator) $(patsubst %,./%/...,$(GENERATOR)) ./sourcehash
	$(TEST) -short $(call profile,runtime) ./runtime/... ./internal/...
	$(TEST) -short $(call profile,nested) $(ALONE)

# The tests of LONG run whole in make full alone: make test has them with fewer inputs, or CI has a
# faster test of the same kind.
LONG = TestAServerOutlivesHostileHandlers TestNoProcessOutlivesItsCall TestEachLimitEndsTheWork \
	TestOtherCallsGoOnBesideHostileOnes TestWhatIsolatedHandlersSay TestNoCallFillsTheDisk \
	TestFilesWithoutANameAreInTheQuota TestHelpersServeOneCallEach TestConformance/bearer \
	TestAdoptedConformance TestCapabilitiesAreThoseOfEachUserInDjango/in_SQLite \
	TestNoToolOfTheExamplesDrawsAWarningFromTheInspector TestInspectorListsACatalogByTheURLAlone
# $(call but,TESTS) skips these tests.
but = -skip '$(subst $() ,|,$(strip $(1)))'
.PHONY: system
system: ## run the tests that need PostgreSQL, Django, exporters, capslock, OpenAPI or npm
	RAPID_CHECKS=25 $(TEST) $(call but,$(LONG) /sqlite) $(call profile,full) $(FULL)
	RAPID_CHECKS=25 $(TEST) $(call but,$(LONG)) $(call profile,system) $(patsubst %,./%/...,$(SYSTEM))

# A checkout in a new folder finds in Go's build cache what an earlier one compiled only if no path
# of the folder is compiled in. Binaries without paths find GOROOT in the environment alone.
ci full: export CI = true
ci full: export GOROOT = $(shell $(GO) env GOROOT)
ci full: export GOFLAGS = -trimpath
# Each target in turn, with its time. The first failure ends the run. The + is for make -n.
steps = +@for step in $(1); do \
		start=$$(date +%s); echo "== $$step"; \
		$(MAKE) --no-print-directory $$step CHECK=1 || { echo "== $$step failed"; exit 1; }; \
		echo "== $$step took $$(($$(date +%s) - start)) s"; \
	done
ci: export PROFILES = bin/cover
ci: ## everything that must hold before a change lands; it begins with make test
	@rm -rf $(PROFILES) && mkdir -p $(PROFILES)
	$(call steps,test race space setup fmt vet staticcheck modules check prove demo docs prose site \
		system covered browser leaks mutants)

.PHONY: full tests
full: export FUZZTIME = 1000x
full: export DOCUMENTS = 20000
full: ## all checks and the long runs, with every case of every test
	$(call steps,ci tests racing decoderoracle corpus benchtest clients adopters fuzz golangci mutate)

tests: ## run all tests, with every case
	$(TEST) work

# Go deletes entries of its build cache by age alone, so many checkouts can fill a disk with them.
.PHONY: space
space: ## empty Go's build cache where the disk has less than 15 GiB left
	@cache=$$($(GO) env GOCACHE) && mkdir -p "$$cache" && \
		free=$$(df -Pk "$$cache" | awk 'NR == 2 { print int($$4 / 1048576) }') && \
		echo "$$free GiB are free" && { test "$$free" -ge 15 || $(GO) clean -cache; }

setup: npm ## download what later targets need
	@for module in . $(NESTED) $(APART); do (cd $$module && GOWORK=off $(GO) mod download) || exit 1; done
	$(GO) mod download $(REGISTRY)
	$(GO) run $(STATICCHECK) -version
	$(GO) run $(GOFUMPT) -version
	@dpkg -s $(HOSTS) >/dev/null 2>&1 || { \
		export DEBIAN_FRONTEND=noninteractive; \
		$(AS_ROOT) apt-get update -qq && $(AS_ROOT) apt-get install -qq --no-install-recommends $(HOSTS) >/dev/null; \
	} || echo "tests need $(HOSTS): as root, apt-get install $(HOSTS)"

# Checkouts share the packages: the file .npm of each has the path of their folder.
PACKAGES = $(INSPECTOR) $(CONFORMANCE) $(TYPESCRIPT) $(LIBRARIES) $(PROVIDER) $(SARIF) $(NODE)
npm: ## download the packages of npm, node included, into the user's cache
	@folder=$${XDG_CACHE_HOME:-$$HOME/.cache}/mcpgen-npm/$$(echo $(PACKAGES) | cksum | tr ' ' -); \
		new=$$folder.$$$$; test -e "$$folder" || { mkdir -p "$$new" && npm install --prefix "$$new" \
			--no-save --no-fund --no-audit --loglevel=error $(PACKAGES) && { test -e "$$folder" && \
			rm -rf "$$new" || mv "$$new" "$$folder"; }; } && echo "$$folder" >.npm

site: ## write the documentation as a site into bin/site, and llms.txt
	cd internal/site && $(GO) run . -root ../.. -o ../../bin/site

generate: ## regenerate what mcpgen writes in this repository
	$(GO) generate work
	@for module in testdata/bench $(ADOPTERS); do \
		(cd $$module && GOWORK=off $(GO) generate ./...) || exit 1; \
	done

# Unlike go build, go list -export compiles and links nothing.
modules: ## compile each module of the workspace without the workspace, as a release of it is built
	@for module in . $(NESTED); do \
		echo "compile $$module"; \
		(cd $$module && GOWORK=off $(GO) list -export ./... >/dev/null && \
			GOWORK=off $(GO) mod tidy -diff) || exit 1; \
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

# Not in ci: the build takes a minute.
.PHONY: golangci
golangci: ## build golangci-lint with the plugin into bin/, and run it
	@rm -rf bin/golangci && mkdir -p bin/golangci
	@cp generator/vet/golangci/testdata/golangci-lint/main.go bin/golangci
	@export GOWORK=off && cd bin/golangci && $(GO) mod init golangci && $(GO) mod edit \
		-require=$(GOLANGCI) -require=github.com/mcpgen/mcpgen/generator/vet/golangci@v0.0.0 \
		-replace=github.com/mcpgen/mcpgen=$(CURDIR) \
		-replace=github.com/mcpgen/mcpgen/generator=$(CURDIR)/generator \
		-replace=github.com/mcpgen/mcpgen/generator/vet/golangci=$(CURDIR)/generator/vet/golangci && \
		$(GO) mod tidy && $(GO) build -o $(CURDIR)/bin/golangci-lint .
	cd generator/vet/golangci/testdata/shop && \
		GOWORK=off $(CURDIR)/bin/golangci-lint run --output.text.print-issued-lines=false --show-stats=false | diff want -

# TRACES and SEED choose the run; without SEED each run has another one. make test has a share.
TRACES = 1000
.PHONY: noninterference plants leaks
noninterference: ## look for differences by which a caller can tell that something hidden exists
	$(GO) test -count=1 -v -timeout 24h -run 'TestHiddenItems' ./internal/noninterference \
		-rapid.checks=$(TRACES) $(if $(SEED),-rapid.seed=$(SEED))

leaks: ## the same for generated packages, equal work of hidden and unknown names, and two plants
	$(GO) test -count=1 -timeout 20m -run \
		'Generated|Instrumented|TestEachPlantIsFound/^(suggestion|cursor-counts-hidden)$$' \
		./internal/noninterference

plants: ## plant faults one at a time, from PLANTS=FOLDER or the repository: each has to be found
	$(GO) test -count=1 -v -timeout 1h -run TestEachPlantIsFound ./internal/noninterference

# MUTATEFLAGS=-update writes the verdicts into the file that later runs compare with.
.PHONY: mutate mutants
mutate: ## change each place that decides, and 400 others: tests must find what they found before
	$(GO) run ./generator/internal/mutate $(MUTATEFLAGS)

mutants: ## change 40 of these places, which the commit chooses
	$(GO) run ./generator/internal/mutate -sample 40 -seed $$(git rev-parse HEAD)

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
SHARING = \bgo func|"sync"|"sync/atomic"|\.Parallel\(
DETECTED = $$(grep -rlE --include='*.go' '$(SHARING)' ./internal ./runtime | xargs -n 1 dirname | sort -u | grep -v -e /runtime/store -e /stored -e /runtime/admin -e /sandbox -e /telemetry -e internal/systemtest -e internal/test)
SLOW = ./runtime/store ./runtime/boundary/stored ./runtime/grant/stored ./runtime/catalog/stored \
	./runtime/admin/... ./runtime/sandbox
EXHAUSTIVE = EveryRole ByteForByte HostAgree CatalogNarrows ParamsThatDoNotFit OverRawHTTP EveryMethod \
	AliasIsItsTool DoesNotReadIsBounded FloodTheProvider DoorsTestFinds
CONCURRENT = AtOnce|Contention|Concurrent|HoldsUp|InARing|Share|NoHelperIsLost|ReplicasDoNot|Together|OfManyWho|Voices
# The packages below folders that have tests of these names: others are not built for them.
having = $$(grep -rlE --include='*_test.go' '^func Test\w*($(1))' $(2) | xargs -n 1 dirname | sort -u)
RACE = RAPID_CHECKS=125 $(GO) test -short -vet=off -p 3 -timeout 20m
race: ## run the quick tests under the race detector where memory is shared
	$(RACE) -race $(call but,$(EXHAUSTIVE)) $(DETECTED)
	$(RACE) -race -run '$(CONCURRENT)' $(call having,$(CONCURRENT),$(SLOW:/...=))

# Without cgo the sandbox uses pid namespaces, and is tested both ways.
racing: ## run all tests but the command's under the race detector, which takes half an hour
	CGO_ENABLED=0 $(RACE) ./runtime/sandbox/...
	$(GO) test -race -p 3 -timeout 60m $$($(GO) list work | grep -v /cmd/)

corpus: ## hold the schema walker against jsonschema.Reflector on the types of generator/testdata/corpus
	cd generator/testdata/corpus && export GOWORK=off && $(GO) vet ./... && $(GO) test -count=1 -v .

benchtest: ## vet and test the benchmarks against other servers, without measuring
	cd testdata/bench && export GOWORK=off && $(GO) vet ./... && $(GO) test ./...

browser: ## drive the console and the page of mcpgen docs in headless Chromium (PICTURES=1 writes pictures)
	cd testdata/browser && export GOWORK=off && $(GO) vet ./... && $(GO) test -count=1 -v . $(if $(PICTURES),-args -pictures)

clients: ## run stock clients against the servers of examples, and write docs/reference/clients.md
	cd testdata/clients && export GOWORK=off && $(GO) vet ./... && $(GO) test -count=1 . $(if $(CHECK),,-args -write)

conformance: npm ## count the checks of the official conformance suite that servers of mcpgen pass
	$(GO) test -count=1 -v -run 'Conformance|Adopted' ./examples/conformance

bench: ## measure against other servers, in processes of their own, and print the tables (BENCHFLAGS)
	cd testdata/bench && GOWORK=off $(GO) run ./table -o bench.out $(BENCHFLAGS)

benchscale: ## measure growth: requests, memory, audit pages, packages, generated code (SCALEFLAGS)
	cd testdata/bench && GOWORK=off $(GO) run ./table -bench '^BenchmarkGrowth$$' -benchtime 100x -o scale.out
	cd testdata/bench && GOWORK=off $(GO) test -run '^$$' -bench '^BenchmarkScale$$' -benchtime 5x .
	cd testdata/bench && GOWORK=off $(GO) run ./scale $(SCALEFLAGS)
	cd runtime/store && $(GO) test -run '^$$' -bench '^BenchmarkAuditPage$$' -benchtime 50x . \
		-trail-rows 1000000

benchreadme: ## write the results of make bench and benchscale into docs/explanation/performance.md
	cd testdata/bench && for from in $(wildcard testdata/bench/*.out); do \
		GOWORK=off $(GO) run ./table -from $$(basename $$from) -page ../../docs/explanation/performance.md || exit 1; done

timing: ## measure whether response times distinguish hidden and unknown names (TIMINGFLAGS)
	cd testdata/bench && GOWORK=off $(GO) run ./timing $(TIMINGFLAGS)

examples: ## build every example
	$(GO) build -o bin/ $(EXAMPLES)

# The test binaries of all packages with targets are built in one run. Coverage guides the inputs in
# packages of mcpgen alone: go test -fuzz compiles every dependency for it, and links once a target.
FUZZED = $$(git grep -l '^func Fuzz' -- '*_test.go' | xargs -n 1 dirname | sort -u | sed 's,^,./,')
fuzz: ## run every fuzz target for FUZZTIME
	@$(GO) test -c -vet=off -gcflags=github.com/mcpgen/mcpgen/...=-d=libfuzzer -o bin/fuzz/ $(FUZZED)
	@cache=$$($(GO) env GOCACHE)/fuzz; top=$$PWD; $(GO) list -f '{{.Dir}} {{.ImportPath}}' $(FUZZED) | \
		while read -r folder package; do \
			cd "$$folder" || exit 1; binary=$$top/bin/fuzz/$${package##*/}.test; \
			for target in $$("$$binary" -test.list '^Fuzz'); do \
				echo "fuzz $$target in $$package for $(FUZZTIME)"; \
				"$$binary" -test.run '^$$' -test.fuzz "^$$target\$$" -test.fuzztime $(FUZZTIME) \
					-test.fuzzminimizetime 1000x -test.fuzzcachedir "$$cache/$$package" </dev/null || exit 1; \
			done || exit 1; \
		done

decoderoracle: ## compare generated decoders with an independent validator on DOCUMENTS documents
	cd testdata/decoderoracle && $(GO) run ./gentypes && $(GO) tool mcpgen .
	$(GO) test ./testdata/decoderoracle -count=1 -timeout 0 -v -documents $(DOCUMENTS) -seed $(SEED)

# The statements that test and system run, if they write profiles.
PRODUCT = ./runtime/... ./internal/... ./sourcehash \
	$(patsubst %,./%/...,$(filter-out examples%,$(NESTED)))
.PHONY: covered
covered: ## print the coverage of the profiles in PROFILES, fail below 95 percent
	$(GO) run ./internal/testcoverage -least 95 $(PROFILES) $(PRODUCT)

cover: ## run test and system, and print the coverage of code that is not generated
	@rm -rf bin/cover && mkdir -p bin/cover
	@$(MAKE) --no-print-directory test system covered PROFILES=bin/cover

# Public servers and services, served by mcpgen, and compared with the original. The largest
# packages below mcp-grafana are compiled without optimizations, which takes less time.
UNOPTIMIZED = $(patsubst %,-gcflags=github.com/%/...=-N,apache aws goccy grafana prometheus)
adopters: ## compare public servers and services with their ports
	@export GOWORK=off GOFLAGS="$$($(GO) env GOFLAGS) $(UNOPTIMIZED)"; \
	for module in $(ADOPTERS); do \
		echo "$$module"; \
		(cd $$module && $(GO) tool mcpgen check ./... && $(GO) test -count=1 -vet=all ./...) || exit 1; \
	done
	@$(GO) build -o bin/mcpgen-prove ./cmd/mcpgen-prove
	cd testdata/adopters/gitea && \
		GOWORK=off ../../../bin/mcpgen-prove --check ./... | diff proven.txt -

# The generated parts of docs/reference. make docs CHECK=1 fails if one is stale, as go test does.
docs: ## write the generated parts of docs/reference
	$(GO) run ./generator/internal/docs $(if $(CHECK),-check)
