package activity

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

const (
	// signEvery is the interval between lines about the progress.
	signEvery = 30 * time.Second
	// watchSignEvery is the interval while hosts are watched without news.
	watchSignEvery = time.Hour
	// groupsAfter is the time after which a run reports the hosts that have ended.
	groupsAfter = 10 * time.Second
	// groups bounds the number of these lines.
	groups = 10
)

// Plain writes a line with the current steps of hosts every 30 seconds, and one when a tenth of them has ended, for
// logs and for screen readers.
type Plain struct {
	stop  chan struct{}
	once  sync.Once
	ended chan struct{}
}

// NewPlain begins to write the snapshots of look. The caller must close the Plain.
func NewPlain(w io.Writer, look func() Snapshot) *Plain {
	p := &Plain{stop: make(chan struct{}), ended: make(chan struct{})}
	go p.run(w, look) // Close waits for it
	return p
}

func (p *Plain) run(w io.Writer, look func() Snapshot) {
	defer close(p.ended)
	next, told := signEvery, 0 // hosts that have ended
	last, again := "", time.Duration(0)
	for {
		s := look()
		// Looked at more often, since the run begins when it wants to, and hosts end when they do.
		wait := time.Second
		if s.Begun {
			wait = max(0, min(wait, next-s.Elapsed))
		}
		select {
		case <-time.After(wait):
		case <-p.stop:
			return
		}
		text := ""
		s = look()
		if group := s.Ended[told:]; s.Elapsed >= groupsAfter && len(group)*groups >= s.Hosts && s.Done < s.Hosts {
			text += "ccm-push: " + s.group(group) + "\n"
			told = len(s.Ended)
		}
		if s.Begun && s.Elapsed >= next {
			next = s.Elapsed.Truncate(signEvery) + signEvery
			if sign := s.sign(); s.Watch == nil || sign != last || s.Elapsed >= again {
				last, again = sign, s.Elapsed+watchSignEvery
				text += "ccm-push: " + sign + "\n"
			}
		}
		if text != "" {
			_, _ = io.WriteString(w, text) // a failed write does not end the run
		}
	}
}

// Close ends it. One who does not read is waited for a moment.
func (p *Plain) Close() {
	p.once.Do(func() { close(p.stop) })
	select {
	case <-p.ended:
	case <-time.After(lastWait):
	}
}

// maxSign bounds a line that need not fit a terminal, in columns.
const maxSign = 200

// sign is "37/40 hosts done, 1 failed; slowest: s002 exec#migrate 44s".
func (s Snapshot) sign() string {
	text := fmt.Sprintf("%d/%d hosts done", s.Done, s.Hosts) + s.outcomes()
	if s.Watch != nil {
		text = "hosts: " + s.Watch.text()
	}
	if len(s.Longest) > 0 {
		text += "; slowest: " + s.Longest[0].short(maxSign)
	}
	return text
}

// group is "web[01-20] done (20), 2 changed; db1 failed".
func (s Snapshot) group(ended []Ended) string {
	var parts []string
	for _, state := range []EndState{EndedWell, EndedFailed, EndedUnreachable} {
		var hosts []string
		changed := 0
		for _, e := range ended {
			if e.State == state {
				hosts = append(hosts, e.Host)
				if e.Changed {
					changed++
				}
			}
		}
		if len(hosts) == 0 {
			continue
		}
		pattern, rest := events.Fold(hosts, maxSign)
		if rest > 0 {
			pattern += fmt.Sprintf(" and %d more", rest)
		}
		pattern += " " + string(state)
		if len(hosts) > 1 {
			pattern += fmt.Sprintf(" (%d)", len(hosts))
		}
		if changed > 0 && state == EndedWell {
			pattern += Snapshot{Check: s.Check, Changed: changed}.outcomes()
		}
		parts = append(parts, pattern)
	}
	return strings.Join(parts, "; ")
}
