package exec

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	shellquote "github.com/kballard/go-shellquote"

	"github.com/ccm-push/ccm-push/modules"
)

// outcome is passed from Check through Apply to Verify.
type outcome struct{ exit modules.Exit }

// Check implements [modules.Resource].
func (e *Exec) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	e.ran = nil // from an earlier try
	idle, err := e.idle(ctx, h)
	if err != nil || idle {
		return modules.Plan{}, err
	}
	if err := e.possible(ctx, h); err != nil || !e.ReadOnly {
		return e.plan(ctx, h, "executed"), err
	}
	return modules.Plan{}, look(ctx, e, h)
}

// Guards implements [modules.Guarded].
func (e *Exec) Guards(ctx context.Context, h modules.Host) error {
	e.ran = nil // from an earlier try
	_, err := e.idle(ctx, h)
	return err
}

// look runs a command that changes nothing.
func look(ctx context.Context, e *Exec, h modules.Host) error {
	c, err := e.command(e.text())
	if err != nil {
		return err
	}
	exit, err := h.Commands.Probe(ctx, c)
	if err != nil {
		return notRun("command", err)
	}
	h.Report.Output(exit)
	e.ran = &exit
	return e.judge(exit)
}

// text is the command.
func (e *Exec) text() string {
	if e.Command != "" {
		return e.Command
	}
	return e.Name
}

// possible returns an error, before the command runs and in a check run, if its user or its directory does not exist.
func (e *Exec) possible(ctx context.Context, h modules.Host) error {
	if e.User != "" {
		uid, err := modules.ByName(h.Accounts).UserID(ctx, e.User)
		if err == nil && uid != os.Geteuid() && os.Geteuid() != 0 {
			err = fmt.Errorf(`running as user %q needs root: %w; use "become"`, e.User, fs.ErrPermission)
		}
		if err != nil {
			return cannot("user", err)
		}
	}
	dir := path.Clean(e.Cwd)
	if e.Cwd == "" || dir == "/" {
		return nil
	}
	info, err := modules.Follow(h.Files, dir)
	switch {
	case err == nil && info.Kind != modules.Directory:
		return cannot("cwd", fmt.Errorf("%q: %w", dir, syscall.ENOTDIR))
	case modules.NotThere(err):
		return cannot("cwd", modules.NoDirectory(h.Files, dir, err))
	}
	return nil // the command's user may have access where we have none
}

// Refresh implements [modules.Refresher]: the command runs whatever the guards return. A read-only command has run
// already.
func (e *Exec) Refresh(ctx context.Context, h modules.Host, checked modules.Plan) (modules.Plan, error) {
	if e.ReadOnly {
		return checked, nil
	}
	plan := e.plan(ctx, h, "executed via subscribe")
	plan.Refreshed = true
	return plan, e.possible(ctx, h)
}

// Recurs implements [modules.Recurrer]: without guards, the command runs each time.
func (e *Exec) Recurs(modules.Plan) bool { return e.Creates == "" && e.OnlyIf == "" && e.Unless == "" }

func (e *Exec) plan(ctx context.Context, h modules.Host, action string) modules.Plan {
	effects := e.Affects.Effects()
	if e.Affects == nil {
		effects = effectsOf(ctx, h, e.text(), e.Provider)
	}
	if e.Creates != "" {
		effects = append(effects, modules.Effect{
			Kind:  modules.PathEffect,
			Key:   path.Clean(e.Creates),
			State: modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Regular}, Partial: true},
		})
	}
	return modules.Plan{Action: action, Effects: effects, LikelySucceeds: true, Listed: e.Affects != nil, Steps: new(outcome), Command: e.Repeat()}
}

// Repeat implements [modules.Commander].
func (e *Exec) Repeat() modules.Repeat {
	if e.ReadOnly {
		return modules.NoCommand
	}
	if e.Creates == "" && e.OnlyIf == "" && e.Unless == "" && !e.RefreshOnly {
		return modules.RunsOnce
	}
	return modules.Repeatable
}

// idle reports whether there is nothing to do. It runs every guard, so that it finds a broken one whatever the others
// return.
func (e *Exec) idle(ctx context.Context, h modules.Host) (bool, error) {
	exists, err := created(h.Files, e.Creates)
	if err != nil {
		return false, err
	}
	wanted, err := e.guard(ctx, h, "onlyif", e.OnlyIf, true)
	if err != nil {
		return false, err
	}
	done, err := e.guard(ctx, h, "unless", e.Unless, false)
	if err != nil {
		return false, err
	}
	return exists || !wanted || done, nil
}

// created reports whether the path in creates exists, links followed.
func created(files modules.FileReader, creates string) (bool, error) {
	if creates == "" {
		return false, nil
	}
	_, err := modules.Follow(files, path.Clean(creates))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("creates: %w", err)
	}
	return true, nil
}

// guard reports whether a guard command succeeds; for an empty one it returns ungiven.
func (e *Exec) guard(ctx context.Context, h modules.Host, property, command string, ungiven bool) (bool, error) {
	if command == "" {
		return ungiven, nil
	}
	c, err := e.command(command)
	if err != nil {
		return false, err
	}
	if e.Provider != shell {
		c.Paths = readPaths(c.Argv)
	}
	if h.CheckRun && needsOne(c.Argv) && allMissing(h.Files, c.Paths) { // also if its user does not exist yet
		return false, nil
	}
	exit, err := h.Commands.Probe(ctx, c)
	if err != nil {
		return false, notRun(property, err)
	}
	return exit.Code == 0, nil
}

// command prepares the command or a guard to be started.
func (e *Exec) command(text string) (modules.Command, error) {
	argv := []string{"/bin/sh", "-c", text}
	if e.Provider != shell {
		var err error
		if argv, err = shellquote.Split(text); err != nil {
			return modules.Command{}, err
		}
	}
	timeout, err := parseTimeout(e.Timeout)
	return modules.Command{
		Argv:    argv,
		Dir:     e.Cwd,
		Env:     e.Environment,
		Path:    e.Path,
		User:    e.User,
		Home:    true,
		Timeout: timeout,
	}, err
}

// Apply implements [modules.Resource].
func (e *Exec) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	c, err := e.command(e.text())
	if err != nil {
		return err
	}
	c.Follow = true
	if e.LogOutput {
		c.OnLine = func(line string) { h.Report.Message("info", line) }
	}
	exit, err := h.Commands.Run(ctx, c)
	if err != nil {
		if exit.Elapsed > 0 {
			h.Report.Output(exit)
		}
		return notRun("command", err)
	}
	h.Report.Output(exit)
	p.Steps.(*outcome).exit, e.ran = exit, &exit
	return nil
}

// Verify implements [modules.Verifier]: the path in creates exists, or the exit code means success.
func (e *Exec) Verify(_ context.Context, h modules.Host, p modules.Plan) error {
	exists, err := created(h.Files, e.Creates)
	if err != nil || exists {
		return err
	}
	return e.judge(p.Steps.(*outcome).exit)
}

// judge returns the failure of a command that has ended with a code that is not one of returns; nil if it is one.
func (e *Exec) judge(exit modules.Exit) error {
	returns := e.Returns
	if len(returns) == 0 {
		returns = []int{0}
	}
	if slices.Contains(returns, exit.Code) {
		return nil
	}
	safe := fmt.Sprintf("exit code %d not in allowed returns %s", exit.Code, strings.ReplaceAll(fmt.Sprint(returns), " ", ", "))
	failed := &failure{safe: safe, text: safe}
	if evidence := lastLine(exit.Stderr.Text); evidence != "" {
		failed.text += ": " + evidence
	}
	return failed
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
