//go:build full || !host

package pkg

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// pip is the package manager of Python: for one Python, or for a virtualenv that is made with it. It is started as a
// module of that Python, so that it cannot be the pip of another.
type pip struct {
	library
	base    string // the Python that makes the virtualenv
	within  string // range in ensure; empty means any
	missing bool   // the virtualenv
	last    *trial
}

// A trial is the result of a dry run of pip.
type trial struct {
	spec string
	done []consequence
}

// database implements [changer]. Without a virtualenv, pip itself finds a place that may be written.
func (y *pip) database() string {
	switch {
	case y.user != "" || y.virtualenv == "":
		return ""
	case !y.missing:
		return path.Join(y.virtualenv, "pyvenv.cfg")
	}
	return y.first(y.virtualenv)
}

// changes implements [changer].
func (y *pip) changes() (from modules.Sources) {
	from.Polled = "pip sends no events about installed packages"
	if y.virtualenv == "" {
		from.AddProgram(y.program)
		return from
	}
	from.Paths = []string{path.Join(y.virtualenv, "pyvenv.cfg"), path.Join(y.virtualenv, "bin/python")}
	return from
}

// makes implements [placeMaker].
func (y *pip) makes() string {
	if y.missing {
		return y.virtualenv
	}
	return ""
}

// pipEnvironment disables pip's prompts and its check for a newer pip.
var pipEnvironment = []string{"PIP_NO_INPUT=1", "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_COLOR=1", "PIP_ROOT_USER_ACTION=ignore"}

// command returns a command of pip. The credentials of an index are in a list of requirements on its standard input,
// where no other user can read them.
func (y *pip) command(python string, arguments ...string) modules.Command {
	argv := append([]string{python, "-m", "pip"}, arguments...)
	c := modules.Command{Env: pipEnvironment, Timeout: queryTimeout, User: y.user}
	if y.index != "" && (arguments[0] == "install") {
		// Only the owner of /dev/stdin can open it. The pipe from cat belongs to the user that runs pip.
		argv = append([]string{"/bin/sh", "-c", `cat | "$@" -r /dev/stdin`, "pip"}, argv...)
		c.Stdin = "--index-url " + y.index + "\n"
	}
	c.Argv = argv
	return c
}

// probe runs a query of pip.
func (y *pip) probe(ctx context.Context, python string, reads modules.EffectKind, onLine func(string), arguments ...string) (modules.Exit, error) {
	c := y.command(python, arguments...)
	// Without these settings a check would write compiled files, and pip would refuse even a dry run (PEP 668).
	c.Env = append(slices.Clone(c.Env), "PYTHONDONTWRITEBYTECODE=1", "PIP_BREAK_SYSTEM_PACKAGES=1")
	c.Reads, c.OnLine = reads, onLine
	exit, err := y.Probe(ctx, c)
	if err != nil {
		err = fmt.Errorf("running pip: %w", err)
	}
	return exit, err
}

const noPip = "No module named pip"

// list returns the versions of all installed packages, by their normal names.
func (y *pip) list(ctx context.Context) (map[string]string, error) {
	have := map[string]string{}
	if y.missing {
		return have, nil
	}
	exit, err := y.probe(ctx, y.program, Effect, func(line string) {
		if name, version, ok := strings.Cut(line, "=="); ok && len(have) < maxConsequences {
			have[normalName(name)] = strings.TrimSpace(version)
		}
	}, "list", "--format", "freeze")
	switch {
	case err != nil:
		return nil, err
	case strings.Contains(exit.Stderr.Text, noPip) && y.virtualenv != "": // an incomplete virtualenv
		y.missing = true
		return map[string]string{}, nil
	case strings.Contains(exit.Stderr.Text, noPip):
		return nil, modules.Refuse(`%s has no pip; install the package python3-pip, or set "virtualenv"`, y.program)
	case exit.Code != 0:
		return nil, y.failure("pip list", exit)
	}
	return have, nil
}

// installed implements [looker].
func (y *pip) installed(ctx context.Context, name string) (State, error) {
	have, err := y.list(ctx)
	if err != nil {
		return State{}, err
	}
	base, extras := splitExtras(name)
	version := have[normalName(base)]
	if version == "" {
		return State{}, nil
	}
	s := State{Installed: true, Version: version}
	if extras == "" {
		return s, nil
	}
	lacking, err := y.try(ctx, name+"=="+version)
	if err == nil && len(lacking) > 0 || isUnforeseen(err) {
		return State{Version: version, Unfinished: "without " + extras}, nil
	}
	return s, err
}

// survey implements [surveyor].
func (y *pip) survey(ctx context.Context, names []string, states map[string]State) error {
	have, err := y.list(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if base, extras := splitExtras(name); extras == "" {
			version := have[normalName(base)]
			states[name] = State{Installed: version != "", Version: version}
		}
	}
	return nil
}

// offers implements [surveyor]: pip can resolve only one package at a time, with its dependencies.
func (*pip) offers(context.Context, []string, map[string]string) error { return nil }

// try runs a dry run of pip install. It excludes packages that must be built first: a build runs code of the package,
// and a check must not run such code.
func (y *pip) try(ctx context.Context, arguments ...string) ([]consequence, error) {
	python, options := y.program, []string{"install", "--dry-run", "--only-binary=:all:"}
	if y.missing {
		python, options = y.base, append(options, "--ignore-installed")
	}
	var done []consequence
	exit, err := y.probe(ctx, python, "", func(line string) {
		if rest, ok := strings.CutPrefix(line, "Would install "); ok {
			done = wouldInstall(rest)
		}
	}, slices.Concat(options, y.options, arguments)...)
	switch said := exit.Stderr.Text; {
	case err != nil:
		return nil, err
	case exit.Code == 0:
		return done, nil
	case strings.Contains(said, noPip):
		return nil, unforeseen{modules.Refuse("%s has no pip, and the virtualenv does not exist yet, so ccm-push cannot predict which packages pip will install", python)}
	case strings.Contains(said, "no such option: --dry-run"):
		return nil, unforeseen{modules.Refuse("this pip is older than 22.2 and cannot simulate an installation")}
	case strings.Contains(said, "No matching distribution found"):
		return nil, unforeseen{modules.Refuse("pip finds no built package, and cannot simulate an installation that has to build one: %s", firstLine(marked(y.shown(said), "ERROR:")))}
	}
	return nil, modules.Refuse("%w", y.failure("pip install --dry-run", exit))
}

// wouldInstall reads names with versions: demo-2.0 other-1.0. A version has no dash.
func wouldInstall(text string) (done []consequence) {
	for word := range strings.FieldsSeq(text) {
		if at := strings.LastIndexByte(word, '-'); at > 0 && len(done) < maxConsequences {
			done = append(done, consequence{normalName(word[:at]), word[at+1:]})
		}
	}
	return done
}

// offer implements [looker]. pip chooses the version that fits all dependencies of the package.
func (y *pip) offer(ctx context.Context, name, version string) (string, error) {
	spec := pipSpec(item{name: name, version: version, within: y.within})
	done, err := y.try(ctx, "--upgrade", spec)
	if err != nil {
		return "", cmp.Or(y.mayChange(ctx), err) // this refusal does not depend on pip's answer
	}
	base, _ := splitExtras(name)
	for _, c := range done {
		if c.name == normalName(base) {
			y.last = &trial{pipSpec(item{name: name, version: c.version}), done}
			return c.version, nil
		}
	}
	have, err := y.list(ctx)
	if err == nil && have[normalName(base)] == "" {
		err = modules.Refuse("pip does not say which version of %s it would install", name)
	}
	return have[normalName(base)], err
}

// versions implements [looker]: offer has already passed the range to pip.
func (*pip) versions(context.Context, string) ([]string, error) { return nil, nil }

// order implements [judge].
func (*pip) order(_ context.Context, one, other string) (int, error) {
	return comparePython(one, other), nil
}

// against implements [judge]. A version without a local part is any of it: 1.0 is also 1.0+cpu.
func (*pip) against(_ context.Context, have, wanted string) (int, error) {
	if !strings.Contains(wanted, "+") {
		have, _, _ = strings.Cut(have, "+")
	}
	return comparePython(have, wanted), nil
}

// pipSpec is a package as an argument of pip.
func pipSpec(i item) string {
	if i.version != "" {
		return i.name + "==" + i.version
	}
	bounds, _ := parseRange(i.within)
	spec := i.name
	for n, b := range bounds {
		if n > 0 {
			spec += ","
		}
		spec += cmp.Or(map[string]string{"=": "=="}[b.operator], b.operator) + b.version
	}
	return spec
}

// rehearse implements [changer].
func (y *pip) rehearse(ctx context.Context, t transaction) ([]consequence, error) {
	if err := y.mayChange(ctx); err != nil || t.verb == remove {
		return nil, err
	}
	specs := pipSpecs(t)
	if y.last != nil && slices.Equal(specs, []string{y.last.spec}) {
		return y.last.done, nil
	}
	return y.try(ctx, specs...)
}

func pipSpecs(t transaction) (specs []string) {
	for _, i := range t.items {
		specs = append(specs, pipSpec(i))
	}
	return specs
}

// mayChange refuses to change packages that the operating system manages (PEP 668).
func (y *pip) mayChange(ctx context.Context) error {
	if y.virtualenv != "" || y.breakSystem {
		return nil
	}
	exit, err := y.Probe(ctx, modules.Command{
		Argv:    []string{y.program, "-c", "import sys, sysconfig; print(sys.prefix == sys.base_prefix and sysconfig.get_path('stdlib') or '')"},
		Timeout: queryTimeout, User: y.user, Env: []string{"PYTHONDONTWRITEBYTECODE=1"},
	})
	at := strings.TrimSpace(exit.Stdout.Text)
	if err != nil || exit.Code != 0 || !path.IsAbs(at) {
		return err
	}
	switch _, err := modules.Follow(y.files, path.Join(at, "EXTERNALLY-MANAGED")); {
	case modules.NotThere(err):
		return nil
	case err != nil:
		return err
	}
	return modules.Refuse("%s belongs to the operating system, so pip must not change its packages (PEP 668: %s/EXTERNALLY-MANAGED); set virtualenv, install the package with "+
		"the operating system's package manager, or set break_system_packages: true", y.program, at)
}

// carryOut implements [changer].
func (y *pip) carryOut(ctx context.Context, t transaction) error {
	if t.verb == remove {
		arguments := []string{"uninstall", "-y"}
		for _, i := range t.items {
			base, _ := splitExtras(i.name)
			arguments = append(arguments, base)
		}
		return y.change(ctx, arguments...)
	}
	if y.missing {
		if err := y.makeVirtualenv(ctx); err != nil {
			return err
		}
	}
	return y.change(ctx, slices.Concat([]string{"install"}, y.options, pipSpecs(t))...)
}

// makeVirtualenv runs Python to create the virtualenv. An incomplete virtualenv is created again the next time.
func (y *pip) makeVirtualenv(ctx context.Context) error {
	exit, err := y.Run(ctx, modules.Command{
		Argv: []string{y.base, "-m", "venv", y.virtualenv}, Timeout: queryTimeout, User: y.user, Follow: true,
	})
	switch {
	case err != nil:
		return err
	case strings.Contains(exit.Stdout.Text, "ensurepip is not available"), strings.Contains(exit.Stderr.Text, "No module named venv"):
		return fmt.Errorf("%s cannot make a virtualenv: install the package python3-venv", y.base)
	case exit.Code != 0:
		return failure(y.base+" -m venv", exit, nil)
	}
	y.missing = false
	return nil
}

// change runs a command of pip that changes installed packages.
func (y *pip) change(ctx context.Context, arguments ...string) error {
	c := y.command(y.program, arguments...)
	c.Timeout, c.Follow = 0, true
	if y.breakSystem { // an older pip does not know it as an option
		c.Env = append(slices.Clone(c.Env), "PIP_BREAK_SYSTEM_PACKAGES=1")
	}
	exit, err := y.Run(ctx, c)
	if err == nil && exit.Code != 0 {
		err = y.failure("pip "+arguments[0], exit)
	}
	return err
}

// failure returns the messages of pip.
func (y *pip) failure(command string, exit modules.Exit) error {
	said := y.shown(exit.Stderr.Text)
	exit.Stderr.Text = cmp.Or(marked(said, "ERROR:", "error:"), said)
	return failure(command, exit, nil)
}

// shown is a text of pip without possible secrets of the index.
func (y *pip) shown(text string) string {
	u, err := url.Parse(y.index)
	if err != nil || y.index == "" {
		return text
	}
	text = strings.ReplaceAll(text, y.index, modules.ShownURL(y.index))
	if password, ok := u.User.Password(); ok && password != "" {
		text = strings.ReplaceAll(text, password, "****")
	}
	if user := u.User.Username(); user != "" {
		text = strings.ReplaceAll(text, user+"@", "****@")
	}
	return text
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
