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

// doubts counts the unknown predictions of a run by their reason, for the recap.
type doubts struct {
	of   []doubt
	more int // predictions with other reasons
}

type doubt struct {
	because string // the resource that they depend on; "" is each one itself
	n       int
}

// maxDoubts bounds the reasons that are remembered and printed.
const maxDoubts = 20

func (all *doubts) add(r Result, address string) {
	if !r.Check || r.WouldFail || r.Certain || r.Grade == likely {
		return
	}
	because := ""
	if r.Because != r.Type+"#"+r.Name && r.Because != r.Type+"#"+r.Alias {
		because = shorten(without(r.Because, r.Host, address), 100)
	}
	i := slices.IndexFunc(all.of, func(one doubt) bool { return one.because == because })
	switch {
	case i >= 0:
		all.of[i].n++
	case len(all.of) == maxDoubts:
		all.more++
	default:
		all.of = append(all.of, doubt{because, 1})
	}
}

// print adds a line for each reason, with the number of its predictions.
func (all *doubts) print(p *page) {
	for _, one := range all.of {
		why := "only the real run can show the result"
		if one.because != "" {
			why = one.because + " may change the result"
		}
		p.print(plain, "maybe: ", count(one.n, "prediction"), ", because ", why)
		p.newline()
	}
	if all.more > 0 {
		p.print(plain, "maybe: ", count(all.more, "prediction"), " for other reasons")
		p.newline()
	}
}
