package dsc

import (
	"context"
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

// traceLevel is how much resources are asked to tell.
const traceLevel = "warn"

// A call is one operation, about to be run.
type call struct {
	name       string // "get"
	operation  *manifest.Operation
	properties map[string]any // nil: there is no input
	whatIf     bool
	changes    bool // the host may be changed by it
}

// what is the call in messages.
func (in *instance) what(c call) string { return c.name + " of " + in.found.as.Type }

// call runs an operation. An exit code that is a failure is an error; that of a
// verdict is none.
func (in *instance) call(ctx context.Context, c call) (modules.Exit, error) {
	if err := in.allowed(c); err != nil {
		return modules.Exit{}, err
	}
	command, err := in.command(ctx, c)
	if err != nil {
		return modules.Exit{}, err
	}
	run := in.h.Commands.Probe
	if c.changes {
		run = in.h.Commands.Run
	}
	exit, err := run(ctx, command)
	if err = in.judge(c, exit, err); err != nil {
		in.show(c, exit)
	}
	return exit, err
}

// judge tells what a program had to say, and whether it has failed. err is why it could
// not be run.
func (in *instance) judge(c call, exit modules.Exit, err error) error {
	what, wrote := in.what(c), readMessages(in.found.run.Dialect, exit.Stderr.Text)
	if err != nil {
		in.tell(wrote)
		return notRun(what, err)
	}
	bad := exit.Code != 0 && !c.operation.Verdict || wrote.fatal
	if c.operation.Verdict && exit.Code != 0 && !wrote.fatal {
		bad = exit.Stdout.Text == ""
	}
	if bad {
		return in.meaning(what, exit, wrote)
	}
	in.tell(wrote)
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
		return failed(process.Line(text, at, in.secrets.HidePrinted), "%s has printed what is not UTF-8", what)
	}
	return nil
}

// show tells all that a call has printed that came to nothing, for whoever looks for
// the fault.
func (in *instance) show(c call, exit modules.Exit) {
	process.Show(in.h.Report, in.what(c), in.secrets.HidePrinted(strings.TrimSpace(exit.Stdout.Text)))
}

// allowed reports an operation that this user may not run, or that would show a
// secret to others.
func (in *instance) allowed(c call) error {
	root := os.Geteuid() == 0
	switch {
	case c.operation.Security == manifest.SecurityElevated && !root:
		return needsRoot("%s needs root; use become", in.what(c))
	case c.operation.Security == manifest.SecurityRestricted && root:
		return failed("", "%s refuses to run as root", in.what(c))
	}
	_, err := in.exposed(c.operation, in.what(c), c.properties)
	return err
}

// rightUser reports an instance whose document wants another user.
func (d *DSC) rightUser() error {
	switch root := os.Geteuid() == 0; {
	case d.Security == string(manifest.SecurityElevated) && !root:
		return needsRoot("the document says that %s needs root; use become", d.TypeName)
	case d.Security == string(manifest.SecurityRestricted) && root:
		return failed("", "the document says that %s must not run as root", d.TypeName)
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
func (d *DSC) exposed(o *manifest.Operation, what string, properties map[string]any) (path string, err error) {
	path = firstSecret(properties, "properties")
	secret := path + " is secure"
	switch {
	case path == "" && (!d.discreet || len(properties) == 0):
		return "", nil
	case path == "":
		secret = "the resource is sensitive"
	}
	switch {
	case o.Input == manifest.InputEnv:
		return path, failed("", "%s, and %s takes its input from the environment, where others could see it; only standard input will do", secret, what)
	case o.Input == manifest.InputArgs, o.Has(manifest.JSONInput):
		return path, failed("", "%s, and %s takes its input from its arguments, where others could see it; only standard input will do", secret, what)
	}
	return "", nil
}

// command prepares the program of a call.
func (in *instance) command(ctx context.Context, c call) (modules.Command, error) {
	timeout, err := in.timeout()
	if err != nil {
		return modules.Command{}, err
	}
	f := in.found
	command := modules.Command{
		Dir: f.dir, Path: f.path, Timeout: timeout, MaxOutput: maxState,
		Env: []string{"DSC_TRACE_LEVEL=" + traceLevel}, User: process.Self(ctx, in.h),
	}
	about := about{typ: f.as.Type, version: f.as.Version, path: f.file, content: string(f.as.Content), whatIf: c.whatIf}
	if c.properties != nil && (c.operation.Input == manifest.InputStdin || c.operation.Has(manifest.JSONInput)) {
		if about.input, err = process.JSON(c.properties); err != nil {
			return command, err
		}
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

// tell reports what a program had to say, each thing once.
func (in *instance) tell(s messages) {
	tell := func(level, text string) {
		text = in.secrets.Hide(text)
		key := level + text
		if in.told[key] {
			return
		}
		in.told[key] = true
		in.h.Report.Message(level, text)
	}
	for _, n := range s.notes {
		tell(n.level, n.text)
	}
	for _, line := range s.plain {
		tell(info, line)
	}
}

// warn tells of something that is not as it should be, once.
func (in *instance) warn(format string, args ...any) {
	in.tell(messages{notes: []note{{warning, fmt.Sprintf(format, args...)}}})
}

// meaning is the error of an exit code: what the manifest says of it, or else what
// the program said, or at least printed; what of that is not in the error is told
// besides.
func (in *instance) meaning(what string, exit modules.Exit, wrote messages) error {
	evidence, rest := wrote.evidence(in.secrets.Hide)
	in.tell(rest)
	code := exit.Code
	if code == 0 { // the first design has errors without one
		return failed(evidence, "%s has reported an error", what)
	}
	if codes := in.found.run.ExitCodes; !usual(codes) {
		if text, ok := codes[strconv.Itoa(code)]; ok {
			if evidence != "" {
				in.tell(messages{notes: []note{{failing, evidence}}})
			}
			return failed(in.secrets.Hide(text), "%s has failed with exit code %d", what, code)
		}
	}
	if last := process.Last(exit.Stdout.Text); evidence == "" && last != "" {
		evidence = "it printed " + process.Quote(in.secrets.HidePrinted(last))
	}
	return failed(evidence, "%s has failed with exit code %d", what, code)
}

// usual reports whether meanings of exit codes say nothing: none, or those that a
// manifest begins with.
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
