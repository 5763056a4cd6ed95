//go:build !host

package pkg

import "github.com/ccm-push/ccm-push/modules"

// Related implements [modules.Related].
func (p *Package) Related() []modules.Relation {
	if p.ofLanguage() {
		return p.place().relations()
	}
	all := modules.PackageRelations(p.Name, p.Ensure == absent)
	if p.Path != "" && p.Ensure != absent {
		all = append(all, modules.Relation{Verb: modules.Needs, Thing: modules.PathOf(p.Path), Reach: modules.Nearest, Why: "package file"})
	}
	return all
}

// ThingLibraries are the global packages of a language on a host, which are changed one after the other.
const ThingLibraries modules.ThingKind = "libraries"

// relations returns the relations of a package of a language: it runs after the programs that install it, after its
// user, and after the parent of its place. Packages of one place are changed one after the other, and other resources
// can depend on this place.
func (l place) relations() []modules.Relation {
	programs := []string{"npm", "nodejs"}
	at := l.directory
	if l.provider == pipProvider {
		programs = []string{"python3", "python3-pip", "python3-venv", "python3-virtualenv", l.python}
		at = l.virtualenv
	}
	all := modules.NeedsOwner(l.user, "")
	for _, name := range programs {
		if name != "" {
			all = append(all, modules.Relation{Verb: modules.Needs, Thing: modules.Thing{Kind: modules.ThingPackage, Key: name}, Weak: true, Why: "package manager"})
		}
	}
	if at == "" {
		return append(all, modules.Relation{Verb: modules.Edits, Thing: modules.Thing{Kind: ThingLibraries, Key: l.key("")}})
	}
	return append(all, modules.NeedsParent(at), modules.Relation{Verb: modules.Edits, Thing: modules.PathOf(at)})
}
