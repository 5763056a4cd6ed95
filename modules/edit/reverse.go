package edit

import (
	"cmp"
	"strings"
	"unicode/utf8"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/ccm-push/ccm-push/modules"
)

// Reversal is the Reversal of a [modules.Reverser] that edits the file, with properties "path" and "restore". kept is
// the restore of the stored resource, or nil.
func (f *File) Reversal(h modules.Host, kept *Restore) (map[string]any, error) {
	r, err := f.reversal(h, kept)
	if err != nil || r == nil {
		return nil, err
	}
	return map[string]any{"path": f.Path, "restore": r}, nil
}

func (f *File) reversal(h modules.Host, kept *Restore) (*Restore, error) {
	have, at, err := f.Read(h.Files)
	switch {
	case err != nil:
		return nil, err
	case at.Mode != at.Mode.Perm():
		return nil, modules.Refuse("%s has mode %s: a change would keep only the bits 0777", f.Path, modules.FormatMode(at.Mode))
	case at.Links > 1:
		return nil, modules.Refuse("the file %s has %d names (hard links), and the change would affect only this name", f.Path, at.Links)
	}
	t := Parse(have)
	done, err := f.restoring().Edit(t)
	if err != nil {
		return nil, err
	}
	want, will := have, t.String()
	r := &Restore{Gone: at.Kind == modules.Absent, Whole: modules.TextContent(want).SHA256()}
	if done.Remove {
		will, r.Removed = "", modules.FormatMode(at.Mode)
	}
	if kept != nil {
		r.Gone, r.Whole, r.Removed = kept.Gone, kept.Whole, cmp.Or(kept.Removed, r.Removed)
		if want, _, err = kept.on(f.Path, have); err != nil {
			return nil, err
		}
		if kept.leads(f.Path, want, will) {
			return nil, nil
		}
	}
	// As few lines as possible identify the places: more lines would conflict with more changes of others.
	for _, around := range [][2]int{{}, {1, 0}, {0, 1}, {1, 1}, {2, 2}, {5, 5}, {30, 30}} {
		r.Patches = []Patch{patch(will, want, around)}
		if kept != nil { // the other patch is needed only by a run that ended before its edit, so nothing has changed since
			r.Patches = append(r.Patches, patch(have, want, [2]int{5, 5}))
		}
		r.findCommon(want)
		if r.leads(f.Path, want, will, have, want) {
			return r, r.fits(f.Path)
		}
	}
	return nil, modules.Refuse("the file %s has too many equal lines, so the place of the changed lines cannot be recorded", f.Path)
}

// findCommon notes the words that the hunks share with the text before.
func (r *Restore) findCommon(before string) {
	for _, p := range r.Patches {
		for i := range p {
			p[i].Common = commonWords(p[i].Is, before)
		}
	}
}

// leads reports whether all texts are brought back to one.
func (r *Restore) leads(file, to string, texts ...string) bool {
	for _, text := range texts {
		if back, _, err := r.on(file, text); err != nil || back != to {
			return false
		}
	}
	return true
}

// fits refuses a restore that cannot be stored: it is not UTF-8, or too large.
func (r *Restore) fits(file string) error {
	size := 0
	for _, p := range r.Patches {
		for _, h := range p {
			text := h.Above + h.Is + h.Was + h.Below + strings.Join(h.Common, "")
			if size += len(text); !utf8.ValidString(text) {
				return modules.Refuse("the changed lines of %s are not UTF-8, so they cannot be kept", file)
			}
		}
	}
	if size > modules.MaxKept {
		return modules.Refuse("the changed lines of the file %s are larger than %d KiB, so the host cannot store them", file, modules.MaxKept>>10)
	}
	return nil
}

// patch leads from one text to another. Its hunks have so many lines above and below them.
func patch(from, to string, around [2]int) Patch {
	var all Patch
	end := -1 // end of the last hunk with the lines below it
	start := 0
	for _, e := range udiff.Lines(from, to) {
		above, top := up(from, e.Start, around[0])
		if all != nil && above <= end { // one with the last hunk
			last := &all[len(all)-1]
			gap := from[start:e.Start]
			last.Is += gap + from[e.Start:e.End]
			last.Was += gap + e.New
		} else {
			all = append(all, Hunk{Above: from[above:e.Start], Is: from[e.Start:e.End], Was: e.New, Top: top})
		}
		last := &all[len(all)-1]
		start = e.End
		end, last.End = down(from, e.End, around[1])
		last.Below = from[e.End:end]
	}
	return all
}

// up is the start of the given number of lines above a place. beyond means that there are fewer.
func up(text string, at, lines int) (start int, beyond bool) {
	for range lines {
		if at == 0 {
			return 0, true
		}
		at = strings.LastIndexByte(text[:at-1], '\n') + 1
	}
	return at, false
}

// down is the end of the given number of lines below a place. beyond means that there are fewer.
func down(text string, at, lines int) (end int, beyond bool) {
	for range lines {
		if at == len(text) {
			return at, true
		}
		if next := strings.IndexByte(text[at:], '\n'); next >= 0 {
			at += next + 1
		} else {
			at = len(text)
		}
	}
	return at, false
}
