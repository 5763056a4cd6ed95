package trust

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/inventory/pattern"
	"github.com/ccm-push/ccm-push/inventory/printable"
)

// showText prints a table with one line for each key; hosts with the same text share a line. With JSON it goes to the
// person who answers the prompt.
func (e *enrolment) showText(verdicts []*verdict) error {
	var b strings.Builder
	for _, g := range groupVerdicts(verdicts) {
		g.write(&b)
	}
	b.WriteString(e.clones())
	out := e.options.Out
	if e.options.JSON {
		out = e.options.Err
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// A group is hosts with the same verdict and the same keys.
type group struct {
	*verdict
	hosts []string
}

// groupVerdicts puts hosts together, in the order of the first of each group.
func groupVerdicts(verdicts []*verdict) []*group {
	var groups []*group
	byText := map[string]*group{}
	for _, v := range verdicts {
		id := fmt.Sprint(v.state, v.why, v.scan.Certificate, keyLines(v.keys), keyLines(v.others), v.jumpFor != "")
		g := byText[id]
		if g == nil {
			g = &group{verdict: v}
			byText[id] = g
			groups = append(groups, g)
		}
		g.hosts = append(g.hosts, v.target.Host)
	}
	return groups
}

func keyLines(keys []ssh.PublicKey) []string {
	lines := make([]string, len(keys))
	for i, k := range keys {
		lines[i] = k.Type() + " " + ssh.FingerprintSHA256(k)
	}
	return lines
}

const indent = "    "

// write prints one group.
func (g *group) write(b *strings.Builder) {
	line := func(text string) { b.WriteString(printable.Line(text) + "\n") }
	head := pattern.Fold(g.hosts) + "  " + string(g.state)
	switch {
	case g.why != "":
		head += "  " + g.why
	case len(g.hosts) == 1 && g.state == stateKnown:
		head += "  " + g.scan.Known
	case len(g.hosts) == 1:
		head += "  " + g.target.KnownName()
	}
	if g.jumpFor != "" {
		head += fmt.Sprintf("  (jump host, as for %s)", g.jumpFor)
	}
	line(head)
	for _, key := range keyLines(g.keys) {
		line(indent + key)
	}
	for _, key := range keyLines(g.others) {
		line(indent + key + "  (not in the file)")
	}
	if g.hint != "" {
		line(indent + "hint: " + g.hint)
	}
	if g.scan.Certificate != nil {
		line(indent + "warning: " + g.scan.Certificate.Error())
	}
}

// clones warns of new hosts that show a key of others. Several names of one entry
// of known_hosts are one host.
func (e *enrolment) clones() string {
	var keys []string
	shown := map[string][]*verdict{}
	for _, v := range e.asked {
		for _, key := range keyLines(v.scan.Keys) {
			if shown[key] == nil {
				keys = append(keys, key)
			}
			shown[key] = append(shown[key], v)
		}
	}
	var b strings.Builder
	for _, key := range keys {
		hosts, places, fresh := []string{}, map[string]bool{}, false
		for _, v := range shown[key] {
			hosts = append(hosts, v.target.Host)
			places[v.target.KnownName()] = true
			fresh = fresh || v.state == stateNew
		}
		if folded := pattern.Fold(hosts); fresh && len(places) > 1 && !e.warned[folded] {
			e.warned[folded] = true
			fmt.Fprintf(&b, "warning: %s show the same %s: are they clones of one image? Each of them can pose as the others\n",
				printable.Line(folded), strings.ReplaceAll(key, " ", " key "))
		}
	}
	return b.String()
}

// showAdded reports the outcomes of new hosts.
func (e *enrolment) showAdded(fresh []*verdict) error {
	var b strings.Builder
	n := 0
	var added []*verdict
	for _, v := range fresh {
		switch v.state {
		case stateAdded:
			n += len(v.keys)
			added = append(added, v)
		case stateDeclined:
		default:
			b.WriteString(printable.Line(fmt.Sprintf("%s  %s  %s", v.target.Host, v.state, v.why)) + "\n")
			if v.hint != "" {
				b.WriteString(printable.Line(indent+"hint: "+v.hint) + "\n")
			}
		}
	}
	if len(added) > 0 {
		fmt.Fprintf(&b, "added %s of %s to %s\n", plural(n, "key"), plural(len(added), "host"), printable.Line(strings.Join(e.files(added), ", ")))
	} else {
		b.WriteString("nothing was added\n")
	}
	_, err := io.WriteString(e.options.Out, b.String())
	return err
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// CommandLine returns the command line with which a user trusts hosts. It has the flags for inventories and known_hosts
// files.
func CommandLine(inventories, knownHosts, hosts []string) string {
	words := []string{"ccm-push"}
	for _, path := range inventories {
		words = append(words, "-i", ShellWord(path))
	}
	for _, path := range knownHosts {
		words = append(words, "--known-hosts", ShellWord(path))
	}
	return strings.Join(append(words, "trust", ShellWord(pattern.Fold(hosts))), " ")
}

// ShellWord quotes text for a shell if it needs that.
func ShellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:@%+,", r)
	}
	if text != "" && !slices.ContainsFunc([]rune(text), func(r rune) bool { return !plain(r) }) {
		return text
	}
	return fmt.Sprintf("'%s'", strings.ReplaceAll(text, "'", `'\''`))
}
