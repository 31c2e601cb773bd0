# Every target does its own set-up: a fresh machine needs Go and network access to modules.

GO ?= go
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME ?= 10s

.DEFAULT_GOAL := help
.PHONY: help demo test ci setup generate build fmt vet staticcheck walls check race examples fuzz cover

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: ## serve the team directory and visit it as each of its users
	$(GO) generate ./examples/...
	$(GO) build -o bin/ ./examples/team ./examples/team/tour
	bin/tour bin/team
	@echo
	$(GO) tool mcpgen matrix ./examples/team/...

test: ## run all tests
	$(GO) test ./...

ci: ## everything that must hold before a change lands
	@for step in fmt vet staticcheck walls check examples demo race fuzz; do \
		start=$$(date +%s); \
		echo "== $$step"; \
		$(MAKE) --no-print-directory $$step || { echo "== $$step failed"; exit 1; }; \
		echo "== $$step took $$(($$(date +%s) - start)) s"; \
	done

setup: ## download what later targets need
	$(GO) mod download
	$(GO) run $(STATICCHECK) -version

generate: ## regenerate what mcpgen writes in this repository
	$(GO) generate ./...

build: ## build the command into bin/
	$(GO) build -o bin/ ./cmd/mcpgen

fmt: ## fail where gofmt would change a file
	@files=$$(git ls-files '*.go' | xargs gofmt -l); test -z "$$files" || { echo "run gofmt -w on:"; echo "$$files"; exit 1; }

vet: ## go vet
	$(GO) vet ./...

staticcheck: ## staticcheck, generated code included
	$(GO) run $(STATICCHECK) ./...

walls: ## the walls between packages, and the threat list's tests
	$(GO) test -count=1 -run 'TestWalls|TestThreats' ./cmd/mcpgen

check: ## fail where generated files are stale or a handler is unannotated
	$(GO) tool mcpgen check ./...

race: ## run all tests under the race detector
	$(GO) test -race -timeout 12m ./...

examples: ## build every example
	$(GO) build -o bin/ ./examples/...

fuzz: ## run every fuzz target for FUZZTIME
	@git grep -l '^func Fuzz' -- '*_test.go' | while read -r file; do \
		grep -ho '^func Fuzz[A-Za-z0-9]*' "$$file" | sed 's/func //' | while read -r target; do \
			echo "fuzz $$target in $$(dirname "$$file") for $(FUZZTIME)"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "./$$(dirname "$$file")" || exit 1; \
		done || exit 1; \
	done

cover: ## print the coverage of code that is not generated
	@mkdir -p bin
	$(GO) test -coverprofile=bin/cover.all -coverpkg=./generator/...,./runtime/...,./cmd/... ./... >/dev/null
	@grep -v -e '_gen.go:' -e '/testdata/' bin/cover.all > bin/cover.out
	@$(GO) tool cover -func=bin/cover.out | tail -n 1
