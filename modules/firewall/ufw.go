package firewall

import (
	"context"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// ufwRules are rules of ufw(8), in the words of its command line. ufw stores each rule in one of two files, by the
// family of its packets, with its translation for iptables.
type ufwRules struct{}

func (u ufwRules) name() string { return ufw }

var ufwFiles = []struct{ file, program, chain, anywhere string }{
	{"/etc/ufw/user.rules", "iptables", "ufw-user-input", "0.0.0.0/0"},
	{"/etc/ufw/user6.rules", "ip6tables", "ufw6-user-input", "::/0"},
}

func (u ufwRules) files() []string {
	return []string{ufwFiles[0].file, ufwFiles[1].file}
}

var ufwVerbs = map[string]string{accept: "allow", drop: "deny", reject: reject}

func (u ufwRules) words(h modules.Host, rules []rule) ([]string, error) {
	six := !ufwSays(h.Files, "/etc/default/ufw", "IPV6=no")
	var all []string
	for _, r := range rules {
		for n, of := range ufwFiles {
			source := of.anywhere
			switch {
			case r.family() == "ip6" && !six:
				return nil, modules.Refuse("ufw does not handle IPv6 on this host, and %s is an IPv6 address: write IPV6=yes into /etc/default/ufw", r.source)
			case n == 1 && !six, r.family() == "ip" && n == 1, r.family() == "ip6" && n == 0:
				continue
			case r.source.IsSingleIP():
				source = r.source.Addr().String()
			case r.source.IsValid():
				source = r.source.String()
			}
			all = append(all, ufwWords(ufwVerbs[r.verdict], r.iface, r.proto, source, strings.ReplaceAll(strings.Join(portTexts(r.ports), ","), "-", ":")))
		}
	}
	return all, nil
}

func ufwWords(verb, iface, proto, source, ports string) string {
	text := verb
	if iface != "" {
		text += " in on " + iface
	}
	if proto != "" {
		text += " proto " + proto
	}
	text += " from " + source
	if ports != "" {
		text += " to any port " + ports
	}
	return text
}

// ufwSays reports whether a file of ufw contains a line.
func ufwSays(files modules.FileReader, name, line string) bool {
	for has := range strings.Lines(read(files, name)) {
		if strings.EqualFold(strings.TrimSpace(has), line) {
			return true
		}
	}
	return false
}

// ufwActive reports whether the rules of ufw are in force at all.
func ufwActive(files modules.FileReader) bool {
	return ufwSays(files, "/etc/ufw/ufw.conf", "ENABLED=yes")
}

// tuple begins ufw's note of a rule, above its translation.
const tuple = "### tuple ### "

// look counts stored rules as in force if ufw is not active, since the type does not activate ufw.
func (u ufwRules) look(ctx context.Context, h modules.Host) (managed, error) {
	active := ufwActive(h.Files)
	var is managed
	for _, of := range ufwFiles {
		live := map[string]bool{}
		if active {
			exit, err := h.Commands.Probe(ctx, modules.Command{Argv: []string{of.program, "-S", of.chain}, Reads: effect, Timeout: timeout, MaxOutput: maxList})
			if err != nil {
				return managed{}, err
			}
			for line := range strings.Lines(exit.Stdout.Text) {
				live[plainRule(line)] = true
			}
		}
		now, inForce := "", false
		note := func() {
			if now != "" && inForce {
				is.inForce = append(is.inForce, now)
			}
			now = ""
		}
		for line := range strings.Lines(read(h.Files, of.file)) {
			text, begins := strings.CutPrefix(strings.TrimSpace(line), tuple)
			switch {
			case begins:
				note()
				now, inForce = ufwTuple(text), true
				is.kept = append(is.kept, now)
			case strings.HasPrefix(line, "-A ") && active:
				inForce = inForce && live[plainRule(line)]
			case strings.HasPrefix(line, "### END"):
				note()
			}
		}
	}
	return is, nil
}

// ufwTuple translates ufw's note of a rule into words: its verb, protocol, port and address here, port and address
// there, direction with the interface. A note with more parts is not a rule of ours.
func ufwTuple(text string) string {
	text, _, _ = strings.Cut(text, " comment=")
	of := strings.Fields(text)
	if len(of) != 7 || of[3] != "0.0.0.0/0" && of[3] != "::/0" || of[4] != "any" {
		return text
	}
	direction, iface, _ := strings.Cut(of[6], "_")
	if direction != "in" {
		return text
	}
	any := func(s string) string {
		if s == "any" {
			return ""
		}
		return s
	}
	return ufwWords(of[0], iface, any(of[1]), of[5], any(of[2]))
}

// plainRule is a rule of iptables in words that do not depend on the program that has written it.
func plainRule(line string) string {
	line, _, _ = strings.Cut(strings.TrimSpace(line), " --reject-with")
	line = strings.NewReplacer(" -m tcp", "", " -m udp", "", "/32 ", " ", "/128 ", " ").Replace(line + " ")
	words := strings.Fields(line)
	slices.Sort(words)
	return strings.Join(words, " ")
}

// calls of ufw change the rules in force and the stored ones together. A rule with a source comes before those without.
func (u ufwRules) calls(rule string, have, want presence) [][]string {
	switch {
	case want.kept && !have.kept && !strings.Contains(rule, " from 0.0.0.0/0") && !strings.Contains(rule, " from ::/0"):
		return [][]string{append([]string{"ufw", "prepend"}, strings.Fields(rule)...)}
	case want.kept && !have.kept:
		return [][]string{append([]string{"ufw"}, strings.Fields(rule)...)}
	case !want.kept && have.kept:
		return [][]string{append([]string{"ufw", "delete"}, strings.Fields(rule)...)}
	}
	return [][]string{{"ufw", "reload"}}
}

func (u ufwRules) mayAccept(rule string) bool {
	return !strings.HasPrefix(rule, "deny ") && !strings.HasPrefix(rule, "reject ")
}
