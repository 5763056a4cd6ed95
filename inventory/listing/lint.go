package listing

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/ansible"
	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Finding is one thing that [Lint] finds.
type Finding struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Text    string `json:"text"`              // as it is written
	Ansible string `json:"ansible,omitempty"` // value that Ansible reads
	Here    string `json:"here,omitempty"`    // value that ccm-push reads
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

func (f Finding) String() string {
	at := yamlpos.Node{File: f.File, Line: f.Line, Column: f.Column}
	return at.Errorf(f.Hint, "%s", f.Message).Error()
}

// Lint reads the YAML files of an inventory. It finds every plain value that Ansible
// (YAML 1.1) and we (YAML 1.2) read in different ways, or that both read as something
// other than it looks like; passwords in clear; variables that Ansible sets itself; and
// what keeps hosts from being reached. Findings are sorted by position.
func Lint(inv *inventory.Inventory) []Finding {
	l := linter{}
	l.inventory(inv)
	l.refusals(inv)
	for _, path := range files(inv) {
		l.file(path)
	}
	slices.SortFunc(l.found, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Message, b.Message))
	})
	return slices.Compact(l.found)
}

// files lists the files of hosts and variables.
func files(inv *inventory.Inventory) []string {
	var list []string
	for _, h := range inv.Hosts() {
		file, _, _ := splitPosition(h.Pos())
		list = append(list, file)
		for _, at := range h.Connection().Pos {
			file, _, _ := splitPosition(at)
			list = append(list, file)
		}
	}
	for _, layer := range inv.Layers() {
		list = append(list, layer.File)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// splitPosition takes file:line:column apart; the numbers are 0 where the
// position has none.
func splitPosition(at string) (file string, line, column int) {
	parts := strings.Split(at, ":")
	n := len(parts)
	if n < 3 {
		return at, 0, 0
	}
	line, lineErr := strconv.Atoi(parts[n-2])
	column, columnErr := strconv.Atoi(parts[n-1])
	if errors.Join(lineErr, columnErr) != nil {
		return at, 0, 0
	}
	return strings.Join(parts[:n-2], ":"), line, column
}

type linter struct{ found []Finding }

func (l *linter) add(n *yamlpos.Node, f Finding) {
	f.File, f.Line, f.Column = n.File, n.Line, n.Column
	l.found = append(l.found, f)
}

// setByAnsible are variables that Ansible sets in a playbook, whatever the inventory contains.
var setByAnsible = []string{
	"group_names", "groups", "hostvars", "inventory_dir", "inventory_file", "inventory_hostname",
	"inventory_hostname_short", "omit", "playbook_dir",
}

// inventory reports variables by their names.
func (l *linter) inventory(inv *inventory.Inventory) {
	for _, h := range inv.Hosts() {
		conn := h.Connection()
		at := conn.Pos
		sealed := map[string]*yamlpos.Node{"password": conn.SealedPassword, "become_password": conn.SealedBecome}
		for _, key := range []string{"password", "become_password"} {
			place, refers := conn.Referred[key]
			if !refers {
				place = at[key]
			}
			if place != "" && sealed[key] == nil {
				l.password(place, key)
			}
		}
	}
	for _, layer := range inv.Layers() {
		for _, p := range layer.Node.Pairs {
			if slices.Contains(setByAnsible, p.Key.Text) {
				l.add(p.Key, Finding{
					Text:    p.Key.Text,
					Message: fmt.Sprintf("Ansible itself sets the variable %q", p.Key.Text),
					Hint:    "use another name",
				})
			}
		}
	}
}

// refusals reports what keeps hosts from being reached.
func (l *linter) refusals(inv *inventory.Inventory) {
	for _, e := range inv.Refusals() {
		l.found = append(l.found, Finding{File: e.File, Line: e.Line, Column: e.Column, Message: e.Msg, Hint: e.Hint})
	}
}

func (l *linter) password(at, key string) {
	file, line, column := splitPosition(at)
	l.add(&yamlpos.Node{File: file, Line: line, Column: column}, Finding{
		Text:    Withheld,
		Message: fmt.Sprintf("the key %q contains a password in clear text", key),
		Hint:    "let ccm-push prompt for the password, with -k (login) or -K (become); or log in with an SSH key",
	})
}

// file reports the literals of a YAML file. Other formats have no such traps, and a file
// that does not parse was read by other rules.
func (l *linter) file(path string) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 != 0 {
		return
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return
	}
	documents, err := yamlpos.Parse(path, data, yamlpos.PlainTag("!unsafe"), yamlpos.KeepSealed(nil), yamlpos.Secrets())
	if err != nil || len(documents) != 1 || documents[0].Kind != yamlpos.Map {
		return
	}
	l.node(documents[0])
}

func (l *linter) node(n *yamlpos.Node) {
	for _, p := range n.Pairs {
		l.scalar(p.Key, true)
		kind, _ := ansible.YAML(p.Value.Text)
		switch {
		case kind == ansible.YAMLBool && slices.Contains(booleans, p.Key.Text):
		case p.Value.Kind == yamlpos.Scalar && mayBePassword().MatchString(p.Key.Text): // which is not shown
		default:
			l.node(p.Value)
		}
	}
	for _, item := range n.Items {
		l.node(item)
	}
	if n.Kind == yamlpos.Scalar && !n.Secret {
		l.scalar(n, false)
	}
}

var mayBePassword = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)pass(?:word|wd|phrase)?$`) })

// booleans are the keys whose values are booleans in all the words of YAML 1.1.
var booleans = []string{"ansible_become", "become"}

// scalar reports a plain scalar that is a trap.
func (l *linter) scalar(n *yamlpos.Node, isKey bool) {
	if n.Quoted {
		return
	}
	first, then := n.Text, n.Text
	if isKey {
		first, then = "the key "+strconv.Quote(n.Text), "the key"
	}
	kind, value := ansible.YAML(n.Text)
	here := ansible.Scalar(n)
	f := Finding{Text: n.Text, Ansible: value, Here: here, Hint: lintHint(kind, n, here)}
	switch {
	case kind == ansible.YAMLDate:
		f.Message = fmt.Sprintf("Ansible reads %s as a date, but ccm-push reads %s as text", first, then)
	case value != here:
		f.Message = fmt.Sprintf("Ansible reads %s as %s, but ccm-push reads %s as %s", first, value, then, here)
	case kind == ansible.YAMLInt && value != n.Text && n.Text != "+"+value:
		f.Message = fmt.Sprintf("%s is the number %s", first, value)
	case kind == ansible.YAMLFloat && digits(n) != strings.TrimPrefix(n.Text, "+"):
		f.Message = fmt.Sprintf("%s is the number %s", first, digits(n))
		f.Hint = fmt.Sprintf("write %s, or '%s' for the text", digits(n), n.Text)
	default:
		return
	}
	f.Message = printable.Line(f.Message)
	l.add(n, f)
}

var decimal = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[+-]?[0-9]+\.[0-9]+$`) })

// digits writes a decimal number in the form that it has after reading and printing: 1.10 becomes 1.1. Any other text
// stays unchanged.
func digits(n *yamlpos.Node) string {
	number, isFloat := n.Value.(float64)
	if !isFloat || !decimal().MatchString(n.Text) {
		return strings.TrimPrefix(n.Text, "+")
	}
	text := strconv.FormatFloat(number, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// lintHint returns how to write a value that Ansible may read in another way. here is the value that ccm-push reads.
func lintHint(kind ansible.YAMLKind, n *yamlpos.Node, here string) string {
	quoted := "'" + n.Text + "'"
	if strings.Contains(n.Text, "'") {
		quoted = strconv.Quote(n.Text)
	}
	switch {
	case kind == ansible.YAMLBool:
		return fmt.Sprintf("write true or false for a boolean, or %s for a text", quoted)
	case kind == ansible.YAMLBase60, kind == ansible.YAMLDate:
		return fmt.Sprintf("write %s", quoted)
	}
	return fmt.Sprintf("write %s for the number, or %s for a text", strings.TrimSuffix(here, ".0"), quoted)
}

// FindingsText shows findings, a line each.
func FindingsText(found []Finding) string {
	var b strings.Builder
	for _, f := range found {
		b.WriteString(printable.Block(f.String()) + "\n")
	}
	return b.String()
}
