package ral

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/process"
)

// A provider is an executable on the host, with its metadata.
type provider struct {
	*metadata
	file   string        // without symbolic links, so that it finds files next to it
	source string        // where it was found
	limit  time.Duration // timeout of one call; 0 means none
}

// Limits for the input and the output of a provider, in bytes.
const (
	maxQuestion = 8 << 20
	maxAnswer   = 8 << 20
)

// entry is a provider's answer about one resource.
type entry struct {
	values      values
	err         *failure // error of this resource alone
	unmentioned bool     // the provider has not mentioned it
}

// starter is Probe or Run.
type starter func(context.Context, modules.Command) (modules.Exit, error)

// call runs the provider once. Messages on standard error are reported, and an exit code other than 0 discards the
// standard output.
func (p *provider) call(ctx context.Context, h modules.Host, start starter, action string, args []string, stdin string) (modules.Exit, *failure) {
	if len(stdin) > maxQuestion {
		return modules.Exit{}, p.broken(action, "needs an input of more than %d MiB", maxQuestion>>20)
	}
	c := command(append([]string{p.file}, args...))
	c.Timeout, c.Stdin = p.limit, stdin
	exit, err := start(ctx, c)
	said := exit.Stderr
	var failed *failure
	switch {
	case err != nil:
		failed = p.notRun(action, interpreter(h.Files, p.file, err))
	case exit.Code != 0:
		failed, said.Text = p.ended(action, exit)
	case exit.Stdout.Dropped > 0:
		failed = p.broken(action, "printed more than %d MiB", maxAnswer>>20)
	}
	log(h.Report, said)
	if failed != nil {
		process.Show(h.Report, p.calls(action), exit.Stdout.Text)
	}
	return exit, failed
}

// command prepares a provider to be started: without a shell, and with an environment
// of PATH, HOME, USER, LOGNAME, SHELL and the locale.
func command(argv []string) modules.Command {
	return modules.Command{
		Argv:      argv,
		Home:      true,
		Env:       []string{"LANG=C.UTF-8", "LC_ALL=C.UTF-8"},
		MaxOutput: maxAnswer,
	}
}

// interpreter names the missing program if an existing file cannot be started because the program in its first line is
// missing.
func interpreter(files modules.FileReader, file string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, openErr := process.ReadText(files, file, 512)
	line, _, _ := strings.Cut(text, "\n")
	program, found := strings.CutPrefix(line, "#!")
	words := strings.Fields(program)
	if openErr != nil && !errors.Is(openErr, process.ErrTooLong) || !found || len(words) == 0 {
		return err
	}
	return fmt.Errorf("its interpreter %s is not on the host", quoted(words[0]))
}

// get gets resources by name; all existing ones if there are no names. The answer has an entry for each name.
func (p *provider) get(ctx context.Context, h modules.Host, names []string) (map[string]*entry, error) {
	var all map[string]*entry
	var err *failure
	if p.Invoke == invokeSimple {
		all, err = p.getSimple(ctx, h, names)
	} else {
		all, err = p.getJSON(ctx, h, names)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if all[name] == nil {
			all[name] = &entry{values: p.missing(), unmentioned: true}
		}
	}
	return all, nil
}

// An update is a resource to change.
type update struct {
	name       string
	is, should values
}

// A change is a provider's report about the change of one attribute.
type change struct{ was, is any }

// A report is a provider's report about one resource.
type report struct {
	changes map[string]change
	err     *failure
}

// set changes resources, all in one call, or with noop predicts the changes. The result has no report for resources
// that the provider does not mention.
func (p *provider) set(ctx context.Context, h modules.Host, updates []update, noop bool) (map[string]*report, error) {
	start := h.Commands.Run
	if noop {
		start = h.Commands.Probe
	}
	if p.Invoke == invokeJSON {
		return orNil(p.setJSON(ctx, h, start, updates, noop))
	}
	all := map[string]*report{}
	for _, u := range updates {
		one, err := p.setSimple(ctx, h, start, u, noop)
		if err != nil {
			return nil, err
		}
		if one != nil {
			all[u.name] = one
		}
	}
	return all, nil
}

// orNil keeps a nil *failure from becoming an error that is not nil.
func orNil[T any](v T, err *failure) (T, error) {
	if err != nil {
		return v, err
	}
	return v, nil
}

// attributes reads the values of a resource in a provider's answer. It omits attributes that the metadata do not name
// and attributes that are never reported.
func (p *provider) attributes(action string, told map[string]any) (values, *failure) {
	v := values{}
	for key, raw := range told {
		a, known := p.Attributes[key]
		if !known || key == "name" || a.Kind == kindWrite {
			continue
		}
		value, err := a.read(raw)
		if err != nil {
			return nil, p.broken(action, "reports an impossible value for %q: %v", key, err)
		}
		v[key] = value
	}
	return v, nil
}

// derived returns the report for an update that the provider reports to have made as requested (derive).
func derived(u update) *report {
	r := &report{changes: map[string]change{}}
	if gone(u.should[ensure]) {
		r.changes[ensure] = change{u.is[ensure], u.should[ensure]}
		return r
	}
	for key, v := range u.should {
		if !equal(v, u.is[key]) {
			r.changes[key] = change{u.is[key], v}
		}
	}
	return r
}
