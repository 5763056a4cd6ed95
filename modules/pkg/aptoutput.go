package pkg

import (
	"cmp"
	"slices"
	"strings"
)

// aptOutput collects the important parts of apt-get's output.
type aptOutput struct {
	done    []consequence
	kept    []string // packages with a newer version that are not changed
	reasons []string // unmet dependencies, and errors of dpkg
	inUnmet bool
	inKept  bool
	inError bool   // the line before began an error of dpkg
	holder  string // process with the lock that apt-get has waited for
	last    string // line, if it came from the script of a package
}

// maxReasons bounds the reasons for an error.
const maxReasons = 20

// inst matches the line that a simulation prints for a package that it installs or changes:
//
//	Inst demo [1.0] (2.0 localhost [all])
var inst = lazily(`^Inst (\S+) (?:\[\S+\] )?\((\S+) `)

// line reads one line of apt-get.
func (o *aptOutput) line(line string) {
	removed, isRemoved := strings.CutPrefix(line, "Remv ")
	inUnmet, inKept, inError, last := o.inUnmet, o.inKept, o.inError, o.last
	o.inUnmet, o.inKept, o.inError, o.last = false, false, false, ""
	switch m := inst().FindStringSubmatch(line); {
	case m != nil:
		o.add(consequence{m[1], m[2]})
	case isRemoved:
		if name, _, _ := strings.Cut(removed, " "); name != "" {
			o.add(consequence{name, ""})
		}
	case line == "The following packages have unmet dependencies:":
		o.inUnmet = true
	case line == "The following packages have been kept back:":
		o.inKept = true
	case inKept && strings.HasPrefix(line, " ") && len(o.kept) < maxConsequences:
		o.inKept = true
		o.kept = append(o.kept, strings.Fields(line)...)
	case strings.HasPrefix(line, "Waiting for cache lock:"):
		if m := holder().FindStringSubmatch(line); m != nil {
			o.holder = m[1]
		}
	case inUnmet && strings.HasPrefix(line, " "):
		o.inUnmet = true
		o.reason(line)
	case strings.HasPrefix(line, "dpkg: error"):
		o.inError = true
		o.reason(last)
		o.reason(line)
	case inError && strings.HasPrefix(line, " ") && len(o.reasons) < maxReasons:
		o.reasons[len(o.reasons)-1] += " " + strings.TrimSpace(line)
	case !progress().MatchString(line):
		o.last = line
	}
}

// progress matches lines that apt and dpkg print while all is well.
var progress = lazily(`^(Setting up|Unpacking|Preparing to unpack|Selecting|Removing|Processing triggers|\(Reading)`)

func (o *aptOutput) reason(text string) {
	if text = strings.Join(strings.Fields(text), " "); text != "" && len(o.reasons) < maxReasons {
		o.reasons = append(o.reasons, text)
	}
}

func (o *aptOutput) add(c consequence) {
	if len(o.done) < maxConsequences {
		o.done = append(o.done, c)
	}
}

// holder matches the process with the lock, which apt-get names when it begins to wait or gives up.
var holder = lazily(`It is held by (process \d+ \([^)]*\))`)

// lockedOut reports whether apt-get has failed because of a lock, and which process has it.
func (o *aptOutput) lockedOut(stderr string) (by string, ok bool) {
	if m := holder().FindStringSubmatch(stderr); m != nil {
		o.holder = m[1]
	}
	ok = strings.Contains(stderr, "is another process using it?") || strings.Contains(stderr, "Could not get lock")
	return cmp.Or(o.holder, "another process"), ok
}

// aptPolicy is the output of `apt-cache policy` for one package.
type aptPolicy struct {
	known     bool                // apt knows the name, also if it is a virtual package
	candidate string              // empty means none
	versions  []string            // the highest first
	from      map[string][]string // the repositories that have a version, as apt calls them
	table     bool                // the following lines are versions and their sources
}

// maxVersions bounds the stored versions of a package.
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
	case p.table && len(line)-len(text) > versionIndent && len(p.versions) > 0:
		if _, repository, ok := strings.Cut(text, " "); ok {
			version := p.versions[len(p.versions)-1]
			if p.from == nil {
				p.from = map[string][]string{}
			}
			p.from[version] = append(p.from[version], repository)
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

// versionIndent is the indent of the versions in the table, mark included; their sources are indented further.
const versionIndent = 5

// aptPolicies is the output of `apt-cache policy` for several packages.
type aptPolicies struct {
	byName  map[string]*aptPolicy
	current *aptPolicy
}

// line reads one line. A line that is not indented begins the next package.
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

// secure returns the highest version above the given one that a security repository has, unless it is higher than apt's
// candidate; "" means none.
func (p *aptPolicy) secure(above string, security map[string]bool) string {
	for _, version := range p.versions {
		if compareDpkg(version, above) > 0 && p.candidate != "" && compareDpkg(version, p.candidate) <= 0 &&
			slices.ContainsFunc(p.from[version], func(repository string) bool { return security[repository] }) {
			return version
		}
	}
	return ""
}

// aptSources is the output of `apt-cache policy` about the repositories.
type aptSources struct {
	security map[string]bool // repositories with security updates, by apt's names
	current  string
}

// line reads one line:
//
//	500 http://security.debian.org/debian-security bookworm-security/main amd64 Packages
//	    release v=12,o=Debian,a=stable-security,n=bookworm-security,l=Debian-Security,c=main,b=amd64
func (s *aptSources) line(line string) {
	text := strings.TrimLeft(line, " ")
	release, ok := strings.CutPrefix(text, "release ")
	if !ok {
		_, s.current, _ = strings.Cut(text, " ")
		return
	}
	for field := range strings.SplitSeq(release, ",") {
		key, value, _ := strings.Cut(field, "=")
		if (key == "a" || key == "n") && strings.HasSuffix(value, "-security") || key == "l" && strings.HasSuffix(value, "-Security") {
			if s.security == nil {
				s.security = map[string]bool{}
			}
			s.security[s.current] = true
		}
	}
}
