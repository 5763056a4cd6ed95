package manifest

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"
)

// A Version is a semantic version, or a date with an optional tag, as the first
// resources had it.
type Version struct {
	semantic *semver.Version
	date     string // "" if it is semantic
}

var date = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])(-[0-9A-Za-z.]+)?$`)
})

// ParseVersion reads a version.
func ParseVersion(s string) (Version, error) {
	if date().MatchString(s) {
		return Version{date: s}, nil
	}
	v, err := semver.StrictNewVersion(s)
	return Version{semantic: v}, err
}

// IsDate reports whether the version is a date.
func (v Version) IsDate() bool { return v.date != "" }

// Compare returns a negative number if v is older than w. Dates are older than semantic versions.
func (v Version) Compare(w Version) int {
	switch {
	case v.semantic != nil && w.semantic != nil:
		return v.semantic.Compare(w.semantic)
	case v.semantic != nil:
		return 1
	case w.semantic != nil:
		return -1
	}
	return strings.Compare(v.date, w.date)
}

// A Range is which versions will do, as DSC and Cargo write it. The zero Range takes all.
//
// https://doc.rust-lang.org/cargo/reference/specifying-dependencies.html
type Range struct {
	date        string
	comparators []comparator
}

type comparator struct {
	constraint *semver.Constraints
	pre        *semver.Version // version to compare with, if it is a pre-release
}

// part is one comparator: an operator and a version of which the end may be missing.
var part = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(=|\^|~|>=|<=|>|<)?\s*((?:0|[1-9][0-9]*|\*)(?:\.(?:0|[1-9][0-9]*|\*)){0,2}(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)$`)
})

var errRange = errors.New("no range of versions, such as ^1.2 or >=1.0, <2.0")

// ParseRange reads a range: comparators with commas between. A version must match all of them. A version without an
// operator matches all versions that are compatible with it.
func ParseRange(s string) (Range, error) {
	s = strings.TrimSpace(s)
	switch {
	case s == "" || s == "*":
		return Range{}, nil
	case date().MatchString(strings.TrimPrefix(s, "=")):
		return Range{date: strings.TrimPrefix(s, "=")}, nil
	}
	var r Range
	for text := range strings.SplitSeq(s, ",") {
		m := part().FindStringSubmatch(strings.TrimSpace(text))
		if m == nil {
			return Range{}, fmt.Errorf("%q is %w", s, errRange)
		}
		operator, version := m[1], m[2]
		if operator == "" && !strings.Contains(version, "*") {
			operator = "^"
		}
		constraint, err := semver.NewConstraint(operator + strings.ReplaceAll(version, "*", "x"))
		if err != nil {
			return Range{}, fmt.Errorf("%q is %w", s, errRange)
		}
		c := comparator{constraint: constraint}
		if v, err := semver.StrictNewVersion(version); err == nil && v.Prerelease() != "" {
			c.pre = v
		}
		r.comparators = append(r.comparators, c)
	}
	return r, nil
}

// Has reports whether a version is in the range. A pre-release is only if the range
// names one of the same release.
func (r Range) Has(v Version) bool {
	switch {
	case r.date != "":
		return v.date == r.date
	case len(r.comparators) == 0:
		return true
	case v.semantic == nil:
		return false
	}
	release := v.semantic.Prerelease() == ""
	for _, c := range r.comparators {
		of := v.semantic
		if !release && c.pre == nil { // the library takes a constraint without one to exclude all of them
			plain, err := of.SetPrerelease("")
			if err != nil {
				return false
			}
			of = &plain
		}
		if !c.constraint.Check(of) {
			return false
		}
	}
	return release || r.names(v.semantic)
}

// names reports whether the range names a pre-release of the same release.
func (r Range) names(v *semver.Version) bool {
	for _, c := range r.comparators {
		if p := c.pre; p != nil && p.Major() == v.Major() && p.Minor() == v.Minor() && p.Patch() == v.Patch() {
			return true
		}
	}
	return false
}

// checkVersion reports a version that cannot be read, and warns of a date.
func (m *Manifest) checkVersion() error {
	v, err := ParseVersion(m.Version)
	if err != nil {
		return fmt.Errorf("version is %q, which is not a semantic version", m.Version)
	}
	if v.IsDate() {
		m.warn("version is the date %s; use a semantic version, which shows what kind of change it is", m.Version)
	}
	return nil
}
