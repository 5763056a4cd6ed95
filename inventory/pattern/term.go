package pattern

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// term returns the hosts that a term without & or ! selects. If it finds none it records a miss.
func (m *matcher) term(term string) ([]int, error) {
	if h, ok := m.Hosts.Find(term); ok {
		return []int{h}, nil
	}
	if expr, isRegex := strings.CutPrefix(term, "~"); isRegex {
		return m.regex(term, expr)
	}
	base, index, err := splitSubscript(term)
	if err != nil {
		return nil, err
	}
	hosts, err := m.name(base)
	if err != nil {
		return nil, err
	}
	// Duplicates go before the index counts; Ansible counts a host once for
	// every group it was found through.
	var distinct set
	distinct.add(hosts)
	if index == nil || len(distinct.list) == 0 {
		return distinct.list, nil
	}
	return index.of(distinct.list)
}

// name matches a term without its subscript.
func (m *matcher) name(term string) ([]int, error) {
	brackets := bracketsIn(term)
	wild := strings.ContainsAny(term, "*?")
	switch {
	case wild && brackets.ranges > 0:
		return nil, termErrorf("write one term for each", "a range such as [1:3] and a wildcard cannot be in one term")
	case !wild && brackets.sets == 0 && brackets.ranges+brackets.nodes > 0:
		return m.expanded(term)
	case wild || brackets.sets+brackets.nodes > 0:
		return m.glob(term)
	}
	if hosts, found := m.exact(term); found {
		return hosts, nil
	}
	if slices.Contains(LocalNames, term) && len(m.Local) > 0 {
		return m.Local, nil
	}
	m.miss(term)
	return nil, nil
}

// exact looks a name up, among hosts first.
func (m *matcher) exact(name string) (hosts []int, found bool) {
	if h, ok := m.Hosts.Find(name); ok {
		return []int{h}, true
	}
	if g, ok := m.Groups.Find(name); ok {
		return m.Members(g), true
	}
	return nil, false
}

// brackets counts what kinds of bracket a term has.
type brackets struct {
	ranges int // [1:3], [a:c], [01:10:3]
	nodes  int // [1-3], [1,3-5]
	sets   int // [abc], [!a], [12]
}

func bracketsIn(term string) (b brackets) {
	for {
		_, behind, opened := strings.Cut(term, "[")
		within, rest, closed := strings.Cut(behind, "]")
		if !opened || !closed {
			return b
		}
		switch {
		case rangeForm().MatchString(within):
			b.ranges++
		case IsNodeSet(within):
			b.nodes++
		default:
			b.sets++
		}
		term = rest
	}
}

var rangeForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9A-Za-z]*:[0-9A-Za-z]+(?::[0-9]+)?$`)
})

// expanded finds the hosts and groups that a term with ranges or node sets
// names. Names that do not exist are a miss, even if others exist.
func (m *matcher) expanded(term string) ([]int, error) {
	expanded, err := ExpandRanges(term, func(spec string) ([]string, error) {
		if IsNodeSet(spec) {
			return NodeSet(spec)
		}
		return HostRange(spec)
	})
	if err != nil {
		return nil, err
	}
	var hosts []int
	var absent []string
	for _, name := range expanded {
		if found, ok := m.exact(name); ok {
			hosts = append(hosts, found...)
		} else {
			absent = append(absent, name)
		}
	}
	switch {
	case len(absent) == len(expanded):
		m.miss(term)
	case len(absent) > 0:
		m.misses = append(m.misses, miss{msg: fmt.Sprintf("%q: %d of %d names are not in the inventory, the first is %s",
			term, len(absent), len(expanded), absent[0])})
	}
	return hosts, nil
}

// regex matches names from their start, but not to their end.
func (m *matcher) regex(term, expr string) ([]int, error) {
	// By itself first: a)|(b would become something else within parentheses.
	re, err := regexp.Compile(expr)
	if err == nil {
		re, err = regexp.Compile(`\A(?:` + expr + `)`)
	}
	if err != nil {
		return nil, termErrorf("colons and commas outside brackets end a term; look-around and back-references do not exist",
			"not a regex: %s", regexProblem(err))
	}
	return m.matching(term, re), nil
}

func regexProblem(err error) string {
	return strings.TrimPrefix(err.Error(), "error parsing regexp: ")
}

// glob matches whole names against a shell pattern.
func (m *matcher) glob(term string) ([]int, error) {
	re, err := globRegex(term)
	if err != nil {
		return nil, termErrorf("", "not a glob: %s", regexProblem(err))
	}
	hosts := m.matching(term, re)
	if last := trailingNodes().FindStringSubmatch(term); last != nil {
		m.misses = append(m.misses, miss{fmt.Sprintf("%q: [%s] is a set of characters here", term, last[1]),
			"write [" + strings.ReplaceAll(last[1], "-", ":") + "] for an index"})
	}
	return hosts, nil
}

// trailingNodes matches a set of characters that earlier versions of Ansible read as an index.
var trailingNodes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[([0-9]+-[0-9]+)\]$`) })

// matching lists the hosts of all matching groups, then the matching hosts.
func (m *matcher) matching(term string, re *regexp.Regexp) []int {
	var hosts []int
	found := false
	for g := range m.Groups.Len() {
		if re.MatchString(m.Groups.At(g)) {
			found = true
			hosts = append(hosts, m.Members(g)...)
		}
	}
	for h := range m.Hosts.Len() {
		if re.MatchString(m.Hosts.At(h)) {
			found = true
			hosts = append(hosts, h)
		}
	}
	if !found {
		m.miss(term)
	}
	return hosts
}

// miss notes that a term matches nothing, with the likely reason.
func (m *matcher) miss(term string) {
	m.misses = append(m.misses, miss{fmt.Sprintf("%q matches no host or group", term), m.reason(term)})
}

func (m *matcher) reason(term string) string {
	if strings.HasPrefix(term, "~") {
		return "a regex is matched from the start of the name: write ~.*" + strings.TrimPrefix(term[1:], "^") + " to find it anywhere"
	}
	if slices.Contains(LocalNames, term) {
		return "this machine is only known if the inventory lists it, or with --allow-implicit-localhost"
	}
	if host, port := SplitPort(term); port != "" && isIn(m.Hosts, host) {
		return "remove the port: it belongs in the inventory"
	}
	if at := strings.LastIndexByte(term, '['); at > 0 && isIn(m.Groups, term[:at]) {
		return "by index it would be " + strings.ReplaceAll(term, "-", ":")
	}
	if meant := m.suggest(term); meant != "" {
		return fmt.Sprintf("did you mean %q?", meant)
	}
	return ""
}

func isIn(n Names, name string) bool {
	_, ok := n.Find(name)
	return ok
}

// manyHosts is the number of hosts above which only names with the same beginning are
// suggested: comparing all of them would take longer than selecting.
const manyHosts = 5_000

func (m *matcher) suggest(term string) string {
	known := make([]string, 0, m.Groups.Len()+min(m.Hosts.Len(), manyHosts))
	for g := range m.Groups.Len() {
		known = append(known, m.Groups.At(g))
	}
	begin := ""
	if m.Hosts.Len() > manyHosts {
		begin = term[:len(term)-min(len(term), 2)]
	}
	for h := range m.Hosts.Len() {
		if name := m.Hosts.At(h); strings.HasPrefix(name, begin) && len(known) < cap(known) {
			known = append(known, name)
		}
	}
	return yamlpos.Suggest(term, known)
}

// globRegex translates a shell glob: *, ?, [set] and [!set], case-sensitive,
// matching the whole name.
func globRegex(glob string) (*regexp.Regexp, error) {
	var re strings.Builder
	re.WriteString(`(?s)\A`)
	for glob != "" {
		end := strings.IndexByte(glob, ']')
		switch c := glob[0]; {
		case c == '*':
			re.WriteString(`.*`)
		case c == '?':
			re.WriteString(`.`)
		case c == '[' && end > 1:
			re.WriteString(setRegex(glob[1:end]))
			glob = glob[end:]
		default:
			re.WriteString(regexp.QuoteMeta(glob[:1]))
		}
		glob = glob[1:]
	}
	re.WriteString(`\z`)
	return regexp.Compile(re.String())
}

// setRegex translates the text between the brackets of a glob.
func setRegex(set string) string {
	negated := ""
	if set[0] == '!' && len(set) > 1 {
		negated, set = "^", set[1:]
	}
	return "[" + negated + strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`, `&`, `\&`, `~`, `\~`).Replace(set) + "]"
}
