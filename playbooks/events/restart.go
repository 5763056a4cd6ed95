package events

import (
	"encoding/json"
	"fmt"
	"slices"
)

// restarts has the required restarts with their hosts, in the order of the first report.
type restarts struct {
	what  []string
	hosts map[string][]string
}

// maxKindsOfRestart bounds the restarts remembered per run: hosts can report any text.
const maxKindsOfRestart = 200

func (s *restarts) add(r Result) {
	for _, one := range r.Restart {
		what := restartText(one)
		known := s.hosts[what]
		switch {
		case known == nil && len(s.what) == maxKindsOfRestart:
			continue
		case known == nil:
			s.what = append(s.what, what)
		case slices.Contains(known[max(0, len(known)-1):], r.Host): // results of one host come together mostly
			continue
		}
		if s.hosts == nil {
			s.hosts = map[string][]string{}
		}
		s.hosts[what] = append(known, r.Host)
	}
}

// restartText returns a short text for an object in the form of DSC's _restartRequired. It omits values that differ
// from host to host: names of computers and process numbers.
func restartText(object json.RawMessage) string {
	var known struct {
		Service string
		System  string
		Process struct{ Name string }
	}
	err := json.Unmarshal(object, &known)
	switch {
	case err != nil:
	case known.Service != "":
		return "service " + shorten(known.Service, 60)
	case known.Process.Name != "":
		return "process " + shorten(known.Process.Name, 60)
	case known.System != "":
		return "the system"
	}
	return shorten(string(object), 60)
}

// restart prints the required restarts in the recap.
func (r *recap) restart(p *page) {
	for _, what := range r.restarts.what {
		hosts := r.restarts.hosts[what]
		slices.Sort(hosts)
		hosts = slices.Compact(hosts)
		p.print(yellow, "restart required: ", what)
		if len(hosts) == 1 {
			p.print(plain, " on ", hosts[0])
			p.newline()
			continue
		}
		p.print(plain, fmt.Sprintf(" on %d hosts", len(hosts)))
		p.newline()
		r.names(p, hosts)
	}
}
