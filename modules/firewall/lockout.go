package firewall

import (
	"io"
	"net/netip"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// A login is the connection over which a run manages the host, as sshd(8) describes it.
type login struct {
	from netip.Addr
	port uint16 // port of the server
}

// maxParents bounds how many processes there are between the host program and sshd.
const maxParents = 32

// currentLogin finds the connection of this run in the environment of the processes that the host program
// descends from: sudo and su hand it on to none.
func currentLogin(files modules.FileReader) (login, bool) {
	process := "self"
	for range maxParents {
		for entry := range strings.SplitSeq(read(files, "/proc/"+process+"/environ"), "\x00") {
			connection, ok := strings.CutPrefix(entry, "SSH_CONNECTION=")
			words := strings.Fields(connection)
			if !ok || len(words) != 4 {
				continue
			}
			from, err := netip.ParseAddr(words[0])
			port, wrong := strconv.ParseUint(words[3], 10, 16)
			if err == nil && wrong == nil {
				return login{from.WithZone("").Unmap(), uint16(port)}, true
			}
		}
		parent := ""
		for line := range strings.Lines(read(files, "/proc/"+process+"/status")) {
			if id, ok := strings.CutPrefix(line, "PPid:"); ok {
				parent = strings.TrimSpace(id)
			}
		}
		if parent == "" || parent == "0" {
			break
		}
		process = parent
	}
	return login{}, false
}

// read returns the beginning of a file; "" if it cannot be read.
func read(files modules.FileReader, name string) string {
	file, err := files.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	const most = 1 << 20
	text, _ := io.ReadAll(io.LimitReader(file, most))
	return string(text)
}

// meets reports whether a rule matches the packets of a login. sure means that it matches all of them; it is false for
// a rule of an interface, since the login's interface is not known.
func (r rule) meets(l login) (meets, sure bool) {
	meets = r.proto != udp && (!r.source.IsValid() || r.source.Contains(l.from))
	if r.ports != nil {
		inside := false
		for _, s := range r.ports {
			inside = inside || s.first <= l.port && l.port <= s.last
		}
		meets = meets && inside
	}
	return meets, r.iface == ""
}

// locksOut returns the rule that would drop the next login of a run that logs in as this one has: the first rule that
// matches it. A rule of an interface that accepts the login may decide; the new login that confirms the change shows
// whether it does. A rule of an interface that drops the login does not matter if the rules after it drop it too.
func locksOut(rules []rule, l login) (rule, bool) {
	for _, r := range rules {
		switch meets, sure := r.meets(l); {
		case meets && r.verdict == accept:
			return rule{}, false
		case meets && sure:
			return r, true
		}
	}
	return rule{}, false
}

// refuseLockout refuses rules that would drop a login like the one of this run.
func refuseLockout(files modules.FileReader, have, want []rule) error {
	l, known := currentLogin(files)
	if !known {
		return nil
	}
	by, locked := locksOut(want, l)
	if _, already := locksOut(have, l); !locked || already {
		return nil
	}
	return modules.Refuse("this change would lock out the login of this run, from %s to port %d, because the rule %q would %s the login; first add a rule that accepts a narrower source", l.from, l.port, by.name, by.verdict)
}
