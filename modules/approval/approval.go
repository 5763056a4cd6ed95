// Package approval has a command look at a file before it gets its name.
package approval

import (
	"context"
	"fmt"
	"os"
	"path"
	"strings"

	shellquote "github.com/kballard/go-shellquote"

	"github.com/ccm-push/ccm-push/modules"
)

// place is the placeholder for the path of the file in a command.
const place = "%s"

// Validate reports errors in a command that is the value of property; an empty one is valid.
func Validate(property, command string) error {
	if command == "" {
		return nil
	}
	words, err := shellquote.Split(command)
	switch {
	case strings.ContainsRune(command, 0):
		return modules.Errorf(property, "a command must not contain a NUL byte")
	case err != nil:
		return &modules.PropertyError{Path: property, Msg: strings.ToLower(err.Error()), Hint: modules.QuoteHint(err)}
	case len(words) == 0 || words[0] == "" || strings.Contains(words[0], place):
		return modules.Errorf(property, "%q names no program", command)
	case !strings.Contains(command, place):
		return &modules.PropertyError{
			Path: property, Msg: fmt.Sprintf("%q has no %s, which stands for the file to look at", command, place),
			Hint: `write it as in validate: "visudo -cf %s"`,
		}
	}
	return nil
}

// Required adds to a plan to write a file that command has to approve it; an empty command approves all. It refuses the
// plan if other users could exchange the file before command reads it.
func Required(files modules.FileReader, name, command string, plan modules.Plan) (modules.Plan, error) {
	if command == "" {
		return plan, nil
	}
	dir := path.Dir(name)
	if err := modules.OthersMayChange(files, dir, os.Geteuid()); err != nil {
		return modules.Plan{}, modules.Refuse("validate: another user could replace the file %s during the check: %w; run as the owner of the directory", name, err)
	}
	plan.MayFail = true
	return plan, nil
}

// Ask runs command to check whether the file at temp may become name; an empty command approves all. The error, and the
// output of command, show name.
func Ask(ctx context.Context, h modules.Host, command, temp, name string) error {
	if command == "" {
		return nil
	}
	argv, err := shellquote.Split(command)
	if err != nil {
		return err
	}
	for i, word := range argv {
		argv[i] = strings.ReplaceAll(word, place, temp)
	}
	exit, err := h.Commands.Run(ctx, modules.Command{Argv: argv, Home: true})
	for _, out := range []*modules.Output{&exit.Stdout, &exit.Stderr} {
		out.Text = strings.ReplaceAll(out.Text, temp, name)
	}
	if err != nil {
		if exit.Elapsed > 0 {
			h.Report.Output(exit)
		}
		return &refusal{"validate: " + strings.ReplaceAll(err.Error(), temp, name), "validate could not be run to its end", err}
	}
	if exit.Code == 0 {
		return nil
	}
	h.Report.Output(exit)
	safe := fmt.Sprintf("the validate command exited with status %d, so the file was not written", exit.Code)
	text := safe
	for _, out := range []string{exit.Stdout.Text, exit.Stderr.Text} {
		// Programs that check files print the error first, and at the end that there was one.
		if first, _, _ := strings.Cut(strings.TrimSpace(out), "\n"); first != "" {
			text = safe + ": " + strings.TrimSpace(first)
		}
	}
	return &refusal{text, safe, nil}
}

// refusal is why a file was not put in place.
type refusal struct {
	text string // may contain output of the command
	safe string
	err  error // may be nil
}

func (r *refusal) Error() string { return r.text }

// Redacted implements [modules.Redactor].
func (r *refusal) Redacted() string { return r.safe }

func (r *refusal) Unwrap() error { return r.err }
