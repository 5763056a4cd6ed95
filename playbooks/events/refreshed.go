package events

// refreshed has the refreshed resources, on how many hosts, and the causes.
type refreshed struct {
	of []refresh
}

type refresh struct {
	what, because string
	hosts         int
}

// maxRefreshed bounds the refreshes that are remembered and printed.
const maxRefreshed = 8

func (all *refreshed) add(r Result, address string) {
	if !r.Refreshed || r.Status != Changed {
		return
	}
	one := refresh{what: r.Type + "#" + shorten(without(r.Name, r.Host, address), 100)}
	if len(r.RefreshedBy) > 0 {
		one.because = shorten(without(r.RefreshedBy[0], r.Host, address), 100)
	}
	for i := range all.of {
		if known := &all.of[i]; known.what == one.what && known.because == one.because {
			known.hosts++
			return
		}
	}
	if one.hosts = 1; len(all.of) < maxRefreshed {
		all.of = append(all.of, one)
	}
}

func (all *refreshed) tell(p *page, check bool) {
	word := "refreshed: "
	if check {
		word = "would be refreshed: "
	}
	for _, one := range all.of {
		p.print(plain, word, one.what, " on ", count(one.hosts, "host"))
		if one.because != "" {
			p.print(plain, ", because of ", one.because)
		}
		p.newline()
	}
}
