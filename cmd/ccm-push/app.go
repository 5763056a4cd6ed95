package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/term"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/inputs"
)

// app holds the streams, environment and signals of the program, and its resource types.
type app struct {
	in       io.Reader
	out, err io.Writer
	environ  map[string]string
	stop     <-chan struct{} // closed by the first Ctrl-C
	registry modules.Registry
	files    *inputs.Files // files a run is made of, if they are watched; else nil
	read     inputs.Files  // manifests, data and templates that plays are made of

	endAtOnce atomic.Bool // the first Ctrl-C, or TERM, ends the program: nothing runs anywhere

	onStop atomic.Pointer[string] // text printed when stop is closed, empty for nothing; nil: the run stops

	warning sync.Mutex
	warned  map[string]bool // printed warnings that may concern many hosts
	onWarn  func(string)    // takes warnings in place of standard error, unless it is nil
}

// newApp makes the program; environ has the form of [os.Environ].
func newApp(in io.Reader, out, err io.Writer, environ []string) *app {
	a := &app{in: in, out: out, err: err, environ: map[string]string{}, registry: builtin.Types()}
	for _, pair := range environ {
		key, value, _ := strings.Cut(pair, "=")
		a.environ[key] = value
	}
	return a
}

// execute runs one command line.
func (a *app) execute(ctx context.Context, argv []string) error {
	c := newCommandLine(a)
	defer c.plays.archives.Close()
	defer c.fleet.nats.close()
	defer c.fleet.workers.close(ctx)
	return c.execute(ctx, argv)
}

// note takes a file that plays are made of.
func (a *app) note(path string) {
	a.files.Note(path)
	a.read.Note(path)
}

func (a *app) getenv(key string) string { return a.environ[key] }

// environment returns the environment for commands of the operator: the program's own.
func (a *app) environment() []string {
	var env []string
	for name, value := range a.environ {
		env = append(env, name+"="+value)
	}
	return env
}

// configuration returns the path of a file in the folder of the configuration.
func (a *app) configuration(name string) string {
	return filepath.Join(configurations(a.getenv), "ccm-push", name)
}

// configurations returns the folder with the configuration of all programs of the user.
func configurations(getenv func(string) string) string {
	return cmp.Or(getenv("XDG_CONFIG_HOME"), filepath.Join(getenv("HOME"), ".config"))
}

func (a *app) home() string { return a.getenv("HOME") }

// say prints a message to the operator that is not a result.
func (a *app) say(text string) { fmt.Fprintln(a.err, "ccm-push:", text) }

// sayStop prints the effect of the first Ctrl-C.
func (a *app) sayStop() {
	text := a.onStop.Load()
	switch {
	case text == nil:
		a.say("stopping after the running resources; press Ctrl-C again to kill them")
	case *text != "":
		a.say(*text)
	}
}

func (a *app) warn(text string) {
	if a.onWarn != nil {
		a.onWarn(text)
		return
	}
	a.say("warning: " + text)
}

// warnOnce prints a warning that concerns many hosts once.
func (a *app) warnOnce(text string) {
	a.warning.Lock()
	defer a.warning.Unlock()
	if a.warned[text] {
		return
	}
	if a.warned == nil {
		a.warned = map[string]bool{}
	}
	a.warned[text] = true
	a.warn(text)
}

// canAsk reports whether a person reads what we write and can answer.
func (a *app) canAsk() bool {
	f, ok := a.in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// stopped reports whether Ctrl-C has been pressed.
func (a *app) stopped() bool {
	select {
	case <-a.stop:
		return true
	default:
		return false
	}
}

// untilStop returns a context that ends with the first Ctrl-C, for work that can be interrupted at any time.
func (a *app) untilStop(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-a.stop:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel()
		waiting.Wait()
	}
}
