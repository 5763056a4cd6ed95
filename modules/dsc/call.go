package dsc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/dsc/manifest"
	"github.com/ccm-push/ccm-push/modules/process"
)

// maxState bounds what an operation may print, in bytes: 2 MiB.
const maxState = 2 << 20

// traceLevel is the log level that resources are requested to use.
const traceLevel = "warn"

// A call is one operation, about to be run.
type call struct {
	name       string // "get"
	operation  *manifest.Operation
	properties map[string]any // nil: there is no input
	whatIf     bool
	changes    bool // the host may be changed by it
}

// what returns the name of the call in messages.
func (rs *resource) what(c call) string {
	return fmt.Sprintf("the operation %q of %s", c.name, rs.as.Type)
}

// call runs an operation. Its error is that it could not be run, or the meaning of its exit code; the exit code of a
// verdict is an answer and not an error.
func (rs *resource) call(ctx context.Context, c call) (modules.Exit, error) {
	if err := rs.allowed(c); err != nil {
		return modules.Exit{}, err
	}
	command, err := rs.command(ctx, c)
	if err != nil {
		return modules.Exit{}, err
	}
	run := rs.h.Commands.Probe
	if c.changes {
		run = rs.h.Commands.Run
	}
	exit, err := run(ctx, command)
	if err = rs.judge(c, exit, err); err != nil {
		rs.show(c, exit)
	}
	return exit, err
}

// judge reports the messages of a program, and returns an error if it has failed. err is the reason why it could not be
// run.
func (rs *resource) judge(c call, exit modules.Exit, err error) error {
	what, wrote := rs.what(c), readMessages(rs.run.Dialect, exit.Stderr.Text)
	if err != nil {
		rs.tellAll(wrote)
		return notRun(what, err)
	}
	bad := exit.Code != 0 && !c.operation.Verdict || wrote.fatal
	if c.operation.Verdict && exit.Code != 0 && !wrote.fatal {
		bad = exit.Stdout.Text == ""
	}
	if bad {
		return rs.exitError(what, exit, wrote)
	}
	rs.tellAll(wrote)
	switch text := exit.Stdout.Text; {
	case exit.Stdout.Dropped > 0:
		return failed("", "%s has printed more than %d MiB", what, maxState>>20)
	case !utf8.ValidString(text):
		at := 0
		for size := 0; at < len(text); at += size {
			var r rune
			if r, size = utf8.DecodeRuneInString(text[at:]); r == utf8.RuneError && size == 1 {
				break
			}
		}
		return failed(process.Line(text, at, rs.secrets.HidePrinted), "%s has printed text that is not UTF-8", what)
	}
	return nil
}

// show reports the output of a failed call, for debugging.
func (rs *resource) show(c call, exit modules.Exit) {
	process.Show(rs.h.Report, rs.what(c), rs.secrets.HidePrinted(strings.TrimSpace(exit.Stdout.Text)))
}

// allowed reports an operation that this user may not run, or that would show a
// secret to others.
func (rs *resource) allowed(c call) error {
	root := os.Geteuid() == 0
	switch {
	case c.operation.Security == manifest.SecurityElevated && !root:
		return needsRoot(`%s needs root; use "become"`, rs.what(c))
	case c.operation.Security == manifest.SecurityRestricted && root:
		return failed("", "%s refuses to run as root", rs.what(c))
	}
	_, err := exposed(c.operation, rs.what(c), c.properties, rs.discreet)
	return err
}

// rightUser reports an instance whose document wants another user.
func (d *DSC) rightUser() error {
	switch root := os.Geteuid() == 0; {
	case d.Security == string(manifest.SecurityElevated) && !root:
		return needsRoot(`the document requires root for %s; use "become"`, d.TypeName)
	case d.Security == string(manifest.SecurityRestricted) && root:
		return failed("", "the document does not allow root for %s", d.TypeName)
	}
	return nil
}

func needsRoot(format, what string) error {
	f := failed("", format, what)
	f.Class = modules.ErrorForbidden
	return f
}

// exposed reports a secret that an operation would take where others can see it, and the
// path of that; "" if all properties are secret.
func exposed(o *manifest.Operation, what string, properties map[string]any, discreet bool) (path string, err error) {
	path = secretAt(properties, "properties")
	secret := path + " is secure"
	switch {
	case path == "" && (!discreet || len(properties) == 0):
		return "", nil
	case path == "":
		secret = "the resource is sensitive"
	}
	switch {
	case o.Input == manifest.InputEnv:
		return path, failed("", "%s, and %s takes its input from the environment, where other users can see secrets; the operation must read standard input", secret, what)
	case o.Input == manifest.InputArgs, o.Has(manifest.JSONInput):
		return path, failed("", "%s, and %s takes its input from its arguments, where other users can see secrets; the operation must read standard input", secret, what)
	}
	return "", nil
}

// command prepares the program of a call.
func (rs *resource) command(ctx context.Context, c call) (modules.Command, error) {
	command := modules.Command{
		Dir: rs.dir, Path: rs.path, Timeout: rs.timeout, MaxOutput: maxState,
		Env: []string{"DSC_TRACE_LEVEL=" + traceLevel}, Home: true,
	}
	about := about{typ: rs.as.Type, version: rs.as.Version, path: rs.file, content: string(rs.as.Content), whatIf: c.whatIf}
	if c.properties != nil && (c.operation.Input == manifest.InputStdin || c.operation.Has(manifest.JSONInput)) {
		input, err := process.JSON(c.properties)
		if err != nil {
			return command, err
		}
		about.input = input
	}
	args, err := about.arguments(c.operation.Args)
	if err != nil {
		return command, err
	}
	command.Argv = append([]string{c.operation.Executable}, args...)
	switch c.operation.Input {
	case manifest.InputStdin:
		command.Stdin = about.input
	case manifest.InputEnv:
		more, err := environment(c.properties)
		if err != nil {
			return command, err
		}
		command.Env = append(command.Env, more...)
	case manifest.InputArgs:
		more, err := options(c.properties)
		if err != nil {
			return command, err
		}
		command.Argv = append(command.Argv, more...)
	}
	return command, nil
}

// exitError returns the error for an exit code: the meaning in the manifest, or else the messages of the program, or at
// least its output; messages that are not in the error are reported separately.
func (rs *resource) exitError(what string, exit modules.Exit, wrote messages) error {
	evidence, rest := wrote.evidence(rs.secrets.Hide)
	rs.tellAll(rest)
	code := exit.Code
	if code == 0 { // the first design has errors without one
		return failed(evidence, "%s has reported an error", what)
	}
	if codes := rs.run.ExitCodes; !usual(codes) {
		if text, ok := codes[strconv.Itoa(code)]; ok {
			if evidence != "" {
				rs.tell(failing, evidence)
			}
			return failed(rs.secrets.Hide(text), "%s has failed with exit code %d", what, code)
		}
	}
	if last := process.Last(exit.Stdout.Text); evidence == "" && last != "" {
		evidence = "it printed " + process.Quote(rs.secrets.HidePrinted(last))
	}
	return failed(evidence, "%s has failed with exit code %d", what, code)
}

// usual reports whether meanings of exit codes are missing or are the defaults of a new manifest.
func usual(codes map[string]string) bool {
	for code := range codes {
		if code != "0" && code != "1" {
			return false
		}
	}
	return len(codes) == 0 || len(codes) == 2 && isWordFor(codes["0"], "success") && isWordFor(codes["1"], "failure", "error")
}

func isWordFor(text string, words ...string) bool {
	for _, word := range words {
		if len(text) == len(word) && (text[0]|0x20) == word[0] && text[1:] == word[1:] {
			return true
		}
	}
	return false
}

// failed returns a failure whose evidence is shown only where secrets may be shown.
func failed(evidence, format string, args ...any) *process.Failure {
	safe := fmt.Sprintf(format, args...)
	f := &process.Failure{Text: safe, Safe: safe}
	if evidence != "" {
		f.Text += ": " + evidence
	}
	return f
}

// notRun returns the error for a program that could not be started or did not end by itself.
func notRun(what string, err error) error {
	safe := what + " could not be run"
	if errors.Is(err, modules.ErrTimeout) {
		safe = what + " " + modules.ErrTimeout.Error()
	}
	return &process.Failure{Text: what + ": " + err.Error(), Safe: safe, Cause: err}
}
