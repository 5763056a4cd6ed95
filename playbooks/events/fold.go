package events

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A folding collects what is told of the hosts of a batch, so that what is equal is told once,
// with all hosts that it is true of.
type folding struct {
	hosts  []string // in the order of the inventory
	blocks []*block // distinct, in the order in which they came
	known  map[string]int
	of     map[string][]int // the blocks of a host, in their order
	size   int              // of all blocks, in bytes

	alike map[string]int // failures that were shown, by how they begin
	rest  string         // in place of what others that begin so go on with; "" shows all

	addresses     map[string]string            // of hosts, where names do not say them
	facts         map[string]string            // in the diff of the result that is collected, by path
	values        map[string]map[string]string // facts that were replaced by marks, by host and path
	adHoc         bool
	column, width int // of the hosts' names, and of the terminal
}

// A block is what is told of one thing on one host or several.
type block struct {
	text   string // of the first host
	differ bool   // other hosts differ from it in their name, address or key, and in nothing else
	plain  string // text without those
	failed bool   // it has been shown when it happened
	causes bool   // other failures begin with the same line and have another second one
	adHoc  color  // of the heading of a command's output; "" if it is none
	number int    // in the order in which blocks are shown
}

// maxFolded bounds the text that is collected, in bytes: of what is more only the first line is
// kept.
const maxFolded = 64 << 20

func newFolding(hosts []string, s *setting, addresses map[string]string) *folding {
	rest := ""
	switch {
	case s.options.Verbose > 0:
	case s.options.Recorded:
		rest = fmt.Sprintf("%s(its output differs from the hosts above; to see it: ccm-push runs show %s -v)\n", indent, s.run.Run)
	default:
		rest = indent + "(its output differs from the hosts above; to see it, pass -v)\n"
	}
	return &folding{
		hosts: hosts, known: map[string]int{}, of: map[string][]int{}, alike: map[string]int{}, rest: rest,
		addresses: addresses, values: map[string]map[string]string{}, adHoc: s.options.AdHoc, column: s.column, width: s.options.Width,
	}
}

// add adds what is told of a host. It reports whether that is new.
func (f *folding) add(host, address, text string) (b *block, fresh bool) {
	if f.size > maxFolded {
		text, _, _ = strings.Cut(text, "\n")
		text += " …\n"
	}
	key := f.key(text, host, address)
	if len(f.facts) > 0 {
		if f.values[host] == nil {
			f.values[host] = map[string]string{}
		}
		maps.Copy(f.values[host], f.facts)
	}
	i, known := f.known[key]
	if !known {
		i = len(f.blocks)
		f.known[key] = i
		f.blocks = append(f.blocks, &block{text: text, plain: key, number: -1})
		f.size += len(text) + len(key)
	}
	b = f.blocks[i]
	b.differ = b.differ || b.text != text
	if len(f.of[host]) == 0 && !slices.Contains(f.hosts, host) {
		f.hosts = append(f.hosts, host)
	}
	f.of[host] = append(f.of[host], i)
	return b, !known
}

// key returns a text of a host without its name, its address, its key and its facts.
func (f *folding) key(text, host, address string) string {
	return without(withoutFacts(text, f.facts, host, address), host, address)
}

// What stands in a text for what differs from host to host.
const (
	hostMark    = "{host}"
	addressMark = "{address}"
	keyMark     = "{key}"
)

// fingerprint is that of a host key, of which every host has another one.
var fingerprint = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bSHA256:[A-Za-z0-9+/]{43}`) })

// without is a text without the key of its host, and without its name and its address where
// they stand as words.
func without(text, host, address string) string {
	text = fingerprint().ReplaceAllLiteralString(text, keyMark)
	text = replaceWord(text, host, hostMark)
	if address != host {
		text = replaceWord(text, address, addressMark)
	}
	return text
}

func replaceWord(text, word, mark string) string {
	if len(word) < 2 || !strings.Contains(text, word) {
		return text
	}
	var b strings.Builder
	for {
		i := strings.Index(text, word)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(word):])
		b.WriteString(text[:i])
		if partOfWord(before) && !endsInColor(text[:i]) || partOfWord(after) {
			b.WriteString(word)
		} else {
			b.WriteString(mark)
		}
		text = text[i+len(word):]
	}
}

// partOfWord reports whether a character beside a name makes it a part of a longer one.
func partOfWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_')
}

// endsInColor reports whether what comes next in a text has another colour, see [page.paint].
func endsInColor(text string) bool {
	i := strings.LastIndexByte(text, '\x1b')
	return i >= 0 && strings.IndexByte(text[i:], 'm') == len(text)-i-1
}

// A fold is hosts of which the same is told.
type fold struct {
	hosts  []string
	blocks []int
}

// byHost puts hosts together of which all is the same, in the order of the inventory.
func (f *folding) byHost() []fold {
	var all []fold
	known := map[string]int{}
	for _, host := range f.hosts {
		blocks := f.of[host]
		if len(blocks) == 0 {
			continue
		}
		sorted := slices.Clone(blocks)
		slices.Sort(sorted)
		key := fmt.Sprint(sorted)
		i, there := known[key]
		if !there {
			i = len(all)
			known[key] = i
			all = append(all, fold{blocks: f.ordered(blocks)})
		}
		all[i].hosts = append(all[i].hosts, host)
	}
	return all
}

// byBlock gives each block with its hosts, in an order that is that of each host as far as they
// agree.
func (f *folding) byBlock() []fold {
	var all []fold
	at := make([]int, len(f.blocks))
	for i := range at {
		at[i] = -1
	}
	for _, host := range f.hosts {
		for _, i := range f.of[host] {
			if at[i] < 0 {
				at[i] = len(all)
				all = append(all, fold{blocks: []int{i}})
			}
			if one := &all[at[i]]; len(one.hosts) == 0 || one.hosts[len(one.hosts)-1] != host {
				one.hosts = append(one.hosts, host)
			}
		}
	}
	return all
}

// together puts folds of the same hosts together that follow each other.
func together(all []fold) []fold {
	var list []fold
	for _, one := range all {
		if n := len(list); n > 0 && slices.Equal(list[n-1].hosts, one.hosts) {
			list[n-1].blocks = append(list[n-1].blocks, one.blocks...)
			continue
		}
		list = append(list, one)
	}
	return list
}

// ordered gives blocks in their order, a block that came several times once.
func (f *folding) ordered(blocks []int) []int {
	var list []int
	for _, i := range blocks {
		if !slices.Contains(list, i) {
			list = append(list, i)
		}
	}
	return list
}

// lines is how many lines folds take.
func (f *folding) lines(all []fold) int {
	n := 0
	for _, one := range all {
		n++
		for _, i := range one.blocks {
			n += strings.Count(f.blocks[i].text, "\n")
		}
	}
	return n
}

// collect takes what was to be told of a host. A failure is shown at once when it is the first
// of its kind.
func (f *folding) collect(p *page, host string, failed bool) {
	text := p.b.String()
	if text == "" {
		return
	}
	p.b.Reset()
	b, fresh := f.add(host, cmp.Or(f.addresses[host], host), text)
	b.adHoc = cmp.Or(b.adHoc, p.adHoc)
	if !fresh || !failed {
		return
	}
	b.failed = true
	if b.adHoc != "" {
		f.heading(p, []string{host}, b)
		p.b.WriteString(body(text))
		return
	}
	p.pad(plain, host, f.column)
	p.b.WriteString(text)
}

// wholeOfAlike is how many failures are shown whole that begin alike.
const wholeOfAlike = 3

// brief leaves of a command's failure its first two lines, with the resource and the error, when
// several that begin so have been shown. What it has written may differ from host to host in a
// time or the number of a process, and then hundreds would tell of one cause.
func (f *folding) brief(p *page, host string) {
	text := p.b.String()
	key := f.key(text, host, cmp.Or(f.addresses[host], host))
	if _, known := f.known[key]; known || f.rest == "" || p.adHoc != "" {
		return
	}
	begins, more := firstLines(key, 2)
	if f.alike[begins]++; f.alike[begins] <= wholeOfAlike || more == 0 {
		return
	}
	begins, _ = firstLines(text, 2)
	p.b.Reset()
	p.b.WriteString(begins + f.rest)
}

// shift adds the lines of a page further to the right.
func (p *page) shift(text string) {
	for line := range strings.Lines(text) {
		p.b.WriteString("  " + strings.TrimSuffix(line, "\n") + "\n")
	}
}

// merge has failures of one cause count as one: of the same resource with the same error. What
// else they had to say has been shown.
func (f *folding) merge() {
	first, line := map[string]int{}, map[string]int{} // by both lines, and by the first alone
	same := make([]int, len(f.blocks))
	for i, b := range f.blocks {
		same[i] = i
		if !b.failed || b.adHoc != "" {
			continue
		}
		cause, _ := firstLines(b.plain, 2)
		if j, known := first[cause]; known {
			same[i] = j
			one := f.blocks[j]
			one.differ = one.differ || b.differ || one.text != b.text
			continue
		}
		first[cause] = i
		what, _ := firstLines(b.plain, 1)
		if j, known := line[what]; known {
			b.causes, f.blocks[j].causes = true, true
		} else {
			line[what] = i
		}
	}
	for _, blocks := range f.of {
		for k, i := range blocks {
			blocks[k] = same[i]
		}
	}
}

// unfold tells what has been collected.
func (f *folding) unfold(p *page) {
	f.merge()
	if f.adHoc {
		f.unfoldAdHoc(p)
		return
	}
	hosts, blocks := f.byHost(), together(f.byBlock())
	if f.lines(blocks) < f.lines(hosts) {
		hosts = blocks
	}
	for _, one := range hosts {
		if len(one.hosts) == 1 && len(one.blocks) == 1 && f.blocks[one.blocks[0]].failed {
			continue // it has been shown, and is true of no other host
		}
		f.hostSet(p, one.hosts, f.marks(one))
		for _, i := range one.blocks {
			p.shift(f.blocks[i].again(f.shown(f.blocks[i], one.hosts)))
		}
	}
}

// again is the part of a text that is told with all hosts: of a failure, which has been shown
// when it happened, the first line, and the second one if that says which of several it was.
func (b *block) again(text string) string {
	switch {
	case b.failed && b.causes:
		text, _ = firstLines(text, 2)
	case b.failed:
		first, rest, _ := strings.Cut(text, "\n")
		if rest != "" && !strings.HasPrefix(rest, indent+"hint: ") { // else the first line has the error
			first += "  (error shown above)"
		}
		text = first + "\n"
	}
	return text
}

// shown is the text of a block for some of its hosts.
func (f *folding) shown(b *block, hosts []string) string {
	switch {
	case !b.differ:
		return b.text
	case len(hosts) > 1:
		return strings.NewReplacer(f.equalFacts(hosts)...).Replace(b.plain)
	}
	own := []string{hostMark, Line(hosts[0]), addressMark, Line(f.addresses[hosts[0]])}
	for path, value := range f.values[hosts[0]] {
		own = append(own, factMark(path), Line(value))
	}
	return strings.NewReplacer(own...).Replace(b.plain)
}

// equalFacts returns the marks of facts that are equal on all hosts, each followed by its value.
func (f *folding) equalFacts(hosts []string) (list []string) {
	for path, value := range f.values[hosts[0]] {
		if !slices.ContainsFunc(hosts, func(host string) bool { return f.values[host][path] != value }) {
			list = append(list, factMark(path), Line(value))
		}
	}
	return list
}

// marks says what stands in the texts of a fold for what differs.
func (f *folding) marks(one fold) string {
	if len(one.hosts) == 1 {
		return ""
	}
	var marks []string
	all := []string{hostMark, addressMark, keyMark}
	for _, path := range slices.Sorted(maps.Keys(f.values[one.hosts[0]])) {
		all = append(all, factMark(path))
	}
	for _, mark := range all {
		if slices.ContainsFunc(one.blocks, func(i int) bool {
			return f.blocks[i].differ && strings.Contains(f.blocks[i].again(f.shown(f.blocks[i], one.hosts)), mark)
		}) {
			marks = append(marks, mark)
		}
	}
	if len(marks) == 0 {
		return ""
	}
	return "; " + strings.Join(marks, ", ") + ": of each"
}

// hostSet is a line with hosts as a pattern, and how many they are.
func (f *folding) hostSet(p *page, hosts []string, note string) {
	pattern, rest := Fold(hosts, maxNameLines*f.width)
	p.print(bold, pattern)
	if rest > 0 {
		p.print(plain, fmt.Sprintf(" and %d more", rest))
	}
	if len(hosts) > 1 {
		p.print(plain, fmt.Sprintf(" (%d%s)", len(hosts), note))
	}
	p.newline()
}

func (f *folding) unfoldAdHoc(p *page) {
	for _, one := range f.byBlock() {
		b := f.blocks[one.blocks[0]]
		switch {
		case b.failed && len(one.hosts) == 1:
		case b.adHoc != "":
			f.heading(p, one.hosts, b)
			p.b.WriteString(body(f.shown(b, one.hosts)))
		default:
			f.hostSet(p, one.hosts, f.marks(one))
			p.shift(b.again(f.shown(b, one.hosts)))
		}
	}
}

// heading is that of the output of a command.
func (f *folding) heading(p *page, hosts []string, b *block) {
	first, _, _ := strings.Cut(b.text, "\n")
	pattern, rest := Fold(hosts, maxNameLines*f.width)
	if rest > 0 {
		pattern += fmt.Sprintf(" and %d more", rest)
	}
	if len(hosts) > 1 {
		pattern += fmt.Sprintf(" (%d)", len(hosts))
	}
	p.print(b.adHoc, "== "+pattern+first)
	p.newline()
}

// body is what follows the heading in the text of a command's output.
func body(text string) string {
	_, rest, _ := strings.Cut(text, "\n")
	return rest
}
