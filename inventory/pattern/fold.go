package pattern

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Fold writes names in their short form, as node sets: web1, web2, web3 and db1 become "db1,web[1-3]". [Expand] returns
// the same names, and an inventory with hosts of these names accepts the text as a pattern for them.
//
// The text depends only on the set of names, not on their order or repetition. Leading zeros are part of a name: web1
// and web01 become "web[1,01]". Names with up to three numbers fold over all of them, names with more over the last
// one. The text never covers a name that is not in the set.
func Fold(names []string) string {
	f := folder{kinds: map[string]*kind{}}
	for _, name := range names {
		f.add(name)
	}
	kinds := make([]*kind, 0, len(f.kinds))
	for _, k := range f.kinds {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b *kind) int { return compareNames(a.skeleton, b.skeleton) })
	slices.Sort(f.plain)
	var out strings.Builder
	for _, name := range slices.Compact(f.plain) {
		for len(kinds) > 0 && compareNames(kinds[0].skeleton, name) < 0 {
			kinds[0].write(&out)
			kinds = kinds[1:]
		}
		separate(&out)
		out.WriteString(name)
	}
	for _, k := range kinds {
		k.write(&out)
	}
	return out.String()
}

// maxAxes is the largest number of numbers in a name that are folded.
const maxAxes = 3

// A folder sorts names by kind.
type folder struct {
	kinds   map[string]*kind // by skeleton
	plain   []string         // names without digits, with repetitions
	spans   []span           // digits in the current name
	scratch []byte
}

// A kind is names that differ in their numbers only.
type kind struct {
	skeleton string // the name with hole in place of each number
	axes     int
	numbers  []number // names of a kind with one axis, the usual case
	rows     []row    // names of a kind with more axes
}

// A row is the numbers of one name, filled up with zeros.
type row [maxAxes]number

// hole replaces a number in a skeleton. No name contains it, and it sorts before the characters of names.
const hole = '\x00'

// A number is a run of digits: its length above its value, so that numbers sort
// by length and then by value, and 09 is followed by 10 and not by 9.
type number uint64

const (
	valueBits = 57 // hold 17 digits
	maxDigits = 17
)

func numberOf(digits string) number {
	n, _ := strconv.ParseUint(digits, 10, 64) // 17 digits at most
	return number(uint64(len(digits))<<valueBits | n)
}

func (n number) width() int    { return int(n >> valueBits) }
func (n number) value() uint64 { return uint64(n) & (1<<valueBits - 1) }

func (n number) append(b []byte) []byte {
	digits := strconv.AppendUint(nil, n.value(), 10)
	for range n.width() - len(digits) {
		b = append(b, '0')
	}
	return append(b, digits...)
}

// padded reports whether n has zeros in front.
func (n number) padded() bool { return n.width() > 1 && n.value() < powers[n.width()-1] }

// powers are the powers of ten.
var powers = func() (p [maxDigits + 1]uint64) {
	p[0] = 1
	for i := range maxDigits {
		p[i+1] = 10 * p[i]
	}
	return p
}()

// follows reports whether n continues a range from first to last.
func (n number) follows(first, last number) bool {
	if n.width() == last.width() {
		return n == last+1
	}
	return n.width() == last.width()+1 && !first.padded() && n.value() == last.value()+1 && n.value() == powers[n.width()-1]
}

// A span is the place of digits in a name.
type span struct{ from, to int }

func (f *folder) add(name string) {
	if !strings.ContainsAny(name, "0123456789") {
		f.plain = append(f.plain, name)
		return
	}
	f.spans = appendDigits(f.spans[:0], name)
	spans := f.spans
	if len(spans) > maxAxes {
		spans = spans[len(spans)-1:]
	}
	f.scratch = f.scratch[:0]
	var r row
	at := 0
	for i, s := range spans {
		f.scratch = append(append(f.scratch, name[at:s.from]...), hole)
		r[i] = numberOf(name[s.from:s.to])
		at = s.to
	}
	f.scratch = append(f.scratch, name[at:]...)
	k := f.kinds[string(f.scratch)]
	if k == nil {
		k = &kind{skeleton: string(f.scratch), axes: len(spans)}
		f.kinds[k.skeleton] = k
	}
	switch len(spans) {
	case 0: // all digits are in runs that are too long
	case 1:
		k.numbers = append(k.numbers, r[0])
	default:
		k.rows = append(k.rows, r)
	}
}

// appendDigits finds the runs of digits that are short enough to be numbers.
func appendDigits(spans []span, name string) []span {
	for i := 0; i < len(name); i++ {
		if !isDigit(name[i]) {
			continue
		}
		from := i
		for i < len(name) && isDigit(name[i]) {
			i++
		}
		if i-from <= maxDigits {
			spans = append(spans, span{from, i})
		}
	}
	return spans
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// write adds the folded names of a kind to out.
func (k *kind) write(out *strings.Builder) {
	if k.axes == 0 {
		separate(out)
		out.WriteString(k.skeleton)
		return
	}
	parts := strings.Split(k.skeleton, string(hole))
	for _, numbers := range k.fold() {
		separate(out)
		for i, part := range parts {
			out.WriteString(part)
			if i < len(numbers) {
				out.WriteString(numbers[i])
			}
		}
	}
}

func separate(out *strings.Builder) {
	if out.Len() > 0 {
		out.WriteByte(',')
	}
}

// fold folds the names of a kind into one or more sets, and returns the folded numbers of each set.
func (k *kind) fold() [][]string {
	if k.axes == 1 {
		slices.Sort(k.numbers)
		return [][]string{{foldNumbers(slices.Compact(k.numbers))}}
	}
	slices.SortFunc(k.rows, compareRows)
	return foldAxes(slices.Compact(k.rows), 0, k.axes)
}

func compareRows(a, b row) int {
	for i := range a {
		switch {
		case a[i] < b[i]:
			return -1
		case a[i] > b[i]:
			return 1
		}
	}
	return 0
}

// foldAxes folds sorted rows, which are equal before the given axis, from that axis on: numbers of this axis are joined
// if their rows are equal in the axes after it. The result is sorted by the first name in it.
func foldAxes(rows []row, axis, axes int) [][]string {
	if axis == axes-1 {
		numbers := make([]number, len(rows))
		for i, r := range rows {
			numbers[i] = r[axis]
		}
		return [][]string{{foldNumbers(numbers)}}
	}
	var behind [][]string
	var numbers [][]number // numbers on this axis, for each element of behind
	index := map[string]int{}
	for len(rows) > 0 {
		end := 1
		for end < len(rows) && rows[end][axis] == rows[0][axis] {
			end++
		}
		for _, folded := range foldAxes(rows[:end], axis+1, axes) {
			key := strings.Join(folded, " ")
			i, known := index[key]
			if !known {
				i = len(behind)
				index[key] = i
				behind, numbers = append(behind, folded), append(numbers, nil)
			}
			numbers[i] = append(numbers[i], rows[0][axis])
		}
		rows = rows[end:]
	}
	for i, folded := range behind {
		behind[i] = append([]string{foldNumbers(numbers[i])}, folded...)
	}
	return behind
}

// foldNumbers writes sorted numbers: 7, or [1-3,7,09-11].
func foldNumbers(numbers []number) string {
	if len(numbers) == 1 {
		return string(numbers[0].append(nil))
	}
	out := []byte{'['}
	for len(numbers) > 0 {
		end := 1
		for end < len(numbers) && numbers[end].follows(numbers[0], numbers[end-1]) {
			end++
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = numbers[0].append(out)
		if end > 1 {
			out = numbers[end-1].append(append(out, '-'))
		}
		numbers = numbers[end:]
	}
	return string(append(out, ']'))
}

// compareNames orders names by their texts, and by number where both have one.
func compareNames(a, b string) int {
	same := 0 // bytes at the beginning, up to a number
	for i := 0; i < min(len(a), len(b)) && a[i] == b[i]; i++ {
		if !isDigit(a[i]) {
			same = i + 1
		}
	}
	a, b = a[same:], b[same:]
	for a != "" && b != "" {
		i, j := leadingDigits(a), leadingDigits(b)
		if i > 0 && j > 0 {
			x, y := strings.TrimLeft(a[:i], "0"), strings.TrimLeft(b[:j], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y), cmp.Compare(i, j)); c != 0 {
				return c
			}
			a, b = a[i:], b[j:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func leadingDigits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}
