package pkg

import (
	"slices"
	"strings"
)

// dpkgFormat is the output format for dpkg-query: a line per package, with a field between tabs for every part of a
// [dpkgRow].
const dpkgFormat = `${db:Status-Want}\t${db:Status-Status}\t${binary:Package}\t${Version}\t${Architecture}\t${Provides}\t${db:Status-Eflag}\n`

// A dpkgRow is dpkg's record of a package on one architecture.
type dpkgRow struct {
	want, status, name, version, architecture string
	virtual                                   string // as in the control file: "mta, awk (= 1.0)"
	flag                                      string // reinstreq, or ok
}

// parseDpkgRow reads a line of dpkg-query. Missing fields are empty.
func parseDpkgRow(line string) dpkgRow {
	f := append(strings.Split(line, "\t"), make([]string, 7)...)
	return dpkgRow{f[0], f[1], f[2], f[3], f[4], f[5], f[6]}
}

// A dpkgMeaning is the meaning of a package's status for a resource.
type dpkgMeaning int

const (
	unconfigured dpkgMeaning = iota // apt-get install configures it, apt-get remove removes it
	gone                            // only configuration files are left
	whole                           // it does its work
	torn                            // files are missing: it must be installed again
)

// dpkgWords has the status words of dpkg(1). A test compares them with the table in examples/details.md.
var dpkgWords = map[string]dpkgMeaning{
	"":                 gone,
	"not-installed":    gone,
	"config-files":     gone,
	"half-installed":   torn,
	"unpacked":         unconfigured,
	"half-configured":  unconfigured,
	"triggers-awaited": whole,
	"triggers-pending": whole,
	"installed":        whole,
}

// reinstreq is the flag of a package that dpkg neither configures nor removes before it is reinstalled.
const reinstreq = "reinstreq"

func (r dpkgRow) meaning() dpkgMeaning {
	if r.flag == reinstreq {
		return torn
	}
	return dpkgWords[r.status]
}

func (r dpkgRow) installed() bool { return r.meaning() == whole }

func (r dpkgRow) gone() bool { return r.meaning() == gone }

func (r dpkgRow) provides(name string) bool {
	for entry := range strings.SplitSeq(r.virtual, ",") {
		provided, _, _ := strings.Cut(strings.TrimSpace(entry), " ")
		provided, _, _ = strings.Cut(provided, ":")
		if provided == name {
			return true
		}
	}
	return false
}

func (r dpkgRow) state() State {
	switch {
	case r.gone():
		return State{}
	case r.installed():
		return State{Installed: true, Version: r.version, Held: r.want == "hold"}
	}
	state := State{Unfinished: r.status, Version: r.version, Held: r.want == "hold", Torn: r.meaning() == torn}
	if r.flag == reinstreq {
		state.Unfinished, state.Stuck = r.flag+" "+r.status, true
	}
	return state
}

// ambiguous reports whether the host's architecture is needed to find the row of a name without an architecture.
func ambiguous(rows []dpkgRow) bool {
	return slices.ContainsFunc(rows, func(r dpkgRow) bool { return !r.gone() && strings.Contains(r.name, ":") })
}

// stateOf picks the row of an architecture; if it is empty, any row.
func stateOf(rows []dpkgRow, architecture string) State {
	for _, r := range rows {
		if !r.gone() && (architecture == "" || r.architecture == architecture || r.architecture == "all") {
			return r.state()
		}
	}
	return State{}
}
