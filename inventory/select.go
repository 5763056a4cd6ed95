package inventory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/pattern"
	"github.com/ccm-push/ccm-push/inventory/source"
)

// ErrNothing is wrapped by the error of a pattern that is understood but selects
// no host.
var ErrNothing = pattern.ErrNothing

// A PatternError is the reason why a pattern is refused or selects nothing; errors.Is with [ErrNothing] distinguishes
// the two.
type PatternError = pattern.Error

// Select returns the hosts that a pattern selects, each once, in Ansible's order. Terms are separated by commas, or by
// colons or blanks if there is no comma: web (a group or a host), web* (groups and hosts), ~web\d+ (a regex, anchored
// at the start), web[0], web[-1], web[1:3] and web[2:] (by index), rack[1:9]-a (a range of names), web[1-3,7] (a node
// set). &web keeps only hosts of web, !web drops them. Both apply after all other terms; without other terms they apply
// to all hosts. Unlike in Ansible, an empty pattern does not mean all.
//
// The warnings name the terms that match nothing, with a hint; they are an error with [Options.StrictPatterns]. A
// pattern that selects nothing is an error that wraps [ErrNothing], or a warning with [Options.AllowEmpty].
func (inv *Inventory) Select(text string) (hosts []*Host, warnings []string, err error) {
	selected, warnings, err := inv.selector().Select(text)
	return inv.numbered(selected), warnings, err
}

// Limit keeps the hosts that a second pattern also selects, in their order. The pattern is evaluated on its own, so
// indexes count over the whole inventory. A term @FILE is replaced by the terms in a file, one per line; empty lines
// and lines that begin with # are ignored. A term such as @last:failed is replaced by hosts of a recorded run, see
// [Options.RecordedRun].
//
// If no host remains the error wraps [ErrNothing], or with [Options.AllowEmpty] there is a warning.
func (inv *Inventory) Limit(hosts []*Host, text string) (kept []*Host, warnings []string, err error) {
	selected, warnings, err := inv.selector().Limit(numbers(hosts), text)
	return inv.numbered(selected), warnings, err
}

// selector returns the fleet for patterns: hosts by their index. The implicit localhost has the index after all others.
func (inv *Inventory) selector() pattern.Selector {
	s := pattern.Selector{
		Hosts: hostNumbers{inv}, Groups: groupNumbers{inv},
		Members:    func(group int) []int { return numbers(inv.groups[group].members()) },
		LimitFile:  limitFile,
		LimitRun:   inv.options.RecordedRun,
		AllowEmpty: inv.options.AllowEmpty, Strict: inv.options.StrictPatterns,
	}
	if inv.local != nil {
		s.Local = []int{inv.local.index}
	}
	return s
}

func numbers(hosts []*Host) []int {
	list := make([]int, len(hosts))
	for i, h := range hosts {
		list[i] = h.index
	}
	return list
}

// numbered returns the hosts of numbers; nil for nil.
func (inv *Inventory) numbered(list []int) []*Host {
	if list == nil {
		return nil
	}
	hosts := make([]*Host, len(list))
	for i, number := range list {
		if number == len(inv.hosts) {
			hosts[i] = inv.local
			continue
		}
		hosts[i] = inv.hosts[number]
	}
	return hosts
}

type hostNumbers struct{ inv *Inventory }

func (n hostNumbers) Len() int        { return len(n.inv.hosts) }
func (n hostNumbers) At(i int) string { return n.inv.hosts[i].Name }

func (n hostNumbers) Find(name string) (int, bool) {
	if h := n.inv.hostOf[name]; h != nil {
		return h.index, true
	}
	return 0, false
}

type groupNumbers struct{ inv *Inventory }

func (n groupNumbers) Len() int        { return len(n.inv.groups) }
func (n groupNumbers) At(i int) string { return n.inv.groups[i].Name }

func (n groupNumbers) Find(name string) (int, bool) {
	if g := n.inv.groupOf[name]; g != nil {
		return g.index, true
	}
	return 0, false
}

// limitFile reads the terms of a file for [Inventory.Limit].
func limitFile(path string) ([]string, error) {
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("cannot read %s: no such file", path)
	case err != nil:
		return nil, source.Error(path, err)
	}
	defer f.Close()
	data, err := source.ReadAll(f, path)
	if err != nil {
		return nil, err
	}
	if len(data) == source.MaxBytes {
		return nil, fmt.Errorf("%s is larger than %d MiB", path, source.MaxBytes>>20)
	}
	var terms []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' {
			terms = append(terms, line)
		}
	}
	return terms, nil
}
