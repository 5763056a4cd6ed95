# ccm-push. `make help` lists the targets. Needs Go, and GNU make 3.81 or later.

GO          ?= go
VERSION     ?= $(shell git describe --tags --always --dirty --abbrev=10 2>/dev/null || echo dev)
STATICCHECK ?= v0.8.2
# What makes packages. Its configuration is .nfpm.yaml.
NFPM        ?= $(GO) run github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2
# LONG=1 has random tests take all of their seeds, and tests on hosts all combinations. Without
# it they take about a tenth of the seeds, and of combinations some in which each part occurs.
LONG        ?=
# FUZZ are the packages whose targets are fuzzed, each for FUZZTIME; after FUZZBUDGET seconds,
# if there is one, no other target begins, and those that are left out are named.
FUZZ        ?= ./...
FUZZTIME    ?= 20s
FUZZBUDGET  ?=
ATTACK      ?= 60s
BENCH       ?= .
# Host programs to embed, such as linux/amd64; empty means all of them.
TARGETS     ?=
# Systems that `make dist` makes ccm-push for: archives for all, packages for linux.
PLATFORMS   ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
# Where `make install` installs to, below DESTDIR, and what it installs.
PREFIX      ?= /usr/local
DESTDIR     ?=
PROGRAM     ?= bin/ccm-push
BROKER      ?= bin/ccm-push-broker
# Whether install-broker installs a unit for systemd; empty is no.
UNIT        ?= yes
# Debian's zsh has vendor-completions in place of site-functions.
ZSH_FOLDER  ?= $(PREFIX)/share/zsh/site-functions
# The time of everything in a release, in seconds since 1970: that of the commit.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null)

empty        =
space        = $(empty) $(empty)
SHORT        = $(if $(LONG),,-short)
# The commit after which `make flaky` looks for tests that changed, and how often it runs each.
SINCE       ?= HEAD~1
N           ?= 20
# Tests of a package that may run at once, where there are fewer processors: they wait for deadlines and for programs.
AT_ONCE     := -parallel $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1); [ "$$n" -gt 6 ] && echo "$$n" || echo 6)
# Packages that start goroutines, or whose tests do. The controller's own is tested plainly:
# its scripts start a thousand programs, and each takes a quarter of a second longer when it is
# watched for races. RACE_SCRIPTS are those of them that have it do things at once.
CONCURRENT   = $(filter-out ./cmd/ccm-push,$(shell grep -rlE '^[[:space:]]+go [a-zA-Z_]|\.Go.func|errgroup|AfterFunc' \
               --include='*.go' ./cmd ./e2e/faultproxy ./e2e/lag ./facts ./inventory ./modules ./playbooks ./templates ./transport | sed 's|/[^/]*$$||' | sort -u))
RACE_SCRIPTS = TestScripts/^(facts|graph|interrupt|passphrase|serial)$$|TestTheThirdSignalWaitsForNothing|TestAClosedTerminalKillsNothing|TestTheFirstSignalEndsLoading
# The packages whose tests take longest come first, so that none of them is alone at the end.
SLOWEST      = ./playbooks ./cmd/ccm-push ./modules/pkg ./templates/gotemplate ./cmd/ccm-module ./transport/start ./modules/engine
# Tests that look at who runs them, as "PACKAGE NAME": root sees more of them than others do.
# Those of user and group are run by the tests of e2e, in folders of their own.
ROOT_TESTS   = $(shell find ./cmd ./inventory ./modules ./playbooks ./transport -name '*_test.go' ! -path './modules/user/*' ! -path './modules/group/*' -exec awk \
               '/^func /{name = match($$0, /^func Test[A-Za-z0-9_]*/) ? substr($$0, 6, RLENGTH-5) : ""} \
               name && /Gete?uid\(\)|needs\.Root|skipUnlessRoot|Trapped|InMountNamespace|accountstest\.Private/{dir = FILENAME; sub("/[^/]*$$", "", dir); print dir, name; name = ""}' {} +)
ROOT_SCRIPTS = TestScripts/^(converge|footprint|resources|umask)$$
# The largest compressed lean linux/amd64 host program that `make size` accepts, in bytes.
SIZE_LIMIT  ?= 2350000

BUILDS = modules/builds/bin
# One set of flags for programs, tests and what looks at sources, so that a package is compiled
# once for all of them. It is without what only debuggers need: a tenth of the time.
export GOFLAGS     += -trimpath -buildvcs=false -gcflags=all=-dwarf=false
export CGO_ENABLED := 0
LINK = -ldflags '-s -w -X main.version=$(VERSION)'
# VERSION in the form that deb and rpm sort rightly: v1.2.0-rc1 is 1.2.0~rc1, before 1.2.0; five
# commits behind v1.2.0 are 1.2.0+5.gHASH; without a tag it is 0.0.0~gitTIME.HASH. That of apk
# has no place for hashes.
RELEASE = $(shell echo '$(VERSION)' | sed -E -e 's/^v//' -e 's/-([0-9]+)-(g[0-9a-f]+)/+\1.\2/' -e '/\+/s/-dirty$$/.dirty/' \
             -e 's/-dirty$$/+dirty/' -e 's/-/~/' -e 's/-/./g' \
             -e '/^[0-9]+\.[0-9]+\.[0-9]+/!s/^/0.0.0~git'$$(date -u -d @$(SOURCE_DATE_EPOCH) +%Y%m%d%H%M%S 2>/dev/null)'./')
APK_RELEASE = $(shell echo '$(RELEASE)' | sed -E -e 's/\+([0-9]+).*/_p\1/' -e 's/\+.*//' -e 's/(~git[0-9]+).*/\1/' \
             -e 's/~([a-z]+)\.([0-9])/~\1\2/' -e 's/~/_/')
# go test, which prints at the end what this machine could not test, and why.
TEST = $(GO) run ./e2e/testrun $(GO) test
# Tests that are watched for data races; the detector needs C. What vet says is said by lint. The tests of a package that take
# five minutes on two processors may take much longer beside others.
RACE = $(TEST) $(SHORT) $(AT_ONCE) -race -vet=off -timeout 20m

# all: bin/ccm-push with the host programs in it
.PHONY: all
all: programs
	$(GO) build $(LINK) -o bin/ccm-push ./cmd/ccm-push

# broker: bin/ccm-push-broker, a server of NATS for those who have none
.PHONY: broker
broker:
	$(GO) build $(LINK) -o bin/ccm-push-broker ./cmd/ccm-push-broker

# programs: the host programs, where their sources have changed
.PHONY: programs
programs:
	$(GO) run ./modules/builds/gen -out $(BUILDS) $(TARGETS)

# man: the man pages, in bin/man, dated by SOURCE_DATE_EPOCH if that is set
# man1 has the commands, man7 the topics of help.
.PHONY: man
man:
	rm -rf bin/man
	GOOS= GOARCH= $(GO) run -ldflags '-X main.version=$(VERSION)' ./cmd/ccm-push man bin/man

# reference: docs/reference and the two pages about types, from the commands, their flags, the types and what failures print;
# stubs of moved pages and contents of long ones
.PHONY: reference
reference:
	$(GO) test -count 1 -vet=off -run 'TestReference$$|TestFailures$$' ./cmd/ccm-push -update
	$(GO) test -count 1 -vet=off -run 'TestTypesPage$$' ./modules/builtin -update
	$(GO) test -count 1 -vet=off -run 'TestMovedSections$$|TestUserPages$$' ./cmd/ccm-push/manual -update

# licences: bin/LICENCES, with those of the modules that the programs are linked of
.PHONY: licences
licences:
	@set -e; mkdir -p bin; { \
		printf '== Go, %s\n\n' "$$($(GO) env GOVERSION)"; cat "$$($(GO) env GOROOT)/LICENSE"; \
		for os in linux darwin freebsd; do \
			GOOS=$$os $(GO) list -deps -tags full -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/...; \
		done | sort -u | \
		while read -r module version folder; do \
			printf '\n== %s %s\n\n' "$$module" "$$version"; \
			cat "$$folder"/LICEN[CS]E* || { echo "licences: $$module has none" >&2; exit 1; }; \
			for notice in "$$folder"/NOTICE*; do [ ! -f "$$notice" ] || cat "$$notice"; done; \
		done; \
	} >bin/LICENCES

# install: what `make` has built, its man pages, completions and docs, to PREFIX (/usr/local)
.PHONY: install
install:
	@if [ ! -x bin/ccm-push ]; then echo "install: there is no bin/ccm-push; first run: make" >&2; exit 1; fi
	@set -e; umask 022; prefix='$(DESTDIR)$(PREFIX)'; zsh='$(DESTDIR)$(ZSH_FOLDER)'; \
	install -d "$$prefix/bin" "$$prefix/share/man" "$$prefix/share/bash-completion/completions" \
		"$$prefix/share/fish/vendor_completions.d" "$$zsh" "$$prefix/share/doc/ccm-push/docs"; \
	install -m 755 '$(PROGRAM)' "$$prefix/bin/ccm-push"; \
	SOURCE_DATE_EPOCH='$(SOURCE_DATE_EPOCH)' bin/ccm-push man "$$prefix/share/man"; \
	bin/ccm-push completion bash >"$$prefix/share/bash-completion/completions/ccm-push"; \
	bin/ccm-push completion fish >"$$prefix/share/fish/vendor_completions.d/ccm-push.fish"; \
	bin/ccm-push completion zsh >"$$zsh/_ccm-push"; \
	install -m 644 README.md LICENSE $(wildcard bin/LICENCES) "$$prefix/share/doc/ccm-push"; \
	cp -R docs/. "$$prefix/share/doc/ccm-push/docs"; \
	chmod -R u=rwX,go=rX "$$prefix/share/doc/ccm-push"

# install-broker: what `make broker` has built, and its unit for systemd, to PREFIX
.PHONY: install-broker
install-broker:
	@if [ ! -x '$(BROKER)' ]; then echo "install-broker: there is no $(BROKER); first run: make broker" >&2; exit 1; fi
	@set -e; umask 022; prefix='$(DESTDIR)$(PREFIX)'; \
	install -d "$$prefix/bin" "$$prefix/share/doc/ccm-push-broker"; \
	install -m 755 '$(BROKER)' "$$prefix/bin/ccm-push-broker"; \
	install -m 644 LICENSE docs/guide/broker.md $(wildcard bin/LICENCES) "$$prefix/share/doc/ccm-push-broker"; \
	if [ -n '$(UNIT)' ]; then \
		install -d "$$prefix/lib/systemd/system"; \
		sed 's|@PREFIX@|$(or $(PREFIX),/usr/local)|' cmd/ccm-push-broker/ccm-push-broker.service >"$$prefix/lib/systemd/system/ccm-push-broker.service"; \
	fi

# uninstall: remove what install has installed
.PHONY: uninstall
uninstall:
	rm -f '$(DESTDIR)$(PREFIX)/bin/ccm-push' '$(DESTDIR)$(ZSH_FOLDER)/_ccm-push' \
		'$(DESTDIR)$(PREFIX)/share/bash-completion/completions/ccm-push' \
		'$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/ccm-push.fish'
	rm -f '$(DESTDIR)$(PREFIX)'/share/man/man[17]/ccm-push*.[17]
	rm -rf '$(DESTDIR)$(PREFIX)/share/doc/ccm-push'
	rm -f '$(DESTDIR)$(PREFIX)/bin/ccm-push-broker' '$(DESTDIR)$(PREFIX)/lib/systemd/system/ccm-push-broker.service'
	rm -rf '$(DESTDIR)$(PREFIX)/share/doc/ccm-push-broker'

# dist: a release in bin/dist: archives, packages (deb, rpm, apk), their checksums, an SBOM; Linux
# It is the same wherever it is made of the same commit, from a clean clone, by the same Go.
.PHONY: dist
dist: all licences
	@if [ -z '$(SOURCE_DATE_EPOCH)' ]; then echo "dist: there is no commit to take the time of; set SOURCE_DATE_EPOCH" >&2; exit 1; fi
	@set -e; umask 022; export SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH); programs= alone=; \
	rm -rf bin/dist bin/stage; mkdir -p bin/dist; \
	stage() { \
		$(MAKE) -s install PROGRAM=$$program DESTDIR=bin/stage/$$1 PREFIX=$$2 ZSH_FOLDER=$$2/share/zsh/$$3; \
		find bin/stage/$$1 -exec touch -d @$(SOURCE_DATE_EPOCH) {} +; \
	}; \
	pack() { tar -C bin/stage --format=ustar --sort=name --owner=0 --group=0 --numeric-owner -cf - $$1 | gzip -9n >bin/dist/$$1.tar.gz; }; \
	stageBroker() { \
		$(MAKE) -s install-broker BROKER=$$broker DESTDIR=bin/stage/$$1 PREFIX=$$2 UNIT=$$3; \
		find bin/stage/$$1 -exec touch -d @$(SOURCE_DATE_EPOCH) {} +; \
	}; \
	for platform in $(PLATFORMS); do \
		os=$${platform%/*} arch=$${platform#*/}; \
		program=bin/stage/$$os-$$arch; programs="$$programs $$program"; \
		GOOS=$$os GOARCH=$$arch $(GO) build $(LINK) -o $$program ./cmd/ccm-push; \
		archive=ccm-push_$(RELEASE)_$${os}_$$arch; \
		stage $$archive '' site-functions; \
		pack $$archive; \
		if [ $$os != linux ]; then continue; fi; \
		broker=bin/stage/broker-$$arch; alone="$$alone -alone $$broker"; \
		GOOS=$$os GOARCH=$$arch $(GO) build $(LINK) -o $$broker ./cmd/ccm-push-broker; \
		archive=ccm-push-broker_$(RELEASE)_$${os}_$$arch; \
		stageBroker $$archive '' yes; \
		pack $$archive; \
		for format in deb rpm apk; do \
			case $$format in deb) zsh=vendor-completions ;; *) zsh=site-functions ;; esac; \
			case $$format in apk) release=$(APK_RELEASE) ;; *) release=$(RELEASE) ;; esac; \
			stage $$arch.$$format /usr $$zsh; \
			ARCH=$$arch RELEASE=$$release TREE=bin/stage/$$arch.$$format \
				$(NFPM) package --config .nfpm.yaml --packager $$format --target bin/dist >/dev/null; \
			case $$format in apk) unit= ;; *) unit=yes ;; esac; \
			stageBroker $$arch.broker.$$format /usr $$unit; \
			ARCH=$$arch RELEASE=$$release TREE=bin/stage/$$arch.broker.$$format \
				$(NFPM) package --config .nfpm-broker.yaml --packager $$format --target bin/dist >/dev/null; \
		done; \
	done; \
	$(GO) run ./modules/builds/sbom -version $(RELEASE) -builds $(BUILDS) $$alone $$programs >bin/dist/ccm-push_$(RELEASE).cdx.json; \
	rm -r bin/stage; \
	cd bin/dist; sha256sum -- * >../SHA256SUMS; mv ../SHA256SUMS .; ls -l

# dist-version: the version that VERSION is in packages, and the one in those of apk
.PHONY: dist-version
dist-version:
	@echo '$(RELEASE) $(APK_RELEASE)'

# demo: three SSH hosts in one process, driven by bin/ccm-push; no root, no sshd
.PHONY: demo
demo: TARGETS = $(shell $(GO) env GOOS)/$(shell $(GO) env GOARCH)
demo: all
	$(GO) run ./e2e/demo bin/ccm-push

# test: all tests that an ordinary user can run; needs no `make` before it. What vet says, lint says.
# The linker and the tests collect garbage seldom: most of them end before it matters.
.PHONY: test
test:
	GOGC=$${GOGC:-400} $(TEST) $(SHORT) $(AT_ONCE) -vet=off -timeout 20m $(SLOWEST) ./...

# race: the same, but packages with goroutines are watched for data races; needs a C compiler
# AFTER may name the results (CCM_RESULTS) of an earlier `make test`: of the packages without goroutines it then runs only
# what `make test` could not run.
AFTER ?=
.PHONY: race
race:
	@failed=; \
	run() { echo "$$*"; "$$@" || failed=yes; }; \
	export CGO_ENABLED=1; \
	run $(RACE) $(filter $(SLOWEST),$(CONCURRENT)) $(CONCURRENT); \
	run $(RACE) -run '$(RACE_SCRIPTS)' ./cmd/ccm-push; \
	export CGO_ENABLED=0; \
	plain() { run $(TEST) $(SHORT) $(AT_ONCE) -vet=off -timeout 20m "$$@"; }; \
	if [ -z '$(AFTER)' ]; then \
		plain $(filter-out $(CONCURRENT),$(SLOWEST)) $(filter-out $(shell $(GO) list $(CONCURRENT)),$(shell $(GO) list ./...)); \
	else \
		lacking=$$($(GO) run ./e2e/testrun again '$(AFTER)' $(shell $(GO) list $(CONCURRENT))) || failed=yes; \
		echo "$$lacking" | { while read -r package tests; do \
			[ -z "$$package" ] || plain -run "$$tests" "$$package" </dev/null; \
		done; test -z "$$failed"; } || failed=yes; \
	fi; \
	test -z "$$failed"

# flaky: the tests that the commits after SINCE changed, N times each while other threads take the processors
.PHONY: flaky
flaky:
	@list=$$($(GO) run ./e2e/testrun touched $(SINCE)) || exit 1; failed=; \
	[ -n "$$list" ] || echo "flaky: no test changed after $(SINCE)"; \
	echo "$$list" | { while read -r package tests; do \
		[ -n "$$package" ] || continue; \
		case $$package in */e2e) tags='-tags e2e' ;; *) tags= ;; esac; \
		echo "flaky: $(N) times: $$package $$tests"; \
		$(GO) run ./e2e/testrun load $(TEST) $(SHORT) $(AT_ONCE) $$tags -vet=off -count $(N) -timeout 60m -run "$$tests" "$$package" </dev/null || failed=yes; \
	done; test -z "$$failed"; }

# race-all: all tests, and all of them watched for data races
.PHONY: race-all
race-all:
	CGO_ENABLED=1 $(RACE) -timeout 30m ./...

# long: all tests, random ones with all of their seeds; as root also those on hosts
.PHONY: long
long: LONG = 1
long: race root e2e

# check: everything that must hold before a commit
.PHONY: check
check: TARGETS = linux/amd64
check: PLATFORMS = linux/amd64
check: lint race reproducible

# lint: what is seen without running anything
.PHONY: lint
lint: fmt vet cross staticcheck tidy words flaky-list

# words: count sentences that have to be read twice; fails if a folder has more than e2e/words/limits.txt allows
# LIST=PATH prints the sentences, KIND=docs, messages or comments only these, UPDATE=1 writes the limits, PEER=DIR prints the
# numbers of another repository as well.
.PHONY: words
words:
	@$(GO) run ./e2e/words $(if $(LIST),-list '$(LIST)' -kind '$(KIND)') $(if $(UPDATE),-update) $(if $(PEER),-peer '$(PEER)')

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
			GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) build -tags $$tags ./cmd/ccm-module ./modules/... || exit 1; \
		done; \
	done

.PHONY: staticcheck
staticcheck:
	$(GO) run honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK) -tags e2e,full ./...

.PHONY: tidy
tidy:
	$(GO) mod tidy -diff

# A test stays in this list for 14 days, and five tests at most: then make lint fails.
.PHONY: flaky-list
flaky-list:
	$(GO) run ./e2e/testrun flaky e2e/testdata/flaky

# reproducible: a release made in another folder without a cache equals one with it, byte for byte; Linux
# PLATFORMS and TARGETS say of which programs; all of them take many minutes. FRESH= has the second
# one use the cache as well: then it is about all that is made of what the compiler has made.
FRESH ?= yes
.PHONY: reproducible
reproducible:
	@dir=$$(mktemp -d) || exit 1; trap 'rm -rf "$$dir"' EXIT; \
	for copy in here elsewhere/deeper; do \
		mkdir -p "$$dir/$$copy" || exit 1; \
		tar -cf - --exclude ./.git --exclude ./bin --exclude './$(BUILDS)/*.gz' --exclude ./$(BUILDS)/index.json . | \
			tar -xf - -C "$$dir/$$copy" || exit 1; \
	done; \
	dist() { $(MAKE) -s dist VERSION=$(VERSION) SOURCE_DATE_EPOCH=$(or $(SOURCE_DATE_EPOCH),0) \
		TARGETS="$(TARGETS)" PLATFORMS="$(PLATFORMS)" "$$@" >/dev/null; }; \
	dist -C "$$dir/here" || exit 1; \
	cache=$$($(GO) env GOCACHE); \
	GOCACHE="$(if $(FRESH),$$dir/cache,$$cache)" dist -C "$$dir/elsewhere/deeper" NFPM="GOCACHE=$$cache $(NFPM)" || exit 1; \
	for folder in bin $(BUILDS); do \
		diff -r "$$dir/here/$$folder" "$$dir/elsewhere/deeper/$$folder" || exit 1; \
	done; \
	cat "$$dir/here/bin/dist/SHA256SUMS"; \
	echo "reproducible: the releases are equal"

# root: the tests that root sees more of than others; Linux, as root
.PHONY: root
root:
	@if [ "$$(uname -s)" != Linux ] || [ "$$(id -u)" != 0 ]; then \
		echo "root: NOT RUN as root: that needs Linux and root; try: sudo make root" >&2; fi
	$(TEST) $(SHORT) $(AT_ONCE) -vet=off -count 1 -exec "$(CURDIR)/e2e/apart" -run '^($(subst $(space),|,$(sort $(filter Test%,$(ROOT_TESTS)))))$$|$(ROOT_SCRIPTS)' $(sort $(filter ./%,$(ROOT_TESTS)))

# pictures: those of docs/pictures, of runs on forty real hosts; needs root, Debian, and gets tmux, aha and chromium
.PHONY: pictures
pictures: TARGETS = linux/amd64
pictures: all
	e2e/pictures/pictures

# e2e: tests against real hosts; Linux, as root; see e2e/fleet/fleet --help
# With -v, so that what could not be tested is seen, and what was measured.
.PHONY: e2e
e2e:
	@if [ "$$(uname -s)" != Linux ] || [ "$$(id -u)" != 0 ]; then \
		echo "e2e: NOT RUN on hosts: that needs Linux and root; try: sudo make e2e" >&2; fi
	$(TEST) $(SHORT) $(AT_ONCE) -tags e2e -vet=off -count 1 -timeout 40m -v ./e2e/...

# e2e-firewalld: what is tested of firewall rules with ufw, with firewalld too, for which an image of rpm is made
.PHONY: e2e-firewalld
e2e-firewalld:
	CCM_FIREWALLD=1 $(GO) test -tags e2e -vet=off -count 1 -timeout 20m -run 'TestFleetFirewallManagers$$' -v ./e2e

# alone: the test RUN of the package PACKAGE, or TestScripts/NAME, with nothing beside it
.PHONY: alone
alone:
	$(TEST) $(SHORT) $(if $(findstring /e2e,$(PACKAGE)),-tags e2e) -vet=off -count 1 -parallel 1 -timeout 20m -run '^$(subst /,$$/^,$(RUN))$$' $(PACKAGE)

# lockouts: the table of lock-outs of docs/internals/lockouts.md, on real hosts; Debian, as root; about ten minutes
.PHONY: lockouts
lockouts:
	CCM_LOCKOUTS=all $(GO) test -tags e2e -vet=off -count 1 -parallel 3 -timeout 60m -run 'TestFleetLockouts$$' -v ./e2e

# selinux: the types of SELinux against its real programs, on hosts that have a policy; Debian, as root; three minutes
.PHONY: selinux
selinux:
	CCM_SELINUX=1 $(GO) test -tags e2e -vet=off -count 1 -parallel 1 -timeout 30m -run 'TestFleetSelinux' -v ./e2e

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

# faults: connections go wrong in every way at every place; Linux, as an ordinary user
# It takes about 40 minutes on two cores. Other tests try some of them, which CCM_SEED chooses.
.PHONY: faults
faults:
	CCM_FAULTS=all $(GO) test -count 1 -parallel 12 -timeout 90m -run 'TestFaults$$' -v ./playbooks

# outcomes: random plays under random faults: what was reported is compared with what happened; Linux, as root
# 200 seeds take three minutes on two cores. It can be stopped: bin/outcomes keeps, for each state of the tree, which seeds
# passed. `make e2e` runs 20 seeds that the commit chooses. OUTCOMES=TestFleetOutcomes takes hosts of e2e/fleet.
SEEDS    ?= 1-200
OUTCOMES ?= TestOutcomes
.PHONY: outcomes
outcomes:
	CCM_OUTCOMES=$(SEEDS) CCM_OUTCOMES_STATE=$(CURDIR)/bin/outcomes/$$(git rev-parse --short=12 HEAD)-$$(git diff HEAD | git hash-object --stdin | cut -c1-12) \
		$(GO) test -tags e2e -vet=off -count 1 -parallel 8 -timeout 5h -run '^$(OUTCOMES)$$' ./e2e

# fidelity: random manifests are checked and run on a host of e2e/fleet: no prediction is certain and wrong; Linux, as root
# 200 seeds take five minutes. It can be stopped, as outcomes: bin/fidelity keeps which seeds passed. A seed that fails is
# printed at once, and made smaller then. `make e2e` runs the cases of e2e/testdata/fidelity, and seeds that the commit
# chooses for 80 seconds.
.PHONY: fidelity
fidelity:
	CCM_FIDELITY=$(SEEDS) CCM_FIDELITY_STATE=$(CURDIR)/bin/fidelity/$$(git rev-parse --short=12 HEAD)-$$(git diff HEAD | git hash-object --stdin | cut -c1-12) \
		$(GO) test -tags e2e -vet=off -count 1 -timeout 5h -v -run '^TestFleetFidelity$$' ./e2e

# battery: small playbooks are run by Ansible on one host, and converted on its twin: both are the same then; Debian, as root
# It takes five minutes, and can be stopped, as outcomes. PROJECTS=a1-stop,b2-include-tasks-vars chooses some of
# e2e/testdata/battery. `make e2e` runs what the commit chooses for 75 seconds.
PROJECTS ?= all
.PHONY: battery
battery:
	CCM_BATTERY=$(PROJECTS) CCM_BATTERY_STATE=$(CURDIR)/bin/battery/$$(git rev-parse --short=12 HEAD)-$$(git diff HEAD | git hash-object --stdin | cut -c1-12) \
		$(GO) test -tags e2e -vet=off -count 1 -timeout 1h -v -run '^TestFleetBattery$$' ./e2e

# roles: public roles are run by Ansible on a host, and converted on its twin: both are the same then; Debian 12, as root, after
# apt-get update. ROLES is a folder with the repositories of e2e/testdata/roles/list, in subfolders such as owner+name. It
# takes an hour, and can be stopped: what Ansible did is kept in ROLES/ansible, the results in ROLES_OUT. ONLY_ROLES=a/b,c/d
# chooses roles.
ROLES      ?=
ROLES_OUT  ?= bin/roles/$$(git rev-parse --short=12 HEAD)-$$(git diff HEAD | git hash-object --stdin | cut -c1-12)
ONLY_ROLES ?=
.PHONY: roles
roles:
	mkdir -p "$(ROLES_OUT)"
	CCM_ROLES="$(ROLES)" CCM_ROLES_ONLY=$(ONLY_ROLES) CCM_ROLES_STATE="$$(cd "$(ROLES_OUT)" && pwd)" \
		$(GO) test -tags e2e -vet=off -count 1 -timeout 5h -v -run '^TestFleetRoles$$' ./e2e

# forecasts: real manifests are checked and run on hosts with the Debian archive: a table of how many predictions are
# certain, likely and unknown, and which are right; Debian 12, as root, after apt-get update. It takes 15 minutes on two
# cores, and can be stopped, as outcomes. ONLY=01,03 chooses manifests of e2e/testdata/forecasts. FORECASTS_OUT is the
# folder of the results, as JSON lines; manifests that have results there do not run again. PACKAGES=1 measures the
# packages of e2e/testdata/forecasts/packages instead, with manifests that SEED chooses: half an hour. PACKAGES=nsd,knot
# chooses packages.
ONLY          ?= all
FORECASTS_OUT ?= bin/forecasts/$$(git rev-parse --short=12 HEAD)-$$(git diff HEAD | git hash-object --stdin | cut -c1-12)
PACKAGES      ?=
.PHONY: forecasts
forecasts:
	mkdir -p "$(FORECASTS_OUT)"
	CCM_FORECASTS=$(ONLY) CCM_PACKAGES=$(patsubst 1,all,$(PACKAGES)) CCM_SEED=$(SEED) FORECASTS_OUT="$$(cd "$(FORECASTS_OUT)" && pwd)" \
		$(GO) test -tags e2e -vet=off -count 1 -timeout 5h -v -run '^TestFleetForecasts$(if $(PACKAGES),OfPackages)$$' ./e2e

# cuts-workers: workers, their coordinator, server and links are cut at each CUTSth event of CUTHOSTS hosts; Linux,
# as an ordinary user. Other tests cut each at one event, which CCM_SEED chooses.
CUTS ?= 2
CUTHOSTS ?= 6
.PHONY: cuts-workers
cuts-workers:
	CCM_CUTS=$(CUTS) CCM_CUTS_HOSTS=$(CUTHOSTS) $(GO) test -count 1 -parallel 8 -timeout 90m -run 'TestCuts$$' -v ./playbooks/workers

# cuts-fleet: the same on real hosts, with ccm-push-broker and terminals: each cut at each FLEETCUTSth event of
# CUTHOSTS hosts, as many such runs side by side as CUTFLEET hosts are enough for. Debian 12 as root, with the number of its fleet in FLEET.
FLEETCUTS ?= 9
CUTFLEET ?= 60
.PHONY: cuts-fleet
cuts-fleet:
	CCM_CUTS=$(FLEETCUTS) CCM_CUTS_HOSTS=$(CUTHOSTS) CCM_CUTS_FLEET=$(CUTFLEET) $(GO) test -tags e2e -vet=off -count 1 -parallel 10 -timeout 5h -run 'TestFleetCuts$$' -v ./e2e

# same: what this tree prints equals what the tree OLD prints, for all scripts of cmd/ccm-push and PLAYS random plays
# OLD is a checkout of an older commit. SEED chooses the plays; the default is chosen by the commit. As an ordinary user, or with
# EXEC, a program that starts tests as one.
PLAYS ?= 200
.PHONY: same
same:
	$(GO) run ./e2e/same $(if $(SEED),-seed $(SEED)) -plays $(PLAYS) $(if $(EXEC),-exec $(EXEC)) '$(OLD)'

# fuzz: the fuzz targets of the packages FUZZ, which may be patterns such as ./transport/...
# A package's test program is made once for all of its targets. One that fails with nothing but its
# own deadline has not failed: it met go.dev/issue/75804, which Go 1.27 mends.
.PHONY: fuzz
fuzz:
	@dir=$$(mktemp -d) || exit 1; trap 'rm -rf "$$dir"' EXIT; \
	failed= ; left= ; ends=$$(( $$(date +%s) + $(or $(FUZZBUDGET),86400) )); \
	cache=$$($(GO) env GOCACHE)/fuzz; \
	$(GO) list -e -f '{{.ImportPath}} {{.Dir}}' $(FUZZ) >"$$dir/packages" || exit 1; \
	while read -r package folder; do \
		names=$$(cat "$$folder"/*_test.go 2>/dev/null | sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p'); \
		rm -f "$$dir/tests"; \
		for name in $$names; do \
			if [ "$$(date +%s)" -ge $$ends ]; then left="$$left $$name"; continue; fi; \
			echo "fuzz: $$package $$name"; \
			[ -e "$$dir/tests" ] || $(GO) test -c -fuzz . -o "$$dir/tests" "$$package" || { failed="$$failed $$name"; continue; }; \
			{ (cd "$$folder" && "$$dir/tests" -test.run '^$$' -test.fuzz "^$$name\$$" -test.fuzztime $(FUZZTIME) \
				-test.fuzzcachedir "$$cache/$$package") </dev/null 2>&1 || touch "$$dir/failed"; } | tee "$$dir/log"; \
			if [ -e "$$dir/failed" ] && { grep -q 'Failing input' "$$dir/log" || \
				! grep -qx ' *context deadline exceeded' "$$dir/log"; }; then failed="$$failed $$name"; fi; \
			rm -f "$$dir/failed"; \
		done; \
	done <"$$dir/packages"; \
	if [ -n "$$left" ]; then echo "fuzz: left out after $(FUZZBUDGET) s:$$left"; fi; \
	if [ -n "$$failed" ]; then echo "fuzz: FAILED:$$failed; the inputs stand in testdata/fuzz" >&2; exit 1; fi

# clean: remove what the other targets have built
.PHONY: clean
clean:
	rm -rf bin
	rm -f $(BUILDS)/*.gz $(BUILDS)/index.json

# help: this list
.PHONY: help
help:
	@sed -n 's/^# \([a-z0-9-]*\): /\1: /p' Makefile
