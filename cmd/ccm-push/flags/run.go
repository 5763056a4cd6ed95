package flags

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/modules/builds"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// Mode holds the flags about the changes of a run.
type Mode struct {
	Check  bool
	Diff   Diff
	Strict bool // makes warnings errors
	Step   bool // prompts before each change on the first host
}

func (f *Mode) register(set *pflag.FlagSet) {
	set.BoolVarP(&f.Check, "check", "C", false, "dry run: print changes, change nothing (also: --noop)")
	set.VarPF(&f.Diff, "diff", "D", "print changes as unified diffs; --diff=stat counts lines").NoOptDefVal = "true"
	set.BoolVar(&f.Step, "step", false, "prompt before each change on the first host; then only once for all other hosts")
	set.BoolVar(&f.Strict, "strict", false, "treat warnings about manifests and templates as errors")
}

// Diff is the form of changes of text: empty (none), true or stat.
type Diff string

// Set implements [pflag.Value].
func (f *Diff) Set(text string) error {
	switch text {
	case "true", "stat":
		*f = Diff(text)
	case "false":
		*f = ""
	default:
		return errors.New("write --diff, or --diff=stat")
	}
	return nil
}

// String implements [pflag.Value].
func (f *Diff) String() string {
	if *f == "" {
		return "false"
	}
	return string(*f)
}

// Type implements [pflag.Value]: it needs no value.
func (f *Diff) Type() string { return "bool" }

// Pace holds the flags about the number of hosts at once, and about timeouts.
type Pace struct {
	Forks, Keep int // Forks is 0 unless the command line has a number
	LockTimeout time.Duration
	Reconnect   time.Duration
	IdleTimeout time.Duration
}

const defaultReconnect = 60 * time.Second

// The bounds of --idle-timeout. A host that is silent for less time may only be busy.
const (
	shortestIdle = 2 * time.Second
	longestIdle  = time.Hour
)

func (f *Pace) register(set *pflag.FlagSet) {
	set.IntVarP(&f.Forks, "forks", "f", 0, "maximum number of hosts in progress (default: as many as this machine can run; in a rollout 64)")
	set.IntVar(&f.Keep, "keep", 256, "maximum number of connections kept open between plays")
	f.Reconnect = defaultReconnect
	set.Var(Seconds{&f.Reconnect}, "reconnect", "how long to try to reconnect to a host after its connection was lost; 0 disables reconnecting")
	f.IdleTimeout = wire.IdleTimeout
	set.Var(Seconds{&f.IdleTimeout}, "idle-timeout", "time without data after which a connection counts as lost, 2s to 1h")
	set.Var(Seconds{&f.LockTimeout}, "lock-timeout", "time to wait for another run on a host to end")
}

func (f *Pace) validate(given func(string) bool) error {
	switch {
	case f.Forks < 1 && given("forks"):
		return fmt.Errorf("--forks %d: at least 1", f.Forks)
	case f.Keep < 0:
		return fmt.Errorf("--keep %d: at least 0", f.Keep)
	case f.IdleTimeout < shortestIdle, f.IdleTimeout > longestIdle:
		return fmt.Errorf("--idle-timeout %v: 2s to 1h", f.IdleTimeout)
	}
	return nil
}

// reservedFiles is the number of files that a run opens in addition to its connections.
const reservedFiles = 64

// Affordable returns the limits of open files and of connections that are kept. files is the number of files that may
// be open for hosts in progress; keep is the number of connections, or -1 for no connection, as in a Runner. Together
// they need no more files than the system allows this process.
func (f *Pace) Affordable(warn func(string)) (files, keep int) {
	limit := openFiles()
	room := max(1, limit-reservedFiles)
	hosts := f.Forks
	if hosts == 0 {
		hosts = max(1, room/2) // without --forks neither takes all of it
	}
	if keep = min(f.Keep, room-hosts); keep <= 0 {
		keep = -1
	}
	files = room - max(keep, 0)
	if files < f.Forks {
		warn(fmt.Sprintf("this process may open %d files, so at most %d hosts run at once; raise ulimit -n for more", limit, files))
	}
	return files, keep
}

// openFiles returns the number of files that this process may open. Go raises the soft limit to the hard one.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	const enough = 1 << 20
	return int(min(uint64(limit.Cur), enough))
}

// Work holds the flags about the work on a host, and about its programs.
type Work struct {
	CompileFirst bool
	Deadlines    Deadlines
	ModuleDir    string // folder of host programs
	Resources    string // folder of programs for ad-hoc calls
}

func (f *Work) register(set *pflag.FlagSet) {
	set.BoolVar(&f.CompileFirst, "compile-first", false, "compile the resource lists of all hosts of a play (in a rollout: of a batch) before the first host changes")
	set.Var(&f.Deadlines, "deadline", "time limit of a phase on a host, PHASE=DURATION, or PHASE=off; phases and defaults: dial (10s), handshake (10s), auth (60s), start (30s), facts (2s each), resource (1h), host (4h per play); may be repeated")
	set.StringVar(&f.ModuleDir, "module-dir", "", "`folder` with host programs to use instead of the built-in ones")
	set.StringVar(&f.Resources, "resources", "", "for ad-hoc calls: `folder` with resource programs to send (default ./resources)")
}

// LoadBuilds returns the host programs of --module-dir, or the built-in ones.
func (f *Work) LoadBuilds() ([]builds.Build, error) {
	if f.ModuleDir != "" {
		return builds.Load(f.ModuleDir)
	}
	return builds.Embedded()
}
