package line

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/modules"
)

// Subject implements [modules.Reverser]: the line or block as a part of the file.
func (l *Line) Subject() string {
	part := l.Regexp
	if l.hasBlock() {
		part, _ = l.markers()
	} else if part == "" {
		part = l.Line
	}
	return l.file() + "\n" + part
}

// Reversal implements [modules.Reverser]. It tries what could undo the edit on the text
// that there is: what does not give back every byte of that is no reversal.
func (l *Line) Reversal(_ context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	at, err := h.Files.Stat(l.file())
	switch {
	case modules.NotThere(err):
		return nil, modules.Refuse("%s is not there, and a line resource cannot remove it again; make it with a file resource", l.file())
	case err != nil:
		return nil, modules.PermissionRefusal(err)
	case at.Mode != at.Mode.Perm():
		return nil, modules.Refuse("%s has mode %s, of which only the bits 0777 stay", l.file(), modules.FormatMode(at.Mode))
	case at.Links > 1:
		return nil, modules.Refuse("%s has %d names (hard links), and only this one would be changed and come back", l.file(), at.Links)
	}
	if at.Kind == modules.Symlink {
		if at, err = modules.Follow(h.Files, l.file()); err != nil {
			return nil, modules.PermissionRefusal(err)
		}
	}
	before, err := l.read(h.Files, at)
	if err != nil {
		return nil, modules.PermissionRefusal(err)
	}
	t := parse(before)
	was := slices.Clone(t.lines)
	if _, err := l.edit(t); err != nil {
		return nil, err
	}
	after := t.String()
	if k, ok := kept.(*Line); ok {
		return l.furtherBack(k, before, after)
	}
	for _, back := range l.candidates(was, t.lines) {
		if again, err := back.on(after); err == nil && again == before && back.valid() {
			return back.properties(), nil
		}
	}
	return nil, modules.Refuse("what stands in %s cannot be brought back by one line or block, at its place", l.file())
}

// furtherBack gives what brings back the same as kept, also after another line has been
// put there under the same name.
func (l *Line) furtherBack(kept *Line, before, after string) (map[string]any, error) {
	want, err := kept.on(before)
	if err != nil {
		return nil, err
	}
	both := *kept
	both.Regexp = "^" + regexp.QuoteMeta(l.Line) + "$"
	switch {
	case kept.Regexp != "":
		both.Regexp = kept.Regexp + "|" + both.Regexp
	case kept.Ensure == absent:
		both.Regexp = "^" + regexp.QuoteMeta(kept.Line) + "$|" + both.Regexp
	}
	if both.Ensure == absent {
		both.Line = ""
	}
	for _, back := range []*Line{kept, &both} {
		again, err := back.on(after)
		same, err2 := back.on(before)
		if kept.file() != l.file() || err != nil || err2 != nil || again != want || same != want || !back.valid() {
			continue
		}
		if back == kept {
			return nil, nil
		}
		return back.properties(), nil
	}
	return nil, modules.Refuse("what stood in %s before could not be brought back after that; write a new resource with another name, and let this one leave first", l.file())
}

// on gives a text with the line or block in it, or not.
func (l *Line) on(file string) (string, error) {
	t := parse(file)
	_, err := l.edit(t)
	return t.String(), err
}

// candidates are resources that may undo an edit: it has made one run of lines of
// another.
func (l *Line) candidates(was, is []textLine) []*Line {
	first := 0
	for first < len(was) && first < len(is) && was[first] == is[first] {
		first++
	}
	tail := 0
	for tail < len(was)-first && tail < len(is)-first && was[len(was)-1-tail] == is[len(is)-1-tail] {
		tail++
	}
	gone := texts(was[first : len(was)-tail])
	base := Line{Name: l.Name, Path: l.Path, Ensure: present}
	if l.hasBlock() {
		return l.blockCandidates(base, was, gone, first)
	}
	var all []*Line
	if removed := base; len(gone) == 0 {
		removed.Ensure, removed.Line = absent, l.Line
		all = append(all, &removed)
	}
	if len(gone) != 1 {
		return all
	}
	replaced := base
	replaced.Line, replaced.Regexp = gone[0], "^"+regexp.QuoteMeta(l.Line)+"$"
	all = append(all, &replaced)
	base.Line = gone[0]
	return append(all, placed(base, was, first)...)
}

func (l *Line) blockCandidates(base Line, was []textLine, gone []string, first int) []*Line {
	base.Marker = l.marker()
	begin, _ := l.markers()
	removed, removedOrChanged := base, base
	removed.Ensure = absent
	from, to, err := l.findBlock(&text{lines: was})
	if err != nil || to-from < 2 { // there was none, or an empty one
		return []*Line{&removed}
	}
	removedOrChanged.Block = strings.Join(texts(was[from+1:to]), "\n")
	if len(gone) > 0 && gone[0] != begin {
		first = 0 // the markers stay
	}
	return append([]*Line{&removedOrChanged}, placed(removedOrChanged, was, first)...)
}

// placed are a resource that stands at each place that can be told of: the beginning,
// the end, behind the line that was before it.
func placed(base Line, was []textLine, first int) []*Line {
	top, bottom := base, base
	top.After, bottom.After = "BOF", "EOF"
	all := []*Line{&top, &bottom}
	if first > 0 {
		behind := base
		behind.After = "^" + regexp.QuoteMeta(was[first-1].text) + "$"
		all = append(all, &behind)
	}
	return all
}

func texts(lines []textLine) []string {
	var all []string
	for _, line := range lines {
		all = append(all, line.text)
	}
	return all
}

// valid reports whether the resource can be written down and read again.
func (l *Line) valid() bool {
	for _, text := range []string{l.Line, l.Regexp, l.Block, l.Marker, l.After} {
		if !utf8.ValidString(text) {
			return false
		}
	}
	return l.Validate() == nil
}

// properties are those that are given, but for the name.
func (l *Line) properties() map[string]any {
	all := map[string]any{"ensure": l.Ensure}
	for name, text := range map[string]string{
		"path": l.Path, "line": l.Line, "regexp": l.Regexp, "block": l.Block, "marker": l.Marker, "after": l.After,
	} {
		if text != "" {
			all[name] = text
		}
	}
	return all
}
