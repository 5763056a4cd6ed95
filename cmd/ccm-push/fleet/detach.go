package fleet

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/record"
)

// Detaching runs a call in the background. Another process of this program runs it. It prompts on the terminal, and
// leaves the terminal when the run begins: so no secret is passed to it.
type Detaching struct {
	App   *app.App
	Flags *flags.All

	Words []string // the command line
	// tell is the file on which the other process reports that it has left the terminal. If the other process ends
	// without a report, the run has ended.
	tell *os.File
}

// detachedVariable marks the other process.
const detachedVariable = "CCM_PUSH_DETACHED"

// tellNumber is the file descriptor of tell in the other process.
const tellNumber = 3

// A detached run is reported when it has left the terminal.
type detached struct {
	Run string `json:"run"`
	PID int    `json:"pid"`
}

// Start continues the run of a command without the terminal. In the process with the original command line it returns
// an error: exit status 0 once the other process has left the terminal, or the status of that process if it has ended.
// In the other process it returns nil.
func (f *Detaching) Start(cmd *cobra.Command, p *output.Printer) error {
	child := f.App.Getenv(detachedVariable) != ""
	delete(f.App.Environ, detachedVariable)
	if !f.Flags.Detach.Asked {
		return nil
	}
	switch {
	case cmd.Name() == "watch":
		return errors.New("--detach is for runs that end; run ccm-push watch as a systemd unit (docs/guide/watch.md)")
	case cmd.HasParent() && !slices.Contains([]string{"resume", "undo", "check-health"}, cmd.Name()):
		return fmt.Errorf("--detach is for runs, not for %s", cmd.CommandPath())
	case f.Flags.Mode.Step:
		return errors.New("--step prompts on the terminal, which --detach leaves: use one of them")
	case f.Flags.Record.None:
		return errors.New("--detach needs the record of the run, and --no-record keeps none: remove one of them")
	case f.Flags.Inventory.ListHosts, f.Flags.Selection.List:
		return errors.New("--detach is for runs; a list is printed at once")
	case f.Flags.Output.Stream, f.Flags.Output.Follow != "":
		return errors.New("--stream and --follow print the output of commands on the terminal, and --detach leaves the terminal: remove one of them")
	}
	if !child {
		return f.begin(p)
	}
	if err := os.Unsetenv(detachedVariable); err != nil {
		return err
	}
	syscall.CloseOnExec(tellNumber)
	f.tell = os.NewFile(tellNumber, "the process that was called")
	f.Flags.Output.Progress = flags.ProgressNone
	return nil
}

// begin starts the other process, and waits until it has left the terminal, or has ended.
func (f *Detaching) begin(p *output.Printer) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	hear, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	defer hear.Close()
	cmd := &exec.Cmd{
		Path: program, Args: append([]string{os.Args[0]}, f.Words...), Env: append(f.App.Environment(), detachedVariable+"=1"),
		Stdin: f.App.In, Stderr: output.FileOf(f.App.Err), ExtraFiles: []*os.File{tell},
	}
	said := "" // by the other process: Ctrl-C is for both
	f.App.OnStop.Store(&said)
	err = cmd.Start()
	tell.Close()
	if err != nil {
		return err
	}
	line, _ := bufio.NewReader(hear).ReadBytes('\n') // without a line, it has ended
	var d detached
	if json.Unmarshal(line, &d) == nil {
		if err := f.print(p, d); err != nil {
			return err
		}
		return exit.Status(0)
	}
	var ended *exec.ExitError
	if err := cmd.Wait(); errors.As(err, &ended) && ended.Exited() {
		return exit.Status(ended.ExitCode())
	} else if err != nil {
		return err
	}
	return exit.Status(0)
}

func (f *Detaching) print(p *output.Printer, d detached) error {
	if p.JSON() {
		return output.PrintJSON(p, d)
	}
	return p.Print(fmt.Sprintf("run %[1]s continues as process %[2]d; ccm-push attach %[1]s follows it, kill %[2]d stops it\n", d.Run, d.PID))
}

// check reports a run that nothing can be seen of once it has left the terminal.
func (f *Detaching) check(h record.Header) error {
	if f.Flags.Detach.Asked && h.Command == "" {
		return errors.New("--detach is for recorded runs; commands that only query hosts are not recorded")
	}
	return nil
}

// reporters return a reporter that detaches a run from the terminal when it begins, after the reporter of its record.
func (f *Detaching) reporters(r *playbooks.Runner) []events.Reporter {
	if f.tell == nil {
		return nil
	}
	return []events.Reporter{&leaver{f, r.Options.Run}}
}

type leaver struct {
	detaching *Detaching
	run       string
}

// Report implements [events.Reporter].
func (l *leaver) Report(e events.Event) {
	if _, begins := e.(events.RunStart); !begins || l.detaching.tell == nil {
		return
	}
	if err := l.leave(); err != nil { // the caller waits for the end
		l.detaching.App.Warn(fmt.Sprintf("the run does not leave the terminal: %v", err))
		return
	}
	text, _ := json.Marshal(detached{l.run, os.Getpid()})
	_, _ = l.detaching.tell.Write(append(text, '\n')) // if that fails, the caller has ended
	l.detaching.tell.Close()
	l.detaching.tell = nil
}

// leave moves this process to a new session, without a terminal. Its later standard error is kept next to the record.
func (l *leaver) leave() error {
	store, err := l.detaching.App.Records()
	if err != nil {
		return err
	}
	said, err := store.KeepSaid(l.run)
	if err != nil {
		return err
	}
	defer said.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	if _, err := syscall.Setsid(); err != nil && unix.Getpgrp() != os.Getpid() {
		return fmt.Errorf("beginning a session: %w", err)
	}
	return errors.Join(unix.Dup2(int(null.Fd()), 0), unix.Dup2(int(said.Fd()), 2))
}
