package fromansible

import (
	"regexp"
	"slices"
	"sync"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/role"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// Files of tasks may be carried out by themselves, by tasks_from or by another role, and one whose include is a todo is
// not carried out at all. What others of the role register is not there then, and what notifies nothing.

// A following goes through one play, or a role by itself, in the order in which it is carried out.
type following struct {
	*prover
	reached    map[string]bool // manifests, in all that is gone through
	registered map[string]bool // in this play
}

// together finds what files of tasks miss of those that are not carried out with them.
func (p *prover) together() {
	reached := map[string]bool{}
	for _, plays := range p.c.written {
		for _, one := range plays {
			f := following{p, reached, map[string]bool{}}
			f.through(one.tasks, one.entries, "", nil)
		}
	}
	for _, u := range p.c.units {
		if name := u.Out; !reached[name] && u.made["main"] != nil {
			reached[name] = true
			f := following{p, reached, map[string]bool{}}
			f.through(u, u.made["main"].entries, u.made["main"].source, []string{name})
		}
	}
	for name, m := range p.manifests {
		if m.notifies && !reached[name] {
			p.unapplied[m.source] = true
		}
	}
}

// through goes through those of a manifest, which is made of a file; within are the manifests that have applied it.
func (f following) through(u *unit, list []*layout.Entry, file string, within []string) {
	for _, e := range list {
		f.asks(e, file)
		if n := e.Get("register"); n != nil {
			f.registered[n.Value] = true
		}
		if e.Type == "apply" {
			name, m := f.applied(u, e)
			f.reached[name] = true
			if m != nil && !slices.Contains(within, name) {
				f.through(m.unit, m.entries, m.source, append(slices.Clone(within), name))
			}
		}
		for _, part := range [][]*layout.Entry{e.Block, e.Rescue, e.Always} {
			f.through(u, part, file, within)
		}
	}
}

// resultForm finds results in what is written.
var resultForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bResults\.(\w+)`) })

// asks notes which results an entry asks for that nothing before it has registered.
func (f following) asks(e *layout.Entry, file string) {
	if e.File != "" {
		file = e.File
	}
	texts := [][]byte{[]byte(e.Name)}
	for _, p := range e.Props {
		texts = append(texts, yamlnode.Encode(p.Value))
	}
	for _, text := range texts {
		for _, m := range resultForm().FindAllSubmatch(text, -1) {
			if name := string(m[1]); !f.registered[name] {
				f.apart[role.Ask{File: file, Result: f.c.tasks.ResultOf(name)}] = true
			}
		}
	}
}
