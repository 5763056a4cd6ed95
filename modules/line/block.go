package line

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// editBlock has the block in the text, or not.
func (l *Line) editBlock(t *text) (edit, error) {
	first, last, err := l.findBlock(t)
	switch {
	case err != nil:
		return edit{}, err
	case first < 0 && l.Ensure == absent:
		return edit{}, nil
	case first < 0:
		return l.addBlock(t)
	case l.Ensure == absent:
		t.lines = slices.Delete(t.lines, first, last+1)
		return edit{"removed the block", ensured(present, absent)}, nil
	}
	have := texts(t.lines[first+1 : last])
	want := l.blockLines()
	if slices.Equal(have, want) {
		return edit{}, nil
	}
	t.lines = slices.Delete(t.lines, first+1, last)
	t.insert(first+1, want...)
	return edit{"updated the block", []modules.Change{{Property: "block", Have: sum(have), Want: sum(want)}}}, nil
}

func (l *Line) addBlock(t *text) (edit, error) {
	at, err := l.place(t)
	if err != nil {
		return edit{}, err
	}
	begin, end := l.markers()
	t.insert(at, slices.Concat([]string{begin}, l.blockLines(), []string{end})...)
	return edit{"added the block", ensured(absent, present)}, nil
}

// findBlock gives the indexes of the marker lines, or -1 if there are none. What
// is not one pair in order is refused: nobody can say what belongs to the block.
func (l *Line) findBlock(t *text) (first, last int, err error) {
	begin, end := l.markers()
	begins, ends := t.all(begin), t.all(end)
	switch {
	case len(begins) == 0 && len(ends) == 0:
		return -1, -1, nil
	case len(begins) == 1 && len(ends) == 1 && begins[0] < ends[0]:
		return begins[0], ends[0], nil
	}
	file := l.file()
	switch {
	case len(begins) > 1:
		err = modules.Refuse("%s:%d: the block begins a second time (remove one of the lines %q)", file, begins[1]+1, begin)
	case len(ends) > 1:
		err = modules.Refuse("%s:%d: the block ends a second time (remove one of the lines %q)", file, ends[1]+1, end)
	case len(ends) == 0:
		err = modules.Refuse("%s:%d: the block begins here and does not end (put the line %q where it ends)", file, begins[0]+1, end)
	case len(begins) == 0:
		err = modules.Refuse("%s:%d: the block ends here and does not begin (put the line %q where it begins)", file, ends[0]+1, begin)
	default:
		err = modules.Refuse("%s:%d: the block ends here, before it begins (exchange the marker lines)", file, ends[0]+1)
	}
	return -1, -1, err
}

// sum stands for the lines of a block in a change.
func sum(lines []string) string {
	return "sha256:" + modules.TextContent(strings.Join(lines, "\n")).SHA256()
}
