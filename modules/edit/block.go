package edit

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// A Block is lines of a file between two marker lines, by which they are found again.
type Block struct {
	File       string // for errors
	Begin, End string
	Text       string
	Place      Place // place of a new block
}

// mark is the placeholder for BEGIN or END in a marker.
const mark = "{mark}"

// DefaultMarker is the marker of a resource without the property marker.
func DefaultMarker(name string) string { return "# " + mark + " ccm-push " + name }

// Markers are the lines around the block of a resource; marker "" is the default one.
func Markers(marker, name string) (begin, end string) {
	marker = cmp.Or(marker, DefaultMarker(name))
	return strings.ReplaceAll(marker, mark, "BEGIN"), strings.ReplaceAll(marker, mark, "END")
}

// ValidateBlock reports errors in the properties "block" and "marker" of a resource, and in its name if the markers
// contain it.
func ValidateBlock(block, marker, name string) error {
	errs := []error{modules.ValidateLine("marker", marker)}
	if strings.ContainsAny(block, "\x00\r") {
		errs = append(errs, &modules.PropertyError{Path: "block", Msg: `"block" has a NUL byte or a carriage return`, Hint: `end its lines with \n; in a file with \r\n they get that`})
	}
	if marker == "" {
		errs = append(errs, modules.ValidateLine("name", name))
	}
	begin, end := Markers(marker, name)
	lines := blockLines(block)
	switch {
	case marker != "" && !strings.Contains(marker, mark):
		errs = append(errs, &modules.PropertyError{Path: "marker", Msg: `"marker" has no ` + mark, Hint: `write a marker such as "# ` + mark + ` my block"`})
	case block != "" && (slices.Contains(lines, begin) || slices.Contains(lines, end)):
		errs = append(errs, modules.Errorf("block", `"block" has a line that is one of its markers, %q and %q`, begin, end))
	}
	return errors.Join(errs...)
}

// blockLines are the lines between the markers.
func blockLines(block string) []string {
	return strings.Split(strings.TrimSuffix(block, "\n"), "\n")
}

// Edit puts the block into a text or, if absent, removes it.
func (b *Block) Edit(t *Text, absent bool) (Done, error) {
	first, last, err := b.find(t)
	switch {
	case err != nil || absent && first < 0:
		return Done{}, err
	case absent:
		t.Replace(first, last+1)
		return Done{Action: "removed the block", Changes: Ensured("present", "absent")}, nil
	case first < 0:
		return b.add(t)
	}
	have, want := texts(t.Lines[first+1:last]), blockLines(b.Text)
	if slices.Equal(have, want) {
		return Done{}, nil
	}
	t.Replace(first+1, last, want...)
	return Done{Action: "updated the block", Changes: []modules.Change{{Property: "block", Have: sum(have), Want: sum(want)}}}, nil
}

func (b *Block) add(t *Text) (Done, error) {
	at, err := b.Place.In(t)
	if err != nil {
		return Done{}, err
	}
	t.Insert(at, slices.Concat([]string{b.Begin}, blockLines(b.Text), []string{b.End})...)
	return Done{Action: "added the block", Changes: Ensured("absent", "present")}, nil
}

// find returns the indexes of the marker lines, or -1. It refuses markers that are not one pair in order, since the
// extent of the block is unclear then.
func (b *Block) find(t *Text) (first, last int, err error) {
	begins, ends := t.All(b.Begin), t.All(b.End)
	switch {
	case len(begins) == 0 && len(ends) == 0:
		return -1, -1, nil
	case len(begins) == 1 && len(ends) == 1 && begins[0] < ends[0]:
		return begins[0], ends[0], nil
	}
	switch {
	case len(begins) > 1:
		err = modules.Refuse("%s:%d: the block begins a second time (remove one of the lines %q)", b.File, begins[1]+1, b.Begin)
	case len(ends) > 1:
		err = modules.Refuse("%s:%d: the block ends a second time (remove one of the lines %q)", b.File, ends[1]+1, b.End)
	case len(ends) == 0:
		err = modules.Refuse("%s:%d: the block that begins here has no end (add the line %q after its last line)", b.File, begins[0]+1, b.End)
	case len(begins) == 0:
		err = modules.Refuse("%s:%d: the block that ends here has no beginning (add the line %q before its first line)", b.File, ends[0]+1, b.Begin)
	default:
		err = modules.Refuse("%s:%d: the block ends here, before it begins (exchange the marker lines)", b.File, ends[0]+1)
	}
	return -1, -1, err
}

// texts are the texts of lines.
func texts(lines []Line) []string {
	var all []string
	for _, line := range lines {
		all = append(all, line.Text)
	}
	return all
}

// Ensured is the change of the property ensure.
func Ensured(have, want string) []modules.Change {
	return []modules.Change{{Property: "ensure", Have: have, Want: want}}
}

// sum represents the lines of a block in a change.
func sum(lines []string) string {
	return "sha256:" + modules.TextContent(strings.Join(lines, "\n")).SHA256()
}

// maxShown is how many bytes of a line a change shows.
const maxShown = 200

// Shown is a line for a change.
func Shown(line string) string {
	if len(line) > maxShown {
		line = line[:maxShown] + "…"
	}
	return strings.ToValidUTF8(line, "\uFFFD")
}
