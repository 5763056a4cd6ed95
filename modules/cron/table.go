package cron

import "strings"

// markerPrefix begins the line above an entry of ours.
const markerPrefix = "#ccm-push: "

// A piece is a line of a crontab, or a marker of a name with its entry.
type piece struct {
	text   string // as in the crontab, with line ends
	marker bool
	job    *job // nil if no entry follows the marker
}

// pieces takes a crontab apart.
func pieces(crontab, name string) []piece {
	var all []piece
	lines := strings.SplitAfter(crontab, "\n")
	for i := 0; i < len(lines); i++ {
		p := piece{text: lines[i]}
		if strings.TrimSuffix(lines[i], "\n") == markerPrefix+name {
			p.marker = true
			if i+1 < len(lines) {
				if j, ok := parseJob(strings.TrimSuffix(lines[i+1], "\n")); ok {
					i++
					p.job = &j
					p.text += lines[i]
				}
			}
		}
		all = append(all, p)
	}
	return all
}

// An edit is a crontab with the entry as it shall be, and what was there.
type edit struct {
	text  string
	found int  // markers of that name
	was   *job // the first entry, if there is one
}

// edited puts the job where the first marker of the name is, or at the end of the
// crontab; nil takes it away. What else has that marker is taken away. An entry
// that is right keeps its blanks.
func edited(crontab, name string, want *job) edit {
	var e edit
	var kept []string
	for _, p := range pieces(crontab, name) {
		if !p.marker {
			kept = append(kept, p.text)
			continue
		}
		if e.found++; e.found > 1 {
			continue
		}
		e.was = p.job
		switch {
		case want == nil:
		case p.job != nil && *p.job == *want:
			kept = append(kept, p.text)
		default:
			kept = append(kept, entry(name, *want))
		}
	}
	if e.found == 0 && want != nil {
		kept = append(kept, entry(name, *want))
	}
	e.text = join(kept, crontab)
	return e
}

func entry(name string, j job) string { return markerPrefix + name + "\n" + j.String() + "\n" }

// join gives every piece a line end, which cron insists on, unless nothing has
// changed.
func join(kept []string, before string) string {
	if text := strings.Join(kept, ""); text == before {
		return text
	}
	var b strings.Builder
	for _, text := range kept {
		b.WriteString(text)
		if text != "" && !strings.HasSuffix(text, "\n") {
			b.WriteString("\n")
		}
	}
	return b.String()
}
