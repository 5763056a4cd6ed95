package main

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/inventory/nodeset"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// show prints the verdicts of a round in which nothing is added.
func (e *enrolment) show(verdicts []*verdict) error {
	if e.flags.output == "json" {
		return e.showJSON(verdicts)
	}
	return e.showText(verdicts)
}

// showText prints a table with one line for each key, and hosts together that have
// the same to say. With --output json it is what a person needs to answer.
func (e *enrolment) showText(verdicts []*verdict) error {
	var b strings.Builder
	for _, g := range groupVerdicts(verdicts) {
		g.write(&b)
	}
	b.WriteString(e.clones())
	if e.flags.output == "json" {
		_, err := fmt.Fprint(e.err, b.String())
		return err
	}
	return e.print(b.String())
}

// A trustGroup is hosts with the same verdict and the same keys.
type trustGroup struct {
	*verdict
	hosts []string
}

// groupVerdicts puts hosts together, in the order of the first of each group.
func groupVerdicts(verdicts []*verdict) []*trustGroup {
	var groups []*trustGroup
	byText := map[string]*trustGroup{}
	for _, v := range verdicts {
		id := fmt.Sprint(v.state, v.why, v.Scan.Certificate, keyLines(v.keys), keyLines(v.others), v.For != "")
		g := byText[id]
		if g == nil {
			g = &trustGroup{verdict: v}
			byText[id] = g
			groups = append(groups, g)
		}
		g.hosts = append(g.hosts, v.Target.Host)
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

const trustIndent = "    "

// write prints one group.
func (g *trustGroup) write(b *strings.Builder) {
	line := func(text string) { b.WriteString(events.Line(text) + "\n") }
	head := nodeset.Fold(g.hosts) + "  " + string(g.state)
	switch {
	case g.why != "":
		head += "  " + g.why
	case len(g.hosts) == 1 && g.state == trustKnown:
		head += "  " + g.Scan.Known
	case len(g.hosts) == 1:
		head += "  " + g.Target.KnownName()
	}
	if g.For != "" {
		head += fmt.Sprintf("  (jump host, as for %s)", g.For)
	}
	line(head)
	for _, key := range keyLines(g.keys) {
		line(trustIndent + key)
	}
	for _, key := range keyLines(g.others) {
		line(trustIndent + key + "  (not in the file)")
	}
	if g.hint != "" {
		line(trustIndent + "hint: " + g.hint)
	}
	if g.Scan.Certificate != nil {
		line(trustIndent + "warning: " + g.Scan.Certificate.Error())
	}
}

// clones warns of new hosts that show a key of others. Several names of one entry
// of known_hosts are one host.
func (e *enrolment) clones() string {
	var keys []string
	shown := map[string][]*verdict{}
	for _, v := range e.asked {
		for _, key := range keyLines(v.Scan.Keys) {
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
			hosts = append(hosts, v.Target.Host)
			places[v.Target.KnownName()] = true
			fresh = fresh || v.state == trustNew
		}
		if folded := nodeset.Fold(hosts); fresh && len(places) > 1 && !e.warned[folded] {
			e.warned[folded] = true
			fmt.Fprintf(&b, "warning: %s show the same %s: are they clones of one image? Each of them can pose as the others\n",
				events.Line(folded), strings.ReplaceAll(key, " ", " key "))
		}
	}
	return b.String()
}

// tellAdded says what has become of new hosts.
func (e *enrolment) tellAdded(fresh []*verdict) error {
	var b strings.Builder
	n := 0
	var added []*verdict
	for _, v := range fresh {
		switch v.state {
		case trustAdded:
			n += len(v.keys)
			added = append(added, v)
		case trustDeclined:
		default:
			b.WriteString(events.Line(fmt.Sprintf("%s  %s  %s", v.Target.Host, v.state, v.why)) + "\n")
			if v.hint != "" {
				b.WriteString(events.Line(trustIndent+"hint: "+v.hint) + "\n")
			}
		}
	}
	if len(added) > 0 {
		fmt.Fprintf(&b, "added %s of %s to %s\n", plural(n, "key"), plural(len(added), "host"), events.Line(strings.Join(e.files(added), ", ")))
	} else {
		b.WriteString("nothing was added\n")
	}
	return e.print(b.String())
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// trustLine is what --output json prints of a host.
type trustLine struct {
	Host     string     `json:"host"`
	Name     string     `json:"known_as"` // in known_hosts
	Status   trustState `json:"status"`
	JumpFor  string     `json:"jump_host_for,omitempty"`
	File     string     `json:"file,omitempty"` // that its keys are or would be in
	Keys     []trustKey `json:"keys"`
	SameKeys []string   `json:"same_keys_as,omitempty"` // other hosts that show one of them
	Error    string     `json:"error"`
	Hint     string     `json:"hint"`
	Warning  string     `json:"warning,omitempty"`
}

type trustKey struct {
	Type        string `json:"type"`
	Fingerprint string `json:"fingerprint"`
	Vouched     *bool  `json:"vouched,omitempty"` // by the file of --fingerprints
}

// showJSON prints one line for each host.
func (e *enrolment) showJSON(verdicts []*verdict) error {
	for _, v := range verdicts {
		line := trustLine{
			Host: v.Target.Host, Name: v.Target.KnownName(), Status: v.state, JumpFor: v.For,
			Keys: e.jsonKeys(v), SameKeys: e.sameKeys(v), Error: v.why, Hint: v.hint,
		}
		if v.state == trustNew || v.state == trustAdded {
			line.File = e.runner.Dialer.TrustFile(v.Target)
		}
		if v.Scan.Certificate != nil {
			line.Warning = v.Scan.Certificate.Error()
		}
		text, err := events.Encode(line)
		if err == nil {
			err = e.print(string(text) + "\n")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// jsonKeys are all that the host has shown.
func (e *enrolment) jsonKeys(v *verdict) []trustKey {
	keys := []trustKey{}
	for _, k := range v.Scan.Keys {
		one := trustKey{Type: k.Type(), Fingerprint: ssh.FingerprintSHA256(k)}
		if e.vouched != nil {
			good, _ := e.vouched.vouched(v.Target, []ssh.PublicKey{k})
			vouched := len(good) > 0
			one.Vouched = &vouched
		}
		keys = append(keys, one)
	}
	return keys
}

// sameKeys are the other hosts that show a key of this one.
func (e *enrolment) sameKeys(v *verdict) []string {
	mine := keyLines(v.Scan.Keys)
	var hosts []string
	for _, other := range e.asked {
		if other.Target.KnownName() != v.Target.KnownName() &&
			slices.ContainsFunc(keyLines(other.Scan.Keys), func(k string) bool { return slices.Contains(mine, k) }) {
			hosts = append(hosts, other.Target.Host)
		}
	}
	return hosts
}
