package edit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// A Restore restores the parts of a file that were edited, and keeps changes elsewhere in it since. It is the property
// "restore" of a resource that undoes another one; manifests do not contain it.
type Restore struct {
	// Patches lead to the same text: from the result of the last edit, and if another edit came before that, from the
	// result of that one. The first that fits is applied.
	Patches []Patch `json:"patches"`
	// Gone means that the file did not exist: it is removed if it is empty after the restore.
	Gone bool `json:"gone,omitempty"`
	// Removed is the mode of a file that the edit removed, in octal: the file is made again. Empty if the edit kept the file.
	Removed string `json:"removed,omitempty"`
	// Whole is the SHA-256 of the text that the patches lead to, if nothing else is changed in it.
	Whole string `json:"whole,omitempty"`

	made string // SHA-256 of the text that the last Check has planned
}

// A Patch is the earlier text of several places.
type Patch []Hunk

// A Hunk is one place: whole lines, with their ends. It is found by its current lines Is, between the lines Above and
// Below it.
type Hunk struct {
	Above string `json:"above,omitempty"`
	Is    string `json:"is,omitempty"`
	Was   string `json:"was,omitempty"`
	Below string `json:"below,omitempty"`
	Top   bool   `json:"top,omitempty"` // nothing is above the lines in Above
	End   bool   `json:"end,omitempty"`
	// Common are the words of Is that the text contained before. If one of its other words is found, a part of Is may
	// still be there.
	Common []string `json:"common,omitempty"`
}

// edit restores the earlier text.
func (r *Restore) edit(file string, t *Text) (Done, error) {
	want, changes, err := r.on(file, t.String())
	if err != nil || changes == nil {
		return Done{}, err
	}
	r.made = modules.TextContent(want).SHA256()
	*t = *Parse(want)
	done := Done{Action: "put the earlier text back", Changes: changes, Remove: r.Gone && want == ""}
	if line, n := r.remains(want); line != "" {
		done.Warning = fmt.Sprintf("%s:%d: this line contains removed text, and was kept: %q", file, n, Shown(line))
	}
	return done, nil
}

// on returns the restored text and the changes to it; no changes if it is restored already.
func (r *Restore) on(file, text string) (was string, changes []modules.Change, err error) {
	if sum := modules.TextContent(text).SHA256(); sum == r.Whole || sum == r.made {
		return text, nil, nil
	}
	back := false
	for _, p := range r.Patches {
		if was, fits := p.apply(text); fits {
			for _, h := range p {
				changes = append(changes, modules.Change{Property: "text", Have: Shown(h.Is), Want: Shown(h.Was)})
			}
			return was, changes, nil
		}
		back = back || r.Whole != "" && p.applied(text) // without it, Common was not noted
	}
	if !back {
		return "", nil, modules.Refuse("the file %s cannot be restored, because the lines that the run changed were changed again later", file)
	}
	return text, nil, nil
}

// apply applies a patch. It fits if each of its hunks is found once, one after the other.
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

// applied reports whether a text has all insertions of the patch, and none of its removals.
func (p Patch) applied(text string) bool {
	for _, h := range p {
		if h.Was != "" && len(h.find(text, h.Was)) == 0 || h.Is != "" && !h.gone(text) {
			return false
		}
	}
	return true
}

// gone reports whether certainly nothing of Is is in a text.
func (h *Hunk) gone(text string) bool {
	words := h.words()
	return len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

// words are the words of Is that the text did not contain before.
func (h *Hunk) words() []string {
	return slices.DeleteFunc(strings.Fields(h.Is), func(word string) bool { return slices.Contains(h.Common, word) })
}

// commonWords are the words that two texts contain, each once.
func commonWords(text, other string) (words []string) {
	for word := range strings.FieldsSeq(text) {
		if strings.Contains(other, word) && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

// tellingWord is the least length, in bytes, of a word that identifies a line.
const tellingWord = 4

// remains returns the first line that contains a removed word.
func (r *Restore) remains(text string) (line string, number int) {
	var words []string
	for _, p := range r.Patches {
		for _, h := range p {
			words = append(words, slices.DeleteFunc(h.words(), func(word string) bool { return len(word) < tellingWord })...)
		}
	}
	for one := range strings.Lines(text) {
		if number++; slices.ContainsFunc(words, func(word string) bool { return strings.Contains(one, word) }) {
			return strings.TrimSpace(one), number
		}
	}
	return "", 0
}

// find returns where the hunk begins, with middle between the lines above and below.
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

// restoring returns the file with Restore as its only edit, if set.
func (f *File) restoring() *File {
	if f.Restore == nil {
		return f
	}
	return &File{
		Path: f.Path, Edit: func(t *Text) (Done, error) { return f.Restore.edit(f.Path, t) },
		Optional: f.Restore.Gone, Missing: "the removed text cannot be put back", Discreet: f.Discreet,
		Create: f.Restore.Removed != "", Mode: f.Restore.Removed,
	}
}
