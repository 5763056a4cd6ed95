package pkg

import (
	"slices"
	"strings"
)

// apkPolicy is the output of `apk policy` for packages.
type apkPolicy struct {
	versions map[string][]apkVersion // by name
	name     string                  // package of the current lines
}

// apkVersion is a version of a package.
type apkVersion struct {
	version   string
	installed bool
	available bool // in a repository that needs no tag
}

// line reads one line. A repository with a tag serves only packages that name the tag:
//
//	demo policy:
//	  1.0-r0:
//	    lib/apk/db/installed
//	    https://dl-cdn.alpinelinux.org/alpine/v3.20/main
//	  2.0-r0:
//	    @edge https://dl-cdn.alpinelinux.org/alpine/edge/main
func (p *apkPolicy) line(line string) {
	text := strings.TrimLeft(line, " ")
	list := p.versions[p.name]
	switch len(line) - len(text) {
	case 0:
		p.name, _ = strings.CutSuffix(text, " policy:")
	case 2:
		version, ok := strings.CutSuffix(text, ":")
		if ok && p.name != "" && version != "" && len(list) < maxVersions && len(p.versions) < maxConsequences {
			p.versions[p.name] = append(list, apkVersion{version: version})
		}
	case 4:
		if len(list) == 0 {
			return
		}
		last := &list[len(list)-1]
		switch {
		case strings.HasSuffix(text, "/installed") && !strings.Contains(text, ":"):
			last.installed = true
		case !strings.HasPrefix(text, "@"):
			last.available = true
		}
	}
}

// available lists the versions that may be installed.
func (p *apkPolicy) available(name string) []string {
	var list []string
	for _, v := range p.versions[name] {
		if v.available {
			list = append(list, v.version)
		}
	}
	return list
}

// apkOutput collects the important parts of apk's output.
type apkOutput struct {
	done    []consequence
	reasons []string
	inError bool // the lines that follow are why it will not do it
}

// apkStep is a step of a transaction:
//
//	(1/2) Upgrading demo (1.0-r0 -> 2.0-r0)
var apkStep = lazily(`^\(\d+/\d+\) (\w+) (\S+) \((?:\S+ -> )?(\S+)\)$`)

// apkVerbs are the steps that change installed packages.
var apkVerbs = []string{"Installing", "Upgrading", "Downgrading", "Replacing", "Purging"}

// line reads one line.
func (o *apkOutput) line(line string) {
	if m := apkStep().FindStringSubmatch(line); m != nil && slices.Contains(apkVerbs, m[1]) && len(o.done) < maxConsequences {
		name, _, _ := strings.Cut(m[2], "@") // the tag of its repository
		c := consequence{name, m[3]}
		if m[1] == "Purging" {
			c.version = ""
		}
		if c.name != "" {
			o.done = append(o.done, c)
		}
	}
	switch {
	case strings.HasPrefix(line, "World updated, but the following packages are not removed"):
		o.inError = true
	case strings.HasPrefix(line, "  ") && (o.inError || strings.HasSuffix(line, ":")): // "ERROR: unable to select packages:" goes elsewhere
		o.inError = true
		if len(o.reasons) < maxReasons {
			o.reasons = append(o.reasons, strings.Join(strings.Fields(line), " "))
		}
	default:
		o.inError = false
	}
}
