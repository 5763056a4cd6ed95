package pkg

import (
	"slices"
	"strings"
)

// dpkgFormat is what is asked of dpkg-query: a line per package, with a field
// between tabs for every part of a [dpkgRow].
const dpkgFormat = `${db:Status-Want}\t${db:Status-Status}\t${binary:Package}\t${Version}\t${Architecture}\t${Provides}\n`

// A dpkgRow is what dpkg knows of a package on one architecture.
type dpkgRow struct {
	want, status, name, version, architecture string
	virtual                                   string // as in the control file: "mta, awk (= 1.0)"
}

// parseDpkgRow reads a line of dpkg-query. What is missing is empty.
func parseDpkgRow(line string) dpkgRow {
	f := append(strings.Split(line, "\t"), make([]string, 6)...)
	return dpkgRow{f[0], f[1], f[2], f[3], f[4], f[5]}
}

// installed reports whether the package is there as a whole. One whose triggers
// are not done yet is: it does its work.
func (r dpkgRow) installed() bool {
	return r.status == "installed" || strings.HasPrefix(r.status, "triggers-")
}

// gone reports whether nothing is left but configuration files.
func (r dpkgRow) gone() bool {
	return r.status == "not-installed" || r.status == "config-files" || r.status == ""
}

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
	return State{Unfinished: r.status, Version: r.version, Held: r.want == "hold"}
}

// ambiguous reports whether it takes the host's architecture to tell which row
// a name without one means.
func ambiguous(rows []dpkgRow) bool {
	return slices.ContainsFunc(rows, func(r dpkgRow) bool { return !r.gone() && strings.Contains(r.name, ":") })
}

// stateOf picks the row of an architecture; "" takes what there is.
func stateOf(rows []dpkgRow, architecture string) State {
	for _, r := range rows {
		if !r.gone() && (architecture == "" || r.architecture == architecture || r.architecture == "all") {
			return r.state()
		}
	}
	return State{}
}
