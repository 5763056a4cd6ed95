# ccm-push. `make help` lists the targets. Needs Go, and GNU make 3.81 or later.

GO          ?= go
VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
STATICCHECK ?= v0.8.2
FUZZTIME    ?= 20s
FUZZ        ?= .
ATTACK      ?= 60s
BENCH       ?= .
# Host programs to embed, such as linux/amd64; empty means all of them.
TARGETS     ?=
# Packages that start goroutines or share what others hold.
CONCURRENT   = ./cmd/... ./playbooks/... ./transport/... ./modules/engine ./modules/system ./modules/ral ./modules/dsc \
               ./modules/treestore ./modules/archive/... ./inventory/source ./e2e/lag
# Packages some of whose tests only root can run.
ROOT_TESTS   = ./cmd/ccm-push ./inventory ./modules/archive ./modules/archive/unpack ./modules/dsc ./modules/file ./modules/line ./modules/link ./modules/ral ./modules/rooted ./modules/scaffold ./modules/system ./transport
# The largest compressed lean linux/amd64 host program that `make size` accepts, in bytes.
SIZE_LIMIT  ?= 2200000

BUILDS = modules/builds/bin

# all: bin/ccm-push with the host programs in it
.PHONY: all
all: programs
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION)' -o bin/ccm-push ./cmd/ccm-push

# programs: the host programs, where their sources have changed
.PHONY: programs
programs:
	$(GO) run ./modules/builds/gen -out $(BUILDS) $(TARGETS)

# demo: three SSH hosts in one process, driven by bin/ccm-push; no root, no sshd
.PHONY: demo
demo: TARGETS = $(shell $(GO) env GOOS)/$(shell $(GO) env GOARCH)
demo: all
	$(GO) run ./e2e/demo bin/ccm-push

# test: all tests that an ordinary user can run; needs no `make` before it
# With RACE=-race (needs a C compiler) those of packages with goroutines are watched for data races.
.PHONY: test
test:
	$(GO) test $(RACE) $(CONCURRENT)
	$(GO) test $(filter-out $(shell $(GO) list $(CONCURRENT)),$(shell $(GO) list ./...))

# check: everything that must hold before a commit
.PHONY: check
check: lint race reproducible

# lint: what is seen without running anything
.PHONY: lint
lint: fmt vet cross staticcheck tidy

.PHONY: fmt
fmt:
	@files=$$(gofmt -l .) && if [ -n "$$files" ]; then echo "gofmt -w these files:" >&2; echo "$$files" >&2; exit 1; fi

# The e2e tag takes in the files that `make e2e` runs, the full one those of the
# full host program.
.PHONY: vet
vet:
	$(GO) vet -tags e2e,full ./...

# cross: the host program compiles for systems that differ from this one
.PHONY: cross
cross:
	@for target in linux/arm darwin/arm64 freebsd/amd64; do \
		for tags in lean full; do \
			echo "cross: $$target $$tags"; \
			CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) build -tags $$tags ./cmd/ccm-module ./modules/... || exit 1; \
		done; \
	done

.PHONY: staticcheck
staticcheck:
	$(GO) run honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK) -tags e2e,full ./...

.PHONY: tidy
tidy:
	$(GO) mod tidy -diff

.PHONY: race
race: RACE = -race
race: test

# reproducible: a build in another folder without a cache equals the one here, byte for byte
.PHONY: reproducible
reproducible: TARGETS = linux/amd64
reproducible:
	@dir=$$(mktemp -d) || exit 1; trap 'rm -rf "$$dir"' EXIT; \
	for copy in here elsewhere/deeper; do \
		mkdir -p "$$dir/$$copy" || exit 1; \
		tar -cf - --exclude ./.git --exclude ./bin --exclude './$(BUILDS)/*.gz' --exclude ./$(BUILDS)/index.json . | \
			tar -xf - -C "$$dir/$$copy" || exit 1; \
	done; \
	$(MAKE) -s -C "$$dir/here" all VERSION=$(VERSION) TARGETS=$(TARGETS) || exit 1; \
	GOCACHE="$$dir/cache" $(MAKE) -s -C "$$dir/elsewhere/deeper" all VERSION=$(VERSION) TARGETS=$(TARGETS) || exit 1; \
	for file in bin/ccm-push $(BUILDS)/ccm-module_linux_amd64.gz $(BUILDS)/ccm-module-full_linux_amd64.gz $(BUILDS)/index.json; do \
		cmp "$$dir/here/$$file" "$$dir/elsewhere/deeper/$$file" || exit 1; \
	done; \
	echo "reproducible: the builds are equal"

# e2e: tests against real hosts; Linux, as root; see e2e/fleet/fleet --help
# With -v, so that what could not be tested is seen, and what was measured.
.PHONY: e2e
e2e:
	@if [ "$$(uname -s)" != Linux ] || [ "$$(id -u)" != 0 ]; then \
		echo "e2e: NOT RUN on hosts: that needs Linux and root; try: sudo make e2e" >&2; fi
	$(GO) test -tags e2e -count 1 -timeout 40m -v ./e2e/... $(ROOT_TESTS)

# bench: benchmarks; BENCH selects them by name
# The e2e tag adds whole runs: against a real sshd, on hosts of the fleet (as root), and
# on simulated hosts. The peers have a target of their own.
.PHONY: bench
bench:
	$(GO) test -tags e2e -run '^$$' -bench '$(BENCH)' -skip BenchmarkPeers -benchmem -timeout 60m ./...

# bench-peers: the same work done by ccm-push and by other tools; Debian, as root
# It installs what Debian has of them (ansible-core, ansible-mitogen); pyinfra is measured
# if it is on PATH. Hosts of the fleet are restarted with python3 on them.
.PHONY: bench-peers
bench-peers:
	command -v ansible-playbook >/dev/null && test -d /usr/share/doc/ansible-mitogen || \
		apt-get install -y --no-install-recommends ansible-core ansible-mitogen
	$(GO) test -tags e2e -run '^$$' -bench BenchmarkPeers -benchtime 3x -timeout 60m -v ./e2e/

# size: how large the host programs are; fails if the lean one of linux/amd64 is too large
.PHONY: size
size: programs
	@awk -F'[:,] *' -v limit=$(SIZE_LIMIT) ' \
		BEGIN { printf "%-20s %12s %12s\n", "host program", "bytes", "compressed" } \
		/{/ { value["full"] = "" } \
		{ gsub(/[" ]/, "", $$1); gsub(/"/, "", $$2); value[$$1] = $$2 } \
		$$1 == "compressed_size" { \
			target = value["os"] "/" value["arch"] (value["full"] == "true" ? " full" : ""); \
			printf "%-20s %12d %12d\n", target, value["size"], $$2; \
			if (target == "linux/amd64" && $$2 > limit + 0) large = 1 \
		} \
		END { if (large) { printf "linux/amd64 is larger than %d bytes\n", limit; exit 1 } }' $(BUILDS)/index.json

# race-links: a user plants links while root works, for ATTACK per resource type; Linux, as root
.PHONY: race-links
race-links:
	CCM_RACE=$(ATTACK) $(GO) test -count 1 -timeout 60m -run 'TestPlanted$$' -v ./modules/...

# fuzz: every fuzz target below FUZZ, a list of folders such as ./transport, for FUZZTIME
.PHONY: fuzz
fuzz:
	@failed=; \
	for target in $$(grep -rso --include '*_test.go' '^func Fuzz[A-Za-z0-9_]*' $(FUZZ) | sed 's|/[^/]*_test.go:func |:|' | sort -u); do \
		dir=$${target%:*}; name=$${target##*:}; \
		echo "fuzz: $$dir $$name"; \
		$(GO) test "$$dir" -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) || failed="$$failed $$name"; \
	done; \
	if [ -n "$$failed" ]; then echo "fuzz: FAILED:$$failed; the inputs stand in testdata/fuzz" >&2; exit 1; fi

# clean: remove what the other targets have built
.PHONY: clean
clean:
	rm -rf bin
	rm -f $(BUILDS)/*.gz $(BUILDS)/index.json

# help: this list
.PHONY: help
help:
	@sed -n 's/^# \([a-z0-9]*\): /\1: /p' Makefile
