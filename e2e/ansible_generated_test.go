//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const patternsOfEach = 5

// TestGeneratedInventories writes random inventories, half of them as YAML and half as INI, some with group_vars and
// host_vars, and compares ccm-push's answers with Ansible's.
func TestGeneratedInventories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var commands [][]string
	inventories := uint64(40)
	if testing.Short() {
		inventories /= 10
	}
	for seed := range inventories {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
		folder := fmt.Sprintf("%03d", seed)
		for name, text := range g.files() {
			write(t, filepath.Join(dir, folder, name), text)
		}
		source := filepath.Join(folder, "hosts")
		commands = append(commands,
			[]string{"ansible-inventory", "-i", source, "--playbook-dir", folder + "/play", "--list"},
			[]string{"ansible-inventory", "-i", source, "--playbook-dir", folder + "/play", "--list", "--export"},
			[]string{"ansible-inventory", "-i", source, "--playbook-dir", folder + "/play", "--graph", "--vars"})
		for range patternsOfEach {
			commands = append(commands, []string{"ansible", "-i", source, "--list-hosts", g.pattern()})
		}
	}
	for i, a := range ansibleAnswers(t, dir, commands) {
		require.Zero(t, a.Code, "%q: %s", commands[i], a.Stderr)
		if commands[i][0] == "ansible" {
			a.Stdout = sortedLines(a.Stdout)
		}
		if ours := oursFor(t, dir, commands[i]); ours != a.Stdout { // whole texts would be too long to read
			t.Errorf("%q: %s", commands[i], firstDifference(a.Stdout, ours))
		}
	}
}

// sortedLines sorts all lines after the first.
func sortedLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	slices.Sort(lines[1 : len(lines)-1])
	return strings.Join(lines, "")
}

// firstDifference shows the first line in which two texts differ.
func firstDifference(ansible, ours string) string {
	a, b := strings.Split(ansible, "\n"), strings.Split(ours, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d: ansible says %q, ccm-push %q", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("ansible has %d lines, ccm-push %d", len(a), len(b))
}

// oursFor runs ccm-push for a command line of Ansible, and returns the answer in Ansible's form.
func oursFor(t *testing.T, dir string, argv []string) string {
	t.Helper()
	words := append([]string{"--allow-empty"}, argv[1:]...)
	if argv[0] == "ansible-inventory" {
		words = append([]string{"inventory"}, argv[1:]...)
	}
	cmd := exec.CommandContext(t.Context(), programPath(t, "ccm-push"), words...) // which needs no host programs
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%q: %s", argv, &stderr)
	if argv[0] == "ansible-inventory" {
		return string(out)
	}
	hosts := slices.Sorted(strings.FieldsSeq(string(out)))
	text := fmt.Sprintf("  hosts (%d):\n", len(hosts))
	for _, h := range hosts {
		text += "    " + h + "\n"
	}
	return text
}

// A generator makes inventories. Groups contain later ones only, so there are no
// circles.
type generator struct {
	*rand.Rand
	groups, hosts []string
}

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func (g *generator) files() map[string]string {
	g.groups, g.hosts = nil, nil
	for i := range 2 + g.IntN(8) {
		g.groups = append(g.groups, fmt.Sprintf("%c%d", "gzab"[g.IntN(4)], i))
	}
	for i := range 1 + g.IntN(12) {
		g.hosts = append(g.hosts, fmt.Sprintf("%s%02d", []string{"web", "db-", "n.", "x_"}[g.IntN(4)], i))
	}
	files := map[string]string{"play/none": ""}
	if g.chance(50) {
		files["hosts"] = g.yaml()
	} else {
		files["hosts"] = g.ini()
	}
	for range g.IntN(5) {
		folder := []string{"", "play/"}[g.IntN(2)]
		extension := []string{"", ".yml", ".yaml", ".json"}[g.IntN(4)]
		kind, names := "group_vars/", append([]string{"all", "ungrouped"}, g.groups...)
		if g.chance(40) {
			kind, names = "host_vars/", g.hosts
		}
		files[folder+kind+names[g.IntN(len(names))]+extension] = g.vars()
	}
	return files
}

// vars is a map of variables in JSON, which is YAML too.
func (g *generator) vars() string {
	var entries []string
	for _, name := range []string{"a", "b", "c", "d"} {
		if g.chance(60) {
			entries = append(entries, fmt.Sprintf("%q: %s", name, g.value(2)))
		}
	}
	return "{" + strings.Join(entries, ", ") + "}\n"
}

// value is one that both read in the same way.
func (g *generator) value(depth int) string {
	switch g.IntN(5 + depth) {
	case 0:
		return fmt.Sprint(g.IntN(2000) - 1000)
	case 1:
		return fmt.Sprintf("%.3f", g.Float64()*1000)
	case 2:
		return []string{"true", "false", "null"}[g.IntN(3)]
	case 3, 4:
		return fmt.Sprintf("%q", []string{"", "x", "two words", "yes", "0755", "it's", "{}", "é漢", "a\\b", "1:30", "#no"}[g.IntN(11)])
	case 5:
		return fmt.Sprintf("[%s, %s]", g.value(depth-1), g.value(depth-1))
	}
	return fmt.Sprintf("{\"k\": %s, \"j\": %s}", g.value(depth-1), g.value(depth-1))
}

// below lists some of the groups after group i.
func (g *generator) below(i int) []string {
	var names []string
	for _, name := range g.groups[i+1:] {
		if g.chance(25) {
			names = append(names, name)
		}
	}
	return names
}

func (g *generator) someHosts() []string {
	var names []string
	for _, name := range g.hosts {
		if g.chance(30) {
			names = append(names, name)
		}
	}
	g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}

func (g *generator) yaml() string {
	var b strings.Builder
	order := g.Perm(len(g.groups))
	all := func() {
		b.WriteString("all:\n")
		g.yamlBody(&b, g.someHosts(), g.below(g.IntN(len(g.groups))), "")
	}
	first := g.chance(50)
	if first {
		all()
	}
	for _, i := range order {
		b.WriteString(g.groups[i] + ":\n")
		priority := ""
		if g.chance(20) {
			priority = fmt.Sprintf("    ansible_group_priority: %d\n", g.IntN(7)-3)
		}
		g.yamlBody(&b, g.someHosts(), g.below(i), priority)
	}
	if !first {
		all()
	}
	if g.chance(30) {
		b.WriteString("ungrouped:\n")
		g.yamlBody(&b, g.someHosts(), nil, "")
	}
	return b.String()
}

func (g *generator) yamlBody(b *strings.Builder, hosts, children []string, priority string) {
	if g.chance(60) || priority != "" {
		b.WriteString("  vars:\n" + priority)
		for _, name := range []string{"a", "b", "c"} {
			fmt.Fprintf(b, "    %s: %s\n", name, g.value(2))
		}
	}
	for i, h := range hosts {
		if i == 0 {
			b.WriteString("  hosts:\n")
		}
		b.WriteString("    " + h + ": ")
		if g.chance(30) {
			fmt.Fprintf(b, "{b: %s, e: %s}", g.value(1), g.value(1))
		}
		b.WriteString("\n")
	}
	for i, child := range children {
		if i == 0 {
			b.WriteString("  children:\n")
		}
		b.WriteString("    " + child + ":\n")
	}
}

func (g *generator) ini() string {
	var b strings.Builder
	g.iniHosts(&b)
	for _, i := range g.Perm(len(g.groups)) {
		fmt.Fprintf(&b, "[%s]\n", g.groups[i])
		g.iniHosts(&b)
		if children := g.below(i); len(children) > 0 {
			fmt.Fprintf(&b, "[%s:children]\n%s\n", g.groups[i], strings.Join(children, "\n"))
		}
		if g.chance(60) {
			fmt.Fprintf(&b, "[%s:vars]\n", g.groups[i])
			for _, name := range []string{"a", "b", "c"} {
				fmt.Fprintf(&b, "%s%s%s\n", name, []string{"=", " = "}[g.IntN(2)], g.iniValue(true))
			}
			if g.chance(30) {
				fmt.Fprintf(&b, "ansible_group_priority=%d\n", g.IntN(7)-3)
			}
		}
	}
	return b.String()
}

func (g *generator) iniHosts(b *strings.Builder) {
	for _, h := range g.someHosts() {
		b.WriteString(h)
		for _, name := range []string{"b", "e"} {
			if g.chance(30) {
				fmt.Fprintf(b, " %s=%s", name, g.iniValue(false))
			}
		}
		if g.chance(10) {
			b.WriteString(" # a comment")
		}
		b.WriteString("\n")
	}
	if g.chance(20) {
		b.WriteString("\n; a comment\n# another\n")
	}
}

// iniValue returns a Python literal, or a plain text. After a host, a value with blanks or quotes is quoted once more.
// Tuples are left out: Ansible's --graph --vars writes them with parentheses, and they are lists here.
func (g *generator) iniValue(whole bool) string {
	values := []string{
		"1", "-1", "0x10", "1.50", "1e3", "True", "False", "None", "true", "yes", "text", "[1,2]", "{'k':'v'}", "'quoted'", "0755", "1_000",
		"two words", "[1, 'a', None]", "{'k': [1.5, True]}", "\"x\"", "a=b", "it's", "0o17", "b'x'", "é", "", "#x",
	}
	value := values[g.IntN(len(values))]
	if !whole && strings.ContainsAny(value, " '\"#") || !whole && value == "" {
		return `"` + strings.ReplaceAll(value, `"`, `\"`) + `"`
	}
	return value
}

// pattern is one that both understand in the same way. It has no index: of groups
// that are nested deeper, Ansible lists the hosts in the order of a Python set,
// which differs from run to run.
func (g *generator) pattern() string {
	var terms []string
	for range 1 + g.IntN(3) {
		terms = append(terms, []string{"", "", "&", "!"}[g.IntN(4)]+g.term())
	}
	separator := []string{":", ","}[g.IntN(2)]
	if slices.ContainsFunc(terms, func(s string) bool { return strings.Contains(s, "~") }) {
		separator = ","
	}
	return strings.Join(terms, separator)
}

func (g *generator) term() string {
	switch g.IntN(5) {
	case 0:
		return g.hosts[g.IntN(len(g.hosts))]
	case 1:
		return []string{"all", "ungrouped"}[g.IntN(2)]
	case 2:
		return []string{"web*", "*0?", "[gz]*", "db-[!1]*", "*", "x_*", "a?"}[g.IntN(7)]
	case 3:
		return []string{"~web", "~.*[13]$", "~(g|z)[0-3]", "~n\\."}[g.IntN(4)]
	}
	return g.groups[g.IntN(len(g.groups))]
}
