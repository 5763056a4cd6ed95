//go:build !host

package pkg

import "github.com/ccm-push/ccm-push/modules"

// Related implements [modules.Related].
func (p *Package) Related() []modules.Relation {
	if p.ofLanguage() {
		return p.languageRelations()
	}
	all := modules.PackageRelations(p.Name, p.Ensure == absent)
	if p.Path != "" && p.Ensure != absent {
		all = append(all, modules.Relation{Verb: modules.Needs, Thing: modules.PathOf(p.Path), Reach: modules.Nearest, Why: "package file"})
	}
	return all
}

// ThingLibraries are the global packages of a language on a host, which are changed one after the other.
const ThingLibraries modules.ThingKind = "libraries"

// languageRelations returns the relations of a language package: it runs after the programs that install it, after its
// user, and after the parent of its place. Packages of one place are changed one after the other, and other resources
// can depend on this place.
func (p *Package) languageRelations() []modules.Relation {
	programs := []string{"npm", "nodejs"}
	at := p.Directory
	if p.Provider == pipProvider {
		programs = []string{"python3", "python3-pip", "python3-venv", "python3-virtualenv", p.Python}
		at = p.Virtualenv
	}
	all := modules.NeedsOwner(p.User, "")
	for _, name := range programs {
		if name != "" {
			all = append(all, modules.Relation{Verb: modules.Needs, Thing: modules.Thing{Kind: modules.ThingPackage, Key: name}, Weak: true, Why: "package manager"})
		}
	}
	if at == "" {
		return append(all, modules.Relation{Verb: modules.Edits, Thing: modules.Thing{Kind: ThingLibraries, Key: p.keyOf("")}})
	}
	return append(all, modules.NeedsParent(at), modules.Relation{Verb: modules.Edits, Thing: modules.PathOf(at)})
}
