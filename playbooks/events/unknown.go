package events

import "slices"

// unknownOutcomes holds the failed resources whose outcome is unknown, for the recap.
type unknownOutcomes struct {
	list []*unknownOutcome
	more int // resources that are not in list
}

// An unknownOutcome is one resource, with the hosts on which its outcome is unknown.
type unknownOutcome struct {
	what  string
	hosts []string // where it ran
}

// maxUnknown is the most resources that the recap names.
const maxUnknown = 20

func (u *unknownOutcomes) add(r Result) {
	if !r.Unknown {
		return
	}
	where := r.Host
	if r.On != "" {
		where = r.On
	}
	r.On = ""
	what := reference(r)
	i := slices.IndexFunc(u.list, func(one *unknownOutcome) bool { return one.what == what })
	switch {
	case i < 0 && len(u.list) == maxUnknown:
		u.more++
		return
	case i < 0:
		i = len(u.list)
		u.list = append(u.list, &unknownOutcome{what: what})
	}
	if one := u.list[i]; !slices.Contains(one.hosts, where) {
		one.hosts = append(one.hosts, where)
	}
}

// tell prints the resources and their hosts.
func (u *unknownOutcomes) tell(p *page, width int) {
	for _, one := range u.list {
		pattern, rest := Fold(one.hosts, maxNameLines*(width-len(indent)))
		p.print(red, "outcome unknown: ", one.what, " on ", pattern)
		if rest > 0 {
			p.print(red, " and ", count(rest, "more host"))
		}
		p.newline()
	}
	if u.more > 0 {
		p.print(red, "outcome unknown: ", count(u.more, "more result"))
		p.newline()
	}
}
