# The two that matter: "make demo" runs a task before your eyes, "make test"
# proves the whole. "make help" lists the rest.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build

# Without a tag, or outside a git checkout, the version is still a word.
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unversioned)
GOBUILD := CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$(VERSION)"

# SQLite is C transpiled to Go; instrumenting it takes minutes to compile and
# finds nothing. Only that package: one built without -race that instantiates
# sync's generics would hand its copies to everybody, and races that are none.
RACE := -race '-gcflags=modernc.org/sqlite/lib=-race=false'

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/interlock
	$(GOBUILD) -o bin/interlock ./cmd/interlock

.PHONY: demo
demo: build ## everything in one process; ARGS=--once ends by itself
	@./bin/interlock demo $(ARGS)

.PHONY: test
test: setup fresh format vet race fuzz cross ## the whole proof (installs what it needs)

.PHONY: test-quick
test-quick: fresh format vet ## without a C compiler, Node, PHP, Chromium, adb or cross-builds
	@.ci/gotest $$(go list ./... | grep -vE '/test/|/internal/(e2e|device/(webdriver|android))$$')
	@echo "left out: the race detector (needs gcc), test/peers and internal/e2e (need Node), test/wordpress (needs PHP and Chromium), internal/device/webdriver (needs ChromeDriver), internal/device/android (needs adb), fuzzing, the cross-builds; 'make test' has them"

.PHONY: test-long
test-long: test ## the same at full size: hours
	@.ci/long

.PHONY: bench
bench: ## the figures of docs/PERFORMANCE.md on this machine
	@go build -buildvcs=false -o bin/bench ./internal/bench && ./bin/bench $(ARGS)
	@echo; go test -run '^$$' -bench . -benchmem $$(grep -rlE '^func Benchmark' --include='*_test.go' internal | xargs -n 1 dirname | sort -u | sed 's|^|./|')

.PHONY: setup
setup:
	@.ci/setup

.PHONY: fresh
fresh:
	@mkdir -p .cache && : >.cache/test.log

.PHONY: format
format:
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go' 2>/dev/null || find . -name '*.go' -not -path '*/node_modules/*')); \
	[ -z "$$unformatted" ] || { echo "gofmt these files:" $$unformatted >&2; exit 1; }

.PHONY: vet
vet:
	@echo "go vet ./..."; go vet ./...

.PHONY: peers
peers:
	@.ci/peers

.PHONY: wordpress
wordpress:
	@.ci/wordpress

.PHONY: plugin
plugin: ## the WordPress plugin, dist/interlock-bridge.zip
	@.ci/plugin && echo dist/interlock-bridge.zip

# The scanner reads what strangers write, so a minute of new inputs each time.
.PHONY: fuzz
fuzz:
	@.ci/fuzz ./internal/bridge/selector FuzzScan 1m
	@.ci/fuzz ./internal/device/android FuzzReadDump 30s

.PHONY: race
race: peers wordpress
	@PATH="$(CURDIR)/test/peers/node_modules/.bin:$$PATH" .ci/gotest $(RACE) ./...

# Unoptimised, because it takes two thirds of the time and proves the same:
# that the program compiles and links there.
.PHONY: cross
cross:
	@for target in darwin/arm64 windows/amd64 linux/arm64; do \
	  echo "build for $$target"; \
	  GOOS=$${target%/*} GOARCH=$${target#*/} CGO_ENABLED=0 go build -buildvcs=false -gcflags=all='-N -l' -o /dev/null ./cmd/interlock; \
	done
