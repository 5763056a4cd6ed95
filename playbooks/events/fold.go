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

// A folding collects the output about the hosts of a batch, so that equal output is printed once, with all its hosts.
type folding struct {
	hosts  []string // in the order of the inventory
	blocks []*block // distinct, in the order in which they came
	known  map[string]int
	of     map[string][]int // the blocks of a host, in their order
	size   int              // size of all blocks, in bytes

	alike map[string]int // failures that were shown, by how they begin
	rest  string         // replacement of the remaining text for later blocks with the same beginning; empty shows all

	addresses     map[string]string            // addresses of hosts, if they differ from the names
	facts         map[string]string            // in the diff of the result that is collected, by path
	values        map[string]map[string]string // facts that were replaced by marks, by host and path
	adHoc         bool
	column, width int // width of the hosts' names, and of the terminal
}

// A block is the output about one thing on one or several hosts.
type block struct {
	text   string // text for the first host
	differ bool   // other hosts differ from it in their name, address or key, and in nothing else
	plain  string // text without those
	failed bool   // it has been shown when it happened
	causes bool   // other failures begin with the same line and have another second one
	adHoc  color  // colour of the heading of a command's output; empty for other blocks
	number int    // in the order in which blocks are shown
}

// maxFolded bounds the collected text, in bytes: beyond it only the first line of a block is kept.
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

// add adds output about a host. It reports whether the block is new.
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

// Marks that replace the parts of a text that differ between hosts.
const (
	hostMark    = "{host}"
	addressMark = "{address}"
	keyMark     = "{key}"
)

// fingerprint matches the fingerprint of a host key, which differs for every host.
var fingerprint = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bSHA256:[A-Za-z0-9+/]{43}`) })

// without replaces the host's key, and its name and address where they are whole words, by marks.
func without(text, host, address string) string {
	if strings.Contains(text, "SHA256:") { // few texts do, and this is much faster
		text = fingerprint().ReplaceAllLiteralString(text, keyMark)
	}
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

// partOfWord reports whether a character next to a name makes it a part of a longer one.
func partOfWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_')
}

// endsInColor reports whether the text after this one has another colour, see [page.paint].
func endsInColor(text string) bool {
	i := strings.LastIndexByte(text, '\x1b')
	return i >= 0 && strings.IndexByte(text[i:], 'm') == len(text)-i-1
}

// A fold is a group of hosts with the same output.
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

// byBlock returns each block with its hosts, in an order that agrees with each host's order as far as possible.
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

// ordered returns blocks in their order, without duplicates.
func (f *folding) ordered(blocks []int) []int {
	var list []int
	for _, i := range blocks {
		if !slices.Contains(list, i) {
			list = append(list, i)
		}
	}
	return list
}

// lines returns the number of lines of folds.
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

// collect takes the output about a host from the page. The first failure of its kind is shown at once.
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

// wholeOfAlike is how many failures with the same beginning are shown completely.
const wholeOfAlike = 3

// brief shortens a command's failure to its first two lines, with the resource and the error, after several with the
// same beginning have been shown. The output may differ from host to host in a time or a process number, and then
// hundreds of failures would have one cause.
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

// merge counts failures with one cause as one: the same resource with the same error. Their other details have been
// shown.
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

// unfold prints the collected output.
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

// again returns the part of a text that is printed with all hosts. A failure was shown when it happened, so this is its
// first line, and the second one if it distinguishes several failures.
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

// marks describes the marks in the texts of a fold.
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

// heading prints the heading of a command's output.
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

// body returns the text of a command's output after the heading.
func body(text string) string {
	_, rest, _ := strings.Cut(text, "\n")
	return rest
}
