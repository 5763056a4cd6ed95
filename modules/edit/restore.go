package edit

import (
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// A Restore puts back what stood in a file before it was edited, and leaves alone what has been
// changed elsewhere in it since. It is the property "restore" of a resource that undoes another
// one; nobody writes it.
type Restore struct {
	// Patches lead to the same text: from what the last edit has made, and where another edit came
	// before that, from what that one had made. The first that fits is carried out.
	Patches []Patch `json:"patches"`
	// Gone says that there was no file: it is removed if nothing else is in it.
	Gone bool `json:"gone,omitempty"`
}

// A Patch is what there was in several places of a text.
type Patch []Hunk

// A Hunk is one such place: whole lines, with their ends. It is found by the lines that Is,
// between those that are Above and Below it.
type Hunk struct {
	Above string `json:"above,omitempty"`
	Is    string `json:"is,omitempty"`
	Was   string `json:"was,omitempty"`
	Below string `json:"below,omitempty"`
	Top   bool   `json:"top,omitempty"` // nothing is above those above
	End   bool   `json:"end,omitempty"`
}

// edit puts back what was there.
func (r *Restore) edit(file string, t *Text) (Done, error) {
	want, changes, err := r.on(file, t.String())
	if err != nil || changes == nil {
		return Done{}, err
	}
	*t = *Parse(want)
	return Done{Action: "put back what was there before", Changes: changes, Remove: r.Gone && want == ""}, nil
}

// on gives a text with what was there before; no changes if it has that already.
func (r *Restore) on(file, text string) (was string, changes []modules.Change, err error) {
	back := false
	for _, p := range r.Patches {
		if was, fits := p.apply(text); fits {
			for _, h := range p {
				changes = append(changes, modules.Change{Property: "text", Have: Shown(h.Is), Want: Shown(h.Was)})
			}
			return was, changes, nil
		}
		back = back || p.applied(text)
	}
	if !back {
		return "", nil, modules.Refuse("%s is left as it is: what was changed in it has been changed since by somebody else", file)
	}
	return text, nil, nil
}

// apply carries out a patch that fits: each of its hunks is found once, one behind the other.
func (p Patch) apply(text string) (string, bool) {
	var was strings.Builder
	done := 0
	for _, h := range p {
		at := h.find(text, h.Is)
		there := h.Is == "" && len(h.find(text, h.Was)) > 0
		if len(at) != 1 || there || at[0]+len(h.Above) < done {
			return "", false
		}
		from := at[0] + len(h.Above)
		was.WriteString(text[done:from] + h.Was)
		done = from + len(h.Is)
	}
	return was.String() + text[done:], true
}

// applied reports whether a text has what the patch puts there.
func (p Patch) applied(text string) bool {
	for _, h := range p {
		if len(h.find(text, h.Was)) == 0 {
			return false
		}
	}
	return true
}

// find gives where the hunk begins, with middle between what is above and below.
func (h *Hunk) find(text, middle string) []int {
	var at []int
	lines := h.Above + middle + h.Below
	for i := 0; i <= len(text); {
		whole := lines == "" || strings.HasSuffix(lines, "\n")
		ends := i+len(lines) == len(text)
		if strings.HasPrefix(text[i:], lines) && (whole || ends) && (!h.Top || i == 0) && (!h.End || ends) {
			at = append(at, i)
		}
		next := strings.IndexByte(text[i:], '\n')
		if next < 0 {
			break
		}
		i += next + 1
	}
	return at
}

// restoring is the file with what is to be done: where Restore is, that.
func (f *File) restoring() *File {
	if f.Restore == nil {
		return f
	}
	return &File{
		Path: f.Path, Edit: func(t *Text) (Done, error) { return f.Restore.edit(f.Path, t) },
		Optional: f.Restore.Gone, Missing: "what was in it cannot be put back", Discreet: f.Discreet,
	}
}
