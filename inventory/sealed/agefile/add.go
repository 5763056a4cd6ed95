package agefile

import (
	"bytes"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/inventory/yamlpos/spans"
)

// add writes a new key with a marked value: at the end of the file, if it belongs to the map at
// its top, else before the first key of its map.
func (f *File) add(path yamlpos.Path, value string) ([]byte, error) {
	if len(path.Steps) == 0 || path.Document != 0 || f.spans.Documents > 1 {
		return nil, f.noPlace(path, "name a key of a map, in a file of one document")
	}
	if f.spans.Documents == 0 || len(f.spans.Collections) == 0 && len(f.spans.Scalars) == 0 {
		return f.append(path.Steps, value)
	}
	above, depth := f.deepest(path)
	rest := path.Steps[depth:]
	switch {
	case above == nil || !above.IsMap || slices.ContainsFunc(rest, func(s yamlpos.Step) bool { return s.Item > 0 }):
		return nil, f.noPlace(path, "write it there, marked: ccm-push secret edit "+shellquote.Join(f.Name))
	case slices.Contains(above.Keys, rest[0].Key):
		return nil, f.noPlace(path, "it contains something else: see ccm-push secret edit "+shellquote.Join(f.Name))
	}
	if depth == 0 && !above.Flow && above.Column == 1 {
		return f.append(rest, value)
	}
	flow := flowKeys(rest, value)
	switch {
	case above.First < 0: // {}
		return f.checked(path, value, spans.Change{Start: above.Start + 1, End: above.Start + 1, New: flow})
	case above.Flow:
		return f.checked(path, value, spans.Change{Start: above.First, End: above.First, New: flow + ", "})
	}
	margin := "\n" + strings.Repeat(" ", above.Column-1)
	return f.checked(path, value, spans.Change{Start: above.First, End: above.First, New: flow + margin})
}

func (f *File) noPlace(path yamlpos.Path, hint string) error {
	return &yamlpos.Error{File: f.Name, Msg: "no place for a key " + path.String(), Hint: hint}
}

// deepest returns the innermost map or list on the way to a value, and the number of steps to it.
func (f *File) deepest(path yamlpos.Path) (found *spans.Collection, depth int) {
	for i := range f.spans.Collections {
		c := &f.spans.Collections[i]
		n := len(c.Path.Steps)
		if c.Path.Document == 0 && n < len(path.Steps) && slices.Equal(c.Path.Steps, path.Steps[:n]) && (found == nil || n > depth) {
			found, depth = c, n
		}
	}
	return found, depth
}

// flowKeys returns nested keys with a value, in one line.
func flowKeys(steps []yamlpos.Step, value string) string {
	text := Marked + " " + spans.Quoted(value)
	for i, s := range slices.Backward(steps) {
		if text = spans.QuotedKey(s.Key) + ": " + text; i > 0 {
			text = "{" + text + "}"
		}
	}
	return text
}

// append writes keys at the end of the file.
func (f *File) append(steps []yamlpos.Step, value string) ([]byte, error) {
	text := bytes.Clone(f.Text)
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n')
	}
	margin := ""
	for i, s := range steps {
		text = append(text, margin+spans.QuotedKey(s.Key)+":"...)
		if margin += "  "; i < len(steps)-1 {
			text = append(text, '\n')
		}
	}
	text = append(text, " "+Marked+" V\n"...)
	path := yamlpos.Path{Steps: steps}
	after, err := Read(f.Name, f.Path, text)
	if err != nil {
		return nil, err
	}
	s, ok := after.Find(path)
	if !ok {
		return nil, f.noPlace(path, "write it there, marked: ccm-push secret edit "+shellquote.Join(f.Name))
	}
	return f.checked(path, value, spans.Change{Start: len(f.Text), End: len(f.Text), New: string(text[len(f.Text):s.Start]) + s.Written(Marked, value) + "\n"})
}

// checked makes a change and sees that all else is as before.
func (f *File) checked(path yamlpos.Path, value string, change spans.Change) ([]byte, error) {
	text := spans.Apply(f.Text, []spans.Change{change})
	wrong := f.noPlace(path, "write it there, marked: ccm-push secret edit "+shellquote.Join(f.Name))
	after, err := Read(f.Name, f.Path, text)
	if err != nil {
		return nil, wrong
	}
	if s, ok := after.Find(path); !ok || s.Value != value || s.Tag != Marked || len(after.spans.Scalars) != len(f.spans.Scalars)+1 {
		return nil, wrong
	}
	for _, s := range f.spans.Scalars {
		if same, ok := after.Find(s.Path); !ok || same.Value != s.Value || same.Tag != s.Tag {
			return nil, wrong
		}
	}
	return text, nil
}
