package pkg

import (
	"slices"
	"strings"
)

// aptPolicy is what `apt-cache policy` prints of one package.
type aptPolicy struct {
	known     bool   // apt has heard the name, be it of a virtual package
	candidate string // "" if there is none
	versions  []string
	table     bool // the lines that follow are versions and where they come from
}

// maxVersions bounds the versions that are kept of a package.
const maxVersions = 1000

// line reads one line:
//
//	nginx:
//	  Installed: (none)
//	  Candidate: 1.22.1-9
//	  Version table:
//	 *** 1.22.1-9 500
//	        500 http://deb.debian.org/debian bookworm/main amd64 Packages
func (p *aptPolicy) line(line string) {
	switch text := strings.TrimLeft(line, " *"); {
	case len(text) == len(line):
		p.known = p.known || strings.HasSuffix(line, ":")
	case p.table && len(line)-len(text) == versionIndent:
		if version, _, ok := strings.Cut(text, " "); ok && len(p.versions) < maxVersions {
			p.versions = append(p.versions, version)
		}
	case strings.HasPrefix(text, "Version table:"):
		p.table = true
	case strings.HasPrefix(text, "Candidate: "):
		p.candidate = strings.TrimPrefix(text, "Candidate: ")
		if p.candidate == "(none)" {
			p.candidate = ""
		}
	}
}

// versionIndent is how far the versions of the table stand from the margin, with
// their mark; their sources stand further.
const versionIndent = 5

// aptPolicies is what `apt-cache policy` prints of several packages.
type aptPolicies struct {
	byName  map[string]*aptPolicy
	current *aptPolicy
}

// line reads one line. One that is not indented begins the next package.
func (p *aptPolicies) line(line string) {
	if name, ok := strings.CutSuffix(line, ":"); ok && !strings.HasPrefix(line, " ") {
		p.current = &aptPolicy{}
		p.byName[name] = p.current
	}
	if p.current != nil {
		p.current.line(line)
	}
}

func (p *aptPolicy) has(version string) bool { return slices.Contains(p.versions, version) }

// some lists the versions for an error, the highest first.
func (p *aptPolicy) some() []string {
	const enough = 5
	if len(p.versions) <= enough {
		return p.versions
	}
	return append(slices.Clone(p.versions[:enough]), "…")
}
