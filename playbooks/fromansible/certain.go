package fromansible

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/output"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/role"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// Facts that plays ask for are gathered before anything of a run is changed. So a task that looks at the host may
// become one only if nothing before it, in its play and in those before that, may change what it looks at. That is
// found by going through all that a first conversion has written, in the order in which it is carried out; the
// second one knows it.

// A certainty says whose answers are the same before the run.
type certainty struct {
	tasks   map[string]bool // tasks that look, by their places
	gathers map[kind]bool   // what modules gather; all that are there have to be certain

	known output.Known // about variables

	apart     map[role.Ask]bool // results that are not there in all that a file of tasks is part of
	mixed     map[string]bool   // tasks without become, by their places, in plays that other tasks make root's
	cache     string            // how old lists of packages may be, where a task of its own fetches them
	unapplied map[string]bool   // files of tasks that nothing applies, though tasks of theirs notify handlers
}

// A kind is one of what modules gather.
type kind int

const (
	packages kind = iota + 1
	services
	accounts
)

// kindOf is that of a query; 0 of one that is about no element of what is gathered.
func kindOf(q facts.Query) kind {
	switch {
	case q.Package != "":
		return packages
	case q.Service != "":
		return services
	case q.Getent != "":
		return accounts
	}
	return 0
}

func (c certainty) any() bool {
	return len(c.known.Overrides) > 0 || len(c.apart) > 0 || len(c.unapplied) > 0 || len(c.mixed) > 0 || c.cache != "" || slices.Contains(slices.Collect(maps.Values(c.tasks)), true)
}

// asks reports whether plays may ask a query where a module has gathered what it is about.
func (c certainty) asks(q facts.Query) bool { return c.gathers[kindOf(q)] }

// certainty goes through all that is written.
func (c *converter) certainty() certainty {
	p := prover{c: c, manifests: map[string]*manifestOf{}, certainty: certainty{
		tasks: map[string]bool{}, gathers: map[kind]bool{}, known: c.out.Known, apart: map[role.Ask]bool{}, mixed: map[string]bool{}, cache: c.tasks.Fetched, unapplied: map[string]bool{},
	}}
	for _, u := range c.units {
		p.manifestsOf(u)
	}
	for _, plays := range c.written {
		for _, one := range plays {
			p.manifestsOf(one.tasks)
		}
	}
	for file, plays := range c.written {
		p.plays(file, &changes{}, nil)
		for _, one := range plays {
			p.users(one)
		}
	}
	p.together()
	return p.certainty
}

// A manifestOf is one of a unit.
type manifestOf struct {
	unit *unit
	*manifestFile
}

// A prover goes through what is written.
type prover struct {
	c         *converter
	manifests map[string]*manifestOf // by the paths that apply names, seen from the folder that is written
	certainty
}

func (p *prover) manifestsOf(u *unit) {
	if u == nil {
		return
	}
	for _, m := range u.made {
		name := m.path
		if path.Base(name) == "manifest.yaml" {
			name = path.Dir(name)
		}
		p.manifests[name] = &manifestOf{u, m}
	}
}

// plays goes through those of a file; within are the files that have included it.
func (p *prover) plays(file string, before *changes, within []string) {
	if slices.Contains(within, file) {
		before.anything = true
		return
	}
	for _, one := range p.c.written[file] {
		if one.include != "" {
			p.plays(one.include, before, append(within, file))
			continue
		}
		p.entries(one.tasks, one.entries, before, nil)
	}
}

// entries goes through those of a manifest; within are the manifests that have applied it.
func (p *prover) entries(u *unit, list []*layout.Entry, before *changes, within []string) {
	for _, e := range list {
		switch {
		case e.Look != nil:
			p.look(e, before)
		case e.Get("each") != nil || e.Get("on") != nil || e.Get("once") != nil:
			before.add(e)
			before.anything = before.anything || e.Type == "apply" || e.IsBlock() || e.Get("each") == nil
		case e.IsBlock():
			for _, part := range [][]*layout.Entry{e.Block, e.Rescue, e.Always} {
				p.entries(u, part, before, within)
			}
		case e.Type == "apply":
			name, m := p.applied(u, e)
			if m == nil || slices.Contains(within, name) {
				before.anything = true
				continue
			}
			p.entries(m.unit, m.entries, before, append(within, name))
		default:
			before.add(e)
		}
	}
}

// applied is the manifest that an entry of a unit applies; nil if it is not known.
func (p *prover) applied(u *unit, e *layout.Entry) (name string, m *manifestOf) {
	name = e.Name
	if u != nil {
		name = path.Join(u.Out, name)
	}
	return name, p.manifests[name]
}

// users notes the tasks without become of a play that other tasks make root's.
func (p *prover) users(one *play) {
	seen := map[string]bool{}
	var visit func(u *unit, list []*layout.Entry)
	visit = func(u *unit, list []*layout.Entry) {
		layout.Walk(list, func(e *layout.Entry) {
			if e.Plain != "" {
				p.mixed[e.Plain] = true
			}
			if e.Type != "apply" {
				return
			}
			if name, m := p.applied(u, e); m != nil && !seen[name] {
				seen[name] = true
				visit(m.unit, m.entries)
			}
		})
	}
	if one.rooted {
		visit(one.tasks, one.entries)
	}
}

// look decides about a task that looks, once more wherever it is carried out.
func (p *prover) look(e *layout.Entry, before *changes) {
	if e.Look.InPlace {
		before.add(e)
	}
	certain := !e.Look.InPlace && !before.mayChange(e.Look.Query)
	if was, seen := p.tasks[e.Look.Where]; seen {
		certain = certain && was
	}
	p.tasks[e.Look.Where] = certain
	if k := kindOf(e.Look.Query); k != 0 {
		was, seen := p.gathers[k]
		p.gathers[k] = certain && (was || !seen)
	}
}

// changes are what may have been changed.
type changes struct {
	anything  bool
	paths     [][]string // by their parts; one with an expression in it may be any other
	somePaths bool       // others, which are not named
	accounts  bool
}

// add notes what a resource may change.
func (c *changes) add(e *layout.Entry) {
	readonly := yamlnode.IsTrue(e.Get("readonly")) || yamlnode.IsTrue(e.Get("noop"))
	switch {
	case e.Todo != "" && e.Does != nil && e.Does.Get("on") == nil:
		c.add(e.Does)
	case e.Todo != "":
		c.anything = true
	case e.Type == "", e.Type == "assert", e.Type == "set", e.Type == "wait", readonly:
	default:
		c.change(e)
	}
}

func (c *changes) change(e *layout.Entry) {
	switch e.Type {
	case "file", "link", "line", "replace", "ini":
		name := e.Name
		if n := e.Get("path"); n != nil {
			name = n.Value
		}
		c.anything = c.anything || !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "{{")
		c.paths = append(c.paths, parts(name))
	case "sysctl", "kmod", "hostname", "timezone", "cron", "sudoers", "authorized_key", "known_host", "repository":
		c.somePaths = true
	case "group":
		c.accounts, c.paths = true, append(c.paths, parts("/etc/group"), parts("/etc/gshadow"))
	default:
		c.anything = true
	}
}

// mayChange reports whether the answer to a query may be another one now.
func (c *changes) mayChange(q facts.Query) bool {
	switch {
	case c.anything:
		return true
	case q.Stat != "":
		return c.somePaths || c.below(parts(q.Stat)...)
	case q.Package != "":
		return c.below("dpkg") || c.below("rpm") || c.below("apk") || c.below("pacman")
	case q.Service != "":
		return c.below("systemd") || c.below("init.d")
	case q.Getent != "":
		return c.accounts || c.below("passwd") || c.below("group") || c.below("nsswitch.conf")
	}
	return c.somePaths || c.accounts || len(c.paths) > 0
}

// below reports whether a path that may have been changed is another one, above it or below it. Links make many
// paths of one, but each of these has the name of what it leads to behind its last slash.
func (c *changes) below(other ...string) bool {
	return slices.ContainsFunc(c.paths, func(changed []string) bool {
		return slices.ContainsFunc(changed, func(part string) bool { return strings.Contains(part, "{{") }) ||
			slices.Contains(other, changed[len(changed)-1]) || slices.Contains(changed, other[len(other)-1])
	})
}

// parts are what stands between the slashes of a path.
func parts(name string) []string { return strings.Split(strings.Trim(path.Clean(name), "/"), "/") }
