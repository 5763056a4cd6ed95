package main

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/modules/builds"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// modeFlags say how seriously a run is meant.
type modeFlags struct {
	check  bool
	diff   diffFlag
	strict bool // warnings are errors
	step   bool // a person is asked before what the first host does
}

func (f *modeFlags) register(set *pflag.FlagSet) {
	set.BoolVarP(&f.check, "check", "C", false, "dry run: print changes, change nothing (also: --noop)")
	set.VarPF(&f.diff, "diff", "D", "print changes as unified diffs; --diff=stat counts lines").NoOptDefVal = "true"
	set.BoolVar(&f.step, "step", false, "prompt before each change on the first host; then once before the other hosts")
	set.BoolVar(&f.strict, "strict", false, "treat warnings about manifests and templates as errors")
}

// diffFlag is how changes of text are shown: false (not at all), true or stat.
type diffFlag string

// Set implements [pflag.Value].
func (f *diffFlag) Set(text string) error {
	switch text {
	case "true", "stat":
		*f = diffFlag(text)
	case "false":
		*f = ""
	default:
		return errors.New("write --diff, or --diff=stat")
	}
	return nil
}

// String implements [pflag.Value].
func (f *diffFlag) String() string {
	if *f == "" {
		return "false"
	}
	return string(*f)
}

// Type implements [pflag.Value]: it can stand without a value.
func (f *diffFlag) Type() string { return "bool" }

// paceFlags say how many hosts are worked on at once, and how long one is waited for.
type paceFlags struct {
	set         *pflag.FlagSet
	forks, keep int // forks is 0 unless somebody has said a number
	lockTimeout time.Duration
	reconnect   time.Duration
	idleTimeout time.Duration
}

const defaultReconnect = 60 * time.Second

// The bounds of --idle-timeout. A host of which nothing is heard for less may only be busy.
const (
	shortestIdle = 2 * time.Second
	longestIdle  = time.Hour
)

func (f *paceFlags) register(set *pflag.FlagSet) {
	f.set = set
	set.IntVarP(&f.forks, "forks", "f", 0, "maximum number of hosts in progress (default: as many as this machine can run; in a rollout 64)")
	set.IntVar(&f.keep, "keep", 256, "maximum number of connections kept open between plays")
	f.reconnect = defaultReconnect
	set.Var(seconds{&f.reconnect}, "reconnect", "time to reconnect to a host after its connection was lost, to continue the run there; 0 disables it")
	f.idleTimeout = wire.IdleTimeout
	set.Var(seconds{&f.idleTimeout}, "idle-timeout", "time without data after which a connection counts as lost, 2s to 1h")
	set.Var(seconds{&f.lockTimeout}, "lock-timeout", "time to wait for another run on a host to end")
}

func (f *paceFlags) validate() error {
	switch {
	case f.forks < 1 && f.set.Changed("forks"):
		return fmt.Errorf("--forks %d: at least 1", f.forks)
	case f.keep < 0:
		return fmt.Errorf("--keep %d: at least 0", f.keep)
	case f.idleTimeout < shortestIdle, f.idleTimeout > longestIdle:
		return fmt.Errorf("--idle-timeout %v: 2s to 1h", f.idleTimeout)
	}
	return nil
}

// reservedFiles are what a run has open besides one connection per host.
const reservedFiles = 64

// affordable gives how many files may be open for hosts that are worked on, and how many connections
// are kept, of those that the flags ask for, so that together they do not need more than the system
// allows this process. No connection is -1, as a Runner has it.
func (f *paceFlags) affordable(warn func(string)) (files, keep int) {
	limit := openFiles()
	room := max(1, limit-reservedFiles)
	hosts := f.forks
	if hosts == 0 {
		hosts = max(1, room/2) // without --forks neither takes all of it
	}
	if keep = min(f.keep, room-hosts); keep <= 0 {
		keep = -1
	}
	files = room - max(keep, 0)
	if files < f.forks {
		warn(fmt.Sprintf("this process may open %d files, so at most %d hosts run at once; raise ulimit -n for more", limit, files))
	}
	return files, keep
}

// openFiles is how many files this process may have open. Go raises the limit to
// what it may be at most.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	const enough = 1 << 20
	return int(min(uint64(limit.Cur), enough))
}

// workFlags say how a host is worked on, and with what.
type workFlags struct {
	compileFirst bool
	deadlines    deadlines
	moduleDir    string // of host programs
	resources    string // folder of programs for ad-hoc calls
}

func (f *workFlags) register(set *pflag.FlagSet) {
	set.BoolVar(&f.compileFirst, "compile-first", false, "compile the catalogs of all hosts of a play, or of a batch, before any host changes")
	set.Var(&f.deadlines, "deadline", "deadline of a phase on a host, PHASE=DURATION, or PHASE=off: dial (10s), handshake (10s), auth (60s), start (30s), facts (2s each), resource (1h), host (4h per play); may be repeated")
	set.StringVar(&f.moduleDir, "module-dir", "", "`folder` with host programs to use instead of the built-in ones")
	set.StringVar(&f.resources, "resources", "", "for ad-hoc calls: `folder` with resource programs to send (default ./resources)")
}

// loadBuilds gives the host programs of --module-dir, or the built-in ones.
func (f *workFlags) loadBuilds() ([]builds.Build, error) {
	if f.moduleDir != "" {
		return builds.Load(f.moduleDir)
	}
	return builds.Embedded()
}
