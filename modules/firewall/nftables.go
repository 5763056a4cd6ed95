package firewall

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// ours is the name of our own table, and of our own chains in tables of others.
const ours = "ccm_push"

// priority is the priority of our own table: it drops packets before the filters of others see them.
const priority = "-10"

// A ruleset is the part of the host's rules in force that this type uses.
type ruleset struct {
	missing bool   // nft is not there, so nothing is
	made    bool   // our own table exists
	whole   bool   // and it is unchanged since this type made it
	rules   []rule // rules of our table
	gates   []gate
	chains  []*chain // all chains; chains of others are not changed
}

// effect is the kind of effect whose key is the name of a firewall and whose state is a [ruleset].
const effect = modules.FirewallEffect

// Bounds of a call of nft.
const (
	timeout = time.Minute
	maxList = 8 << 20
)

// look finds the rules in force, in a check run the predicted ones.
func look(ctx context.Context, h modules.Host) (ruleset, error) {
	if state, predicted := h.Forecast.Lookup(effect, nftables); predicted {
		return state.(ruleset), nil
	}
	if !modules.HasProgram(h.Files, "", "nft") {
		return ruleset{missing: true}, nil
	}
	if err := may(h.Files); err != nil {
		return ruleset{}, err
	}
	exit, err := h.Commands.Probe(ctx, modules.Command{Argv: []string{"nft", "--json", "--stateless", "--terse", "list", "ruleset"}, Reads: effect, Timeout: timeout, MaxOutput: maxList})
	switch {
	case err != nil:
		return ruleset{}, err
	case exit.Code != 0:
		return ruleset{}, modules.Refuse("nft list ruleset ended with exit code %d: %s", exit.Code, strings.TrimSpace(exit.Stderr.Text))
	case exit.Stdout.Dropped > 0:
		return ruleset{}, modules.Refuse("nft lists more than %d MiB of rules", maxList>>20)
	}
	chains, err := parseListing(exit.Stdout.Text)
	if err != nil {
		return ruleset{}, err
	}
	is := ruleset{chains: chains, gates: gates(chains)}
	for _, c := range chains {
		if c.Table != ours || c.Family != "inet" {
			continue
		}
		is.made = true
		is.whole = c.Name == "input" && c.Type == "filter" && c.Hook == "input" && c.Policy == accept && string(c.Prio) == priority && len(c.rules) > 0 && c.rules[0].established()
		for i, l := range c.rules {
			if i > 0 || !is.whole {
				is.rules = append(is.rules, l.rule())
			}
		}
	}
	return is, nil
}

// established reports whether a rule lets packets of connections in that there are.
func (l listed) established() bool {
	verdict, _, _ := l.verdict()
	all := l.matches()
	return verdict == accept && len(all) == 1 && all[0].left() == "ct state" && slices.Equal(all[0].words(), []string{"established", "related"})
}

// after is the ruleset once its rules are these.
func (s ruleset) after(rules []rule) ruleset {
	s.rules, s.made, s.whole = rules, len(rules) > 0, len(rules) > 0
	s.gates = slices.Clone(s.gates)
	for i := range s.gates {
		g := &s.gates[i]
		g.rules = g.passes(rules)
		g.made, g.open, g.jumps = g.rules != nil, g.rules != nil, nil
	}
	return s
}

// differs reports whether the ruleset differs from one with these rules.
func (s ruleset) differs(rules []rule) bool {
	if s.made != (len(rules) > 0) || s.made && !s.whole || !slices.Equal(texts(s.rules), texts(rules)) {
		return true
	}
	return slices.ContainsFunc(s.gates, func(g gate) bool { return g.differs(rules) })
}

func (g gate) differs(rules []rule) bool {
	want := g.passes(rules)
	return g.made != (want != nil) || g.made != g.open || !g.open && g.jumps != nil || !slices.Equal(texts(g.rules), texts(want))
}

// script is the input of nft that changes the ruleset to these rules in one step, so that no packet sees an
// intermediate state.
func (s ruleset) script(rules []rule) string {
	b := table(rules)
	for _, g := range s.gates {
		want := g.passes(rules)
		if !g.differs(rules) {
			continue
		}
		in := g.family + " " + g.table + " "
		if !g.open || want == nil {
			for _, handle := range g.jumps {
				b = append(b, fmt.Sprintf("delete rule %s%s handle %d", in, g.chain, handle))
			}
		}
		if want == nil {
			if g.made {
				b = append(b, "flush chain "+in+ours, "delete chain "+in+ours)
			}
			continue
		}
		b = append(b, g.chainOf(want)...)
		if !g.open {
			b = append(b, g.jump())
		}
	}
	return strings.Join(b, "\n") + "\n"
}

// table creates our own table, in place of an existing one.
func table(rules []rule) []string {
	const own = "inet " + ours
	all := []string{"add table " + own, "delete table " + own}
	if len(rules) == 0 {
		return all
	}
	all = append(all, "add table "+own,
		"add chain "+own+" input { type filter hook input priority "+priority+"; policy accept; }",
		"add rule "+own+" input ct state established,related accept")
	for _, r := range rules {
		all = append(all, ruleLine+r.String())
	}
	return all
}

const ruleLine = "add rule inet " + ours + " input "

// chainOf returns our chain for a gate.
func (g gate) chainOf(rules []rule) []string {
	in := g.family + " " + g.table + " " + ours
	all := []string{"add chain " + in, "flush chain " + in}
	for _, r := range rules {
		all = append(all, "add rule "+in+" "+r.String())
	}
	return all
}

// jump opens the gate.
func (g gate) jump() string {
	verb := "insert"
	if g.last {
		verb = "add"
	}
	return verb + " rule " + g.String() + " jump " + ours
}

// The file with the stored rules, and the files that load rules at boot. The first of these that exists includes the
// stored file, or the last one if none exists.
const keptFile = "/etc/nftables-ccm-push.nft"

var loadFiles = []string{"/etc/sysconfig/nftables.conf", "/etc/nftables.nft", "/etc/nftables.conf"}

// keptText is the file with rules for the next boot. It creates missing tables of others, so that the rest is loaded in
// any case; without a hook, no packet reaches such a chain.
func (s ruleset) keptText(rules []rule) []string {
	if len(rules) == 0 {
		return nil
	}
	all := []string{"# Rules of resources of the type firewall, by ccm-push: what is changed here is put back."}
	all = append(all, table(rules)...)
	for _, g := range s.gates {
		if want := g.passes(rules); want != nil {
			all = append(all, "add table "+g.family+" "+g.table, "add chain "+g.String())
			all = append(append(all, g.chainOf(want)...), g.jump())
		}
	}
	return all
}

// loads is the file that loads rules at boot.
func loads(files modules.FileReader) string {
	for _, name := range loadFiles {
		if _, err := modules.Follow(files, name); err == nil {
			return name
		}
	}
	return loadFiles[len(loadFiles)-1]
}

// files returns the files that store the rules; want replaces the rules of the resource.
func (f *Firewall) files(files modules.FileReader, is ruleset, want []rule) (edit.Files, error) {
	have, err := keptNow(files)
	if err != nil {
		return nil, err
	}
	all := with(have, f.Name, want)
	lines := is.keptText(all)
	own := &edit.File{Path: keptFile, Create: true, Mode: "0644", Optional: len(all) == 0}
	own.Edit = func(t *edit.Text) (edit.Done, error) {
		if t.String() == strings.Join(append(slices.Clone(lines), ""), "\n") {
			return edit.Done{}, nil
		}
		*t = *edit.Parse("")
		t.Insert(0, lines...)
		was, will := shown(named(have, f.Name)), shown(want)
		if was == will {
			was, will = "with something else", "as it is made"
		}
		return edit.Done{Action: "kept the rule", Remove: len(lines) == 0, Changes: []modules.Change{{Property: "kept", Have: was, Want: will}}}, nil
	}
	// A pattern: if the file is gone, the rest is still loaded.
	include := `include "` + strings.TrimSuffix(keptFile, "t") + `[t]"`
	load := &edit.File{Path: loads(files), Optional: len(all) == 0, Missing: "it loads rules at boot; install the package nftables"}
	load.Edit = func(t *edit.Text) (edit.Done, error) {
		at := t.All(include)
		if len(all) > 0 == (len(at) > 0) {
			return edit.Done{}, nil
		}
		for _, i := range slices.Backward(at) {
			t.Replace(i, i+1)
		}
		was, will := "yes", "no"
		if len(all) > 0 {
			t.Insert(len(t.Lines), include)
			was, will = will, was
		}
		return edit.Done{Action: "kept the rule", Changes: []modules.Change{{Property: "loaded at boot", Have: was, Want: will}}}, nil
	}
	if len(all) == 0 {
		return edit.Files{load, own}, nil
	}
	return edit.Files{own, load}, nil
}

// keptNow returns the stored rules.
func keptNow(files modules.FileReader) ([]rule, error) {
	text, _, err := (&edit.File{Path: keptFile}).Read(files)
	if err != nil {
		return nil, err
	}
	var all []rule
	for line := range strings.Lines(text) {
		if text, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), ruleLine); ok {
			if r, ok := parseRule(text); ok {
				all = append(all, r)
			}
		}
	}
	return ordered(all), nil
}

// shown are rules for people.
func shown(rules []rule) string {
	var all []string
	for _, r := range rules {
		text, _, _ := strings.Cut(r.String(), " comment ")
		all = append(all, text)
	}
	if all == nil {
		return absent
	}
	return edit.Shown(strings.Join(all, "; "))
}

// unloaded reports whether systemd runs on a host, and does not load rules at boot.
func unloaded(files modules.FileReader) bool {
	if _, err := files.Stat("/run/systemd/system"); err != nil {
		return false
	}
	for _, target := range []string{"sysinit", "multi-user", "basic"} {
		if _, err := files.Stat(path.Join("/etc/systemd/system", target+".target.wants/nftables.service")); err == nil {
			return false
		}
	}
	return true
}
