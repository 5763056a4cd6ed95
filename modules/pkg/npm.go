//go:build full || !host

package pkg

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// npm is the package manager of Node.js: global, or for one project.
type npm struct {
	library
	rights modules.FileRights
}

// database implements [changer]. Only npm knows the folder of global packages.
func (n *npm) database() string {
	if n.user != "" || n.directory == "" {
		return ""
	}
	return n.first(path.Join(n.directory, "package.json"))
}

// changes implements [changer].
func (n *npm) changes() (from modules.Sources) {
	from = n.told()
	from.Polled = "npm sends no events about installed packages"
	if n.directory != "" {
		from.Paths = append(from.Paths, path.Join(n.directory, "package.json"), path.Join(n.directory, "node_modules/.package-lock.json"))
	}
	return from
}

// npmEnvironment disables npm's prompts and unrequested messages.
var npmEnvironment = []string{"npm_config_yes=true", "npm_config_fund=false", "npm_config_audit=false", "npm_config_update_notifier=false", "npm_config_color=false", "npm_config_progress=false"}

// command is one of npm, about the packages of the project or the global ones.
func (n *npm) command(arguments ...string) modules.Command {
	argv := []string{"npm", arguments[0]}
	if n.directory != "" {
		argv = append(argv, "--prefix="+n.directory)
	} else {
		argv = append(argv, "--global")
	}
	if n.index != "" {
		argv = append(argv, "--registry="+n.index)
	}
	return modules.Command{Argv: append(argv, arguments[1:]...), Env: npmEnvironment, Timeout: queryTimeout, User: n.user}
}

// maxNPM bounds the output of npm about packages, in bytes: one package may have thousands of versions.
const maxNPM = 4 << 20

// ask runs npm with --json and decodes its answer.
func (n *npm) ask(ctx context.Context, reads modules.EffectKind, answer any, arguments ...string) (modules.Exit, error) {
	c := n.command(append(arguments, "--json")...)
	c.Reads, c.MaxOutput = reads, maxNPM
	exit, err := n.Probe(ctx, c)
	if err != nil {
		return exit, fmt.Errorf("running npm: %w", err)
	}
	if exit.Stdout.Dropped > 0 || json.Unmarshal([]byte(exit.Stdout.Text), answer) != nil && exit.Code == 0 && exit.Stdout.Text != "" {
		err = modules.Refuse("the output of npm %s cannot be parsed", arguments[0])
	}
	return exit, err
}

// npmTree is the output of npm ls.
type npmTree struct {
	Dependencies map[string]struct {
		Version string `json:"version"`
	} `json:"dependencies"`
}

// installed implements [looker].
func (n *npm) installed(ctx context.Context, name string) (State, error) {
	states := map[string]State{}
	err := n.survey(ctx, []string{name}, states)
	return states[name], err
}

// survey implements [surveyor]. npm ls exits with status 1 if a package is missing that others need.
func (n *npm) survey(ctx context.Context, names []string, states map[string]State) error {
	var tree npmTree
	exit, err := n.ask(ctx, Effect, &tree, "ls", "--depth=0")
	switch {
	case err != nil:
		return err
	case n.isMissing(exit): // nothing is installed
	case exit.Code > 1 || exit.Code == 1 && tree.Dependencies == nil:
		return n.failure("npm ls", exit)
	}
	for _, name := range names {
		version := tree.Dependencies[name].Version
		states[name] = State{Installed: version != "", Version: version}
	}
	return nil
}

// offers implements [surveyor]: npm can query only one package at a time.
func (*npm) offers(context.Context, []string, map[string]string) error { return nil }

// npmRefusal is the JSON form of an npm error.
type npmRefusal struct {
	Error struct{ Code, Summary string }
}

// view queries the registry about a package; the answer is one text or several.
func (n *npm) view(ctx context.Context, spec, field string) ([]string, error) {
	var raw json.RawMessage
	exit, err := n.ask(ctx, "", &raw, "view", spec, field)
	if err != nil {
		return nil, err
	}
	if exit.Code != 0 {
		var said npmRefusal
		_ = json.Unmarshal(raw, &said)
		if said.Error.Code == "E404" {
			return nil, modules.Refuse("the registry of npm has no package %q", spec)
		}
		return nil, modules.Refuse("%w", n.failure("npm view", exit))
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}, nil
	}
	var all []string
	if len(raw) > 0 && json.Unmarshal(raw, &all) != nil {
		return nil, modules.Refuse("the output of npm view cannot be parsed")
	}
	return all, nil
}

// offer implements [looker].
func (n *npm) offer(ctx context.Context, name, version string) (string, error) {
	if version == "" {
		found, err := n.view(ctx, name, "version")
		if err == nil && len(found) != 1 {
			err = modules.Refuse("the npm registry does not report the latest version of %s", name)
		}
		if err != nil {
			return "", err
		}
		return found[0], nil
	}
	all, err := n.view(ctx, name, "versions")
	if err != nil {
		return "", err
	}
	for _, v := range all {
		if compareSemantic(v, version) == 0 {
			return v, nil
		}
	}
	return "", modules.Refuse("version %s of %q is not available; available: %s", version, name, words(some(newestFirst(all))))
}

// versions implements [looker]: releases. A pre-release is installed only if ensure names its version.
func (n *npm) versions(ctx context.Context, name string) ([]string, error) {
	all, err := n.view(ctx, name, "versions")
	return slices.DeleteFunc(newestFirst(all), func(version string) bool {
		_, pre := splitSemantic(version)
		return pre != ""
	}), err
}

func newestFirst(versions []string) []string {
	slices.SortFunc(versions, func(a, b string) int { return compareSemantic(b, a) })
	return versions
}

// order implements [judge].
func (*npm) order(_ context.Context, one, other string) (int, error) {
	return compareSemantic(one, other), nil
}

// against implements [judge].
func (*npm) against(_ context.Context, have, wanted string) (int, error) {
	return compareSemantic(have, wanted), nil
}

func (n *npm) arguments(t transaction) []string {
	verb, options := "install", n.options
	if t.verb == remove {
		verb, options = "uninstall", nil
	}
	arguments := append([]string{verb}, options...)
	for _, i := range t.items {
		if t.verb != remove && i.version != "" {
			i.name += "@" + i.version
		}
		arguments = append(arguments, i.name)
	}
	return arguments
}

// rehearse implements [changer]. npm 9 does not name the other packages that it would change, and later ones also name
// dependencies.
func (n *npm) rehearse(ctx context.Context, t transaction) ([]consequence, error) {
	if err := n.mayChange(ctx, t.items[0].name); err != nil || t.verb == remove {
		return nil, err
	}
	exit, err := n.Probe(ctx, n.command(append(n.arguments(t), "--dry-run", "--ignore-scripts")...))
	switch {
	case err != nil:
		return nil, fmt.Errorf("running npm: %w", err)
	case n.isMissing(exit):
		return nil, unforeseen{modules.Refuse("the directory does not exist yet, so npm cannot simulate the installation")}
	case exit.Code != 0:
		return nil, modules.Refuse("%w", n.failure("npm install --dry-run", exit))
	}
	return nil, nil
}

// isMissing reports whether npm has not found the directory of the project or of global packages, which it creates on
// installation.
func (n *npm) isMissing(exit modules.Exit) bool {
	at := "/lib"
	if n.directory != "" {
		at = " lstat '" + n.directory
	}
	return exit.Code != 0 && strings.Contains(exit.Stderr.Text, "ENOENT: no such file or directory, lstat '") && strings.Contains(exit.Stderr.Text, at+"'")
}

// mayChange refuses to change global packages if this user may not: a dry run of npm does not check permissions.
func (n *npm) mayChange(ctx context.Context, name string) error {
	if n.user != "" || n.directory != "" {
		return nil
	}
	exit, err := n.Probe(ctx, n.command("root"))
	at := strings.TrimSpace(exit.Stdout.Text)
	if err != nil || exit.Code != 0 || !path.IsAbs(at) {
		return err
	}
	_, err = modules.PlanIfPermitted(modules.Plan{}, n.rights.MayReplace(n.first(path.Join(at, name))))
	return err
}

// carryOut implements [changer].
func (n *npm) carryOut(ctx context.Context, t transaction) error {
	c := n.command(n.arguments(t)...)
	c.Timeout, c.Follow = 0, true
	exit, err := n.Run(ctx, c)
	if err == nil && exit.Code != 0 {
		err = n.failure("npm "+c.Argv[1], exit)
	}
	return err
}

// failure returns the messages of npm after its name. For an error of JavaScript it returns the message only, without
// the source line before it and the stack after it.
func (n *npm) failure(command string, exit modules.Exit) error {
	said := marked(exit.Stderr.Text, "npm error", "npm ERR!")
	if before, _, found := strings.Cut(said, "\nA complete log of this run"); found {
		said = before
	}
	if thrown := javaScriptError().FindString(said); thrown != "" {
		said = thrown
	}
	if said != "" {
		exit.Stderr.Text = said
	}
	return failure(command, exit, nil)
}

var javaScriptError = lazily(`(?m)^[A-Za-z]*Error: .+`)
