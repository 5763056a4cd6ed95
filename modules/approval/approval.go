// Package approval has a command look at a file before it gets its name.
package approval

import (
	"context"
	"fmt"
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

// Ask runs command to check whether the file at temp may become name; an empty command approves all. The error, and the
// output of command, show name.
func Ask(ctx context.Context, h modules.Host, command, temp, name string) error {
	if command == "" {
		return nil
	}
	exit, err := run(ctx, h.Commands.Run, modules.Command{}, command, temp, name)
	if exit != nil {
		h.Report.Output(*exit)
	}
	return err
}

// run starts command with start; with has its other settings. It returns the exit if the command has run and does not
// approve the file.
func run(ctx context.Context, start starter, with modules.Command, command, temp, name string) (*modules.Exit, error) {
	argv, err := shellquote.Split(command)
	if err != nil {
		return nil, err
	}
	for i, word := range argv {
		argv[i] = strings.ReplaceAll(word, place, temp)
	}
	with.Argv, with.Home = argv, true
	exit, err := start(ctx, with)
	for _, out := range []*modules.Output{&exit.Stdout, &exit.Stderr} {
		out.Text = strings.ReplaceAll(out.Text, temp, name)
	}
	if err != nil {
		refused := &refusal{"validate: " + strings.ReplaceAll(err.Error(), temp, name), `"validate" could not be run to its end`, err}
		if exit.Elapsed > 0 {
			return &exit, refused
		}
		return nil, refused
	}
	if exit.Code == 0 {
		return nil, nil
	}
	safe := fmt.Sprintf(`the command of "validate" exited with status %d, so the file was not written`, exit.Code)
	text := safe
	for _, out := range []string{exit.Stdout.Text, exit.Stderr.Text} {
		// Programs that check files print the error first, and at the end that there was one.
		if first, _, _ := strings.Cut(strings.TrimSpace(out), "\n"); first != "" {
			text = safe + ": " + strings.TrimSpace(first)
		}
	}
	return &exit, &refusal{text, safe, nil}
}

// starter is a method of [modules.Commands].
type starter func(context.Context, modules.Command) (modules.Exit, error)

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
