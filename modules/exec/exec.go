package exec

import (
	"errors"
	"fmt"
	"path"
	"strings"

	shellquote "github.com/kballard/go-shellquote"

	"github.com/ccm-push/ccm-push/modules"
)

// An Exec is a command. It runs when a resource it subscribes to has changed; otherwise unless `creates` exists,
// `onlyif` fails, `unless` succeeds or it is for refreshes only.
//
// It behaves like CCM's exec resource, with intended exceptions: `path` is the search path for programs, `timeout` ends
// the command with everything it has started, and `user` (ours) runs it as another user. A relative cwd or creates is
// refused, since its base directory would be unclear.
type Exec struct {
	Name        string   `json:"name" required:"true" doc:"the command, unless command is given"`
	Ensure      string   `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"has no effect; accepted because CCM does"`
	Provider    string   `json:"provider,omitempty" enum:"posix,shell" default:"posix" doc:"posix: split the command at blanks, with shell quoting but without a shell; shell: run /bin/sh -c"`
	Command     string   `json:"command,omitempty" doc:"the command; default: the name"`
	Cwd         string   `json:"cwd,omitempty" default:"/" looks:"^/" doc:"working directory"`
	Environment []string `json:"environment,omitempty" looks:"^[A-Za-z_][A-Za-z0-9_]*=[^\\x00]+$" doc:"KEY=value; overrides the default environment"`
	Path        string   `json:"path,omitempty" looks:"^/[^:]*(:/[^:]*)*$" doc:"directories to search for programs, separated by colons; default: the system directories"`
	User        string   `json:"user,omitempty" doc:"user (name or id) of the command and its guards, with its groups; default: user of the play"`
	Timeout     string   `json:"timeout,omitempty" looks:"^(0|([0-9.]+(ns|us|µs|μs|ms|s|m|h|d|w|M|y))+)$" doc:"limit of the command and of each guard, such as 30s, 5m or 1d; then it is killed with its child processes"`
	Creates     string   `json:"creates,omitempty" looks:"^/" doc:"path that the command creates; while it exists, the command does not run"`
	OnlyIf      string   `json:"onlyif,omitempty" doc:"guard: the command runs only if this one exits with 0"`
	Unless      string   `json:"unless,omitempty" doc:"guard: the command does not run if this one exits with 0"`
	modules.Event
	ReadOnly  bool            `json:"readonly,omitempty" doc:"the command changes nothing: it runs in check runs too, and never counts as a change"`
	Returns   []int           `json:"returns,omitempty" doc:"exit codes that mean success; default: [0]"`
	Affects   modules.Affects `json:"affects,omitzero" doc:"possible changes: paths, service#NAME, package#NAME; []: none"`
	LogOutput bool            `json:"logoutput,omitempty" doc:"print the standard output of the command"`

	ran *modules.Exit // how the command ended, if it has run
}

const shell = "shell"

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "exec",
		Doc: "Runs a command, directly or through a shell, when its guards say that it has " +
			"something to do or when a resource it subscribes to has changed.",
		New:         func() modules.Resource { return new(Exec) },
		CommandLine: commandLine,
	}
}

// Validate implements [modules.Resource].
func (e *Exec) Validate() error {
	errs := []error{
		validateCommands(e),
		absolute("cwd", e.Cwd),
		absolute("creates", e.Creates),
		validatePath(e.Path),
		e.Affects.Validate(),
	}
	for i, variable := range e.Environment {
		errs = append(errs, validateVariable(i, variable))
	}
	for i, code := range e.Returns {
		if code < 0 || code > 255 {
			errs = append(errs, modules.Errorf(element("returns", i), "exit code %d is outside 0-255", code))
		}
	}
	if e.ReadOnly && (e.Creates != "" || e.RefreshOnly) {
		errs = append(errs, modules.Errorf("readonly", "a command that only looks creates nothing, and waits for no change"))
	}
	if _, err := parseTimeout(e.Timeout); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func validateCommands(e *Exec) error {
	byShell, property := e.Provider == shell, "command"
	if e.Command == "" {
		property = "name"
	}
	return errors.Join(validateCommand(property, e.text(), byShell), validateCommand("onlyif", e.OnlyIf, byShell), validateCommand("unless", e.Unless, byShell))
}

// validateCommand accepts an empty text, which means no command.
func validateCommand(property, command string, byShell bool) error {
	switch {
	case command == "":
		return nil
	case strings.ContainsRune(command, 0):
		return modules.Errorf(property, "a command must not contain a NUL byte")
	}
	if byShell {
		if strings.TrimSpace(command) == "" {
			return modules.Errorf(property, "no command specified")
		}
		return nil
	}
	words, err := shellquote.Split(command)
	switch {
	case err != nil:
		return &modules.PropertyError{
			Path: property,
			Msg:  strings.ToLower(err.Error()),
			Hint: modules.QuoteHint(err),
		}
	case len(words) == 0 || words[0] == "":
		return modules.Errorf(property, "no command specified")
	}
	return nil
}

func absolute(property, value string) error {
	if value != "" && !path.IsAbs(value) {
		return modules.Errorf(property, "%q is not an absolute path", value)
	}
	return modules.ValidateText(property, value)
}

func validatePath(list string) error {
	if list == "" {
		return nil
	}
	for dir := range strings.SplitSeq(list, ":") {
		switch {
		case dir == "":
			return modules.Errorf("path", "invalid path: empty directory in path")
		case !path.IsAbs(dir):
			return modules.Errorf("path", "invalid path: %q is not an absolute path", dir)
		}
	}
	return nil
}

func validateVariable(i int, variable string) error {
	key, value, found := strings.Cut(variable, "=")
	invalid := func(what string) error {
		return modules.Errorf(element("environment", i), "invalid environment variable %q: %s", variable, what)
	}
	switch {
	case !found:
		return invalid("missing '='")
	case key == "":
		return invalid("empty key")
	case value == "":
		return invalid("empty value")
	case !isName(key):
		return invalid("the key has a character outside A-Z, a-z, 0-9 and _, or begins with a digit")
	case strings.ContainsRune(value, 0):
		return invalid("the value contains a NUL byte")
	}
	return nil
}

// element names one element of a list property.
func element(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }

// isName reports whether a shell could have a variable of that name.
func isName(key string) bool {
	return !strings.ContainsFunc(key, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) && !strings.ContainsRune("0123456789", rune(key[0]))
}
