package app

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/term"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/inputs"
)

// App holds the streams, environment and signals of the program, and its resource types.
type App struct {
	In       io.Reader
	Out, Err io.Writer
	Environ  map[string]string
	Stop     <-chan struct{} // closed by the first Ctrl-C
	Registry modules.Registry
	Version  string        // version of ccm-push
	Files    *inputs.Files // files a run is made of, if they are watched; else nil
	Read     inputs.Files  // manifests, data and templates that plays are made of

	EndAtOnce atomic.Bool // the first Ctrl-C, or TERM, ends the program: nothing runs anywhere

	OnStop atomic.Pointer[string] // text printed when stop is closed, empty for nothing; nil: the run stops

	warning sync.Mutex
	warned  map[string]bool // printed warnings that may concern many hosts
	OnWarn  func(string)    // takes warnings in place of standard error, unless it is nil
}

// New makes the program; environ has the form of [os.Environ].
func New(in io.Reader, out, err io.Writer, environ []string) *App {
	a := &App{In: in, Out: out, Err: err, Environ: map[string]string{}, Registry: builtin.Types()}
	for _, pair := range environ {
		key, value, _ := strings.Cut(pair, "=")
		a.Environ[key] = value
	}
	return a
}

// Note takes a file that plays are made of.
func (a *App) Note(path string) {
	a.Files.Note(path)
	a.Read.Note(path)
}

// Getenv returns the value of a variable of the environment; empty if it is not set.
func (a *App) Getenv(key string) string { return a.Environ[key] }

// Environment returns the environment for commands of the operator: the program's own.
func (a *App) Environment() []string {
	var env []string
	for name, value := range a.Environ {
		env = append(env, name+"="+value)
	}
	return env
}

// Configuration returns the path of a file in the folder of the configuration.
func (a *App) Configuration(name string) string {
	return filepath.Join(Configurations(a.Getenv), "ccm-push", name)
}

// Configurations returns the folder with the configuration of all programs of the user.
func Configurations(getenv func(string) string) string {
	return cmp.Or(getenv("XDG_CONFIG_HOME"), filepath.Join(getenv("HOME"), ".config"))
}

// Home returns the home folder of the operator.
func (a *App) Home() string { return a.Getenv("HOME") }

// Say prints a message to the operator that is not a result.
func (a *App) Say(text string) { fmt.Fprintln(a.Err, "ccm-push:", text) }

// SayStop prints the effect of the first Ctrl-C.
func (a *App) SayStop() {
	text := a.OnStop.Load()
	switch {
	case text == nil:
		a.Say("stopping after the running resources; press Ctrl-C again to kill them")
	case *text != "":
		a.Say(*text)
	}
}

// Warn prints a warning.
func (a *App) Warn(text string) {
	if a.OnWarn != nil {
		a.OnWarn(text)
		return
	}
	a.Say("warning: " + text)
}

// WarnOnce prints a warning that concerns many hosts once.
func (a *App) WarnOnce(text string) {
	a.warning.Lock()
	defer a.warning.Unlock()
	if a.warned[text] {
		return
	}
	if a.warned == nil {
		a.warned = map[string]bool{}
	}
	a.warned[text] = true
	a.Warn(text)
}

// CanAsk reports whether a person reads what we write and can answer.
func (a *App) CanAsk() bool {
	f, ok := a.In.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Stopped reports whether Ctrl-C has been pressed.
func (a *App) Stopped() bool {
	select {
	case <-a.Stop:
		return true
	default:
		return false
	}
}

// UntilStop returns a context that ends with the first Ctrl-C, for work that can be interrupted at any time.
func (a *App) UntilStop(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-a.Stop:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel()
		waiting.Wait()
	}
}

// UntilStopSaying is UntilStop, but the first Ctrl-C prints text in place of the message about a run; "" prints nothing.
func (a *App) UntilStopSaying(ctx context.Context, text string) (context.Context, func()) {
	a.OnStop.Store(&text)
	return a.UntilStop(ctx)
}

// Holder returns the operator, machine and process, for others that find the lock taken.
func Holder(account *user.User) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s@%s (pid %d)", account.Username, host, os.Getpid())
}
