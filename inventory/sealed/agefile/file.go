package agefile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"filippo.io/age"
	"github.com/kballard/go-shellquote"

	"github.com/ccm-push/ccm-push/inventory/sealed/recipients"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/inventory/yamlpos/spans"
)

// A File is a YAML file of which values are encrypted.
type File struct {
	Name   string // as errors call it
	Path   string // from the folder of .ccm-secrets.yaml, with slashes
	Text   []byte
	Header *Header // nil if nothing in it is encrypted

	spans *spans.Text
	key   *dataKey // nil while the file is locked
}

// Read reads a file. Its values stay encrypted until [File.Unlock].
func Read(name, path string, text []byte) (*File, error) {
	header, err := FindHeader(name, text)
	if err != nil {
		return nil, err
	}
	found, err := spans.Find(name, text)
	if err != nil {
		return nil, err
	}
	f := &File{Name: name, Path: path, Text: text, Header: header, spans: found}
	var errs yamlpos.Errors
	for _, s := range f.Values() {
		if header == nil {
			errs.Add(f.errorf(s, mergeHint, "%s is in a file without the header that has its key", Tag))
			break
		}
		if _, err := parseValue(s.Value); err != nil {
			errs.Add(f.errorf(s, setHint(name, s.Path), "%v", err))
		}
	}
	return f, errs.Err()
}

func setHint(name string, path yamlpos.Path) string {
	return fmt.Sprintf("%s; or set it again: ccm-push secret set %s %s", mergeHint, shellquote.Join(name), shellquote.Join(path.String()))
}

func (f *File) errorf(s spans.Scalar, hint, format string, args ...any) *yamlpos.Error {
	return &yamlpos.Error{File: f.Name, Line: s.Line, Column: s.Column, Msg: fmt.Sprintf(format, args...), Hint: hint}
}

// Values returns the encrypted values.
func (f *File) Values() []spans.Scalar {
	return slices.DeleteFunc(slices.Clone(f.spans.Scalars), func(s spans.Scalar) bool { return s.Tag != Tag })
}

// marked reports whether a value must be encrypted.
func marked(s spans.Scalar) bool { return s.Tag == Marked || s.Tag == "" && s.Around == Marked }

// Marked returns the values that are in clear and must be encrypted.
func (f *File) Marked() []spans.Scalar {
	return slices.DeleteFunc(slices.Clone(f.spans.Scalars), func(s spans.Scalar) bool { return !marked(s) })
}

// Find returns the value at a path; ok is false if there is none.
func (f *File) Find(path yamlpos.Path) (s spans.Scalar, ok bool) {
	i := slices.IndexFunc(f.spans.Scalars, func(s spans.Scalar) bool { return s.Path.String() == path.String() })
	if i < 0 {
		return spans.Scalar{}, false
	}
	return f.spans.Scalars[i], true
}

// NoValue returns the error for a path that leads to no value.
func (f *File) NoValue(path yamlpos.Path) error {
	var paths []string
	for _, s := range f.spans.Scalars {
		paths = append(paths, s.Path.String())
	}
	hint := ""
	if meant := yamlpos.Suggest(path.String(), paths); meant != "" {
		hint = `did you mean "` + meant + `"?`
	}
	for _, c := range f.spans.Collections {
		if len(path.Steps) > 0 && c.Path.String() == path.String() {
			hint = "it is a map or a list: name a value in it"
		}
	}
	return &yamlpos.Error{File: f.Name, Msg: fmt.Sprintf("unknown key %q", path), Hint: hint}
}

// Moved returns an error if the file was encrypted under another path.
func (f *File) Moved() error {
	if f.Header == nil || f.Header.File == f.Path {
		return nil
	}
	return &yamlpos.Error{
		File: f.Name, Line: f.Header.Line, Column: 1,
		Msg:  fmt.Sprintf("the values were encrypted for %s, and this is %s", f.Header.File, f.Path),
		Hint: "if the file was moved or copied on purpose: ccm-push secret rekey --moved " + shellquote.Join(f.Name),
	}
}

// Unlock opens the key of the file. The error wraps [age.NoIdentityMatchError] if none of the
// identities can read it. A file without a header has none.
func (f *File) Unlock(identities []age.Identity) error {
	if f.Header == nil || f.key != nil {
		return nil
	}
	key, err := f.Header.unwrap(identities)
	if errors.Is(err, errHeader) {
		return &yamlpos.Error{File: f.Name, Line: f.Header.Line, Column: 1, Msg: err.Error(), Hint: mergeHint}
	}
	f.key = key
	return err
}

// Value decrypts a value of an unlocked file.
func (f *File) Value(s spans.Scalar) (string, error) {
	value, err := f.key.open(f.Header.File, s.Path, s.Value)
	if err == nil {
		return value, nil
	}
	hint := setHint(f.Name, s.Path)
	msg := fmt.Sprintf("the value was not encrypted for %s", s.Path)
	if other, ok := f.sealedFor(s); ok {
		msg += ": it was encrypted for " + other.String()
		hint = "move it back; to move values use ccm-push secret edit " + shellquote.Join(f.Name)
	} else {
		msg += ": it was changed, or it was encrypted for another key or file"
	}
	return "", f.errorf(s, hint, "%s", msg)
}

// ValueAt returns [File.Value] of a text at a path.
func (f *File) ValueAt(path yamlpos.Path, text string, line, column int) (string, error) {
	return f.Value(spans.Scalar{Path: path, Value: text, Line: line, Column: column})
}

// maxTries bounds how many paths are tried for a value that is in a wrong place.
const maxTries = 5000

// sealedFor finds for which other place of the file a value was encrypted.
func (f *File) sealedFor(s spans.Scalar) (yamlpos.Path, bool) {
	tries := 0
	try := func(path yamlpos.Path) bool {
		tries++
		_, err := f.key.open(f.Header.File, path, s.Value)
		return err == nil
	}
	for _, other := range f.spans.Scalars {
		if tries < maxTries && try(other.Path) {
			return other.Path, true
		}
	}
	for i, step := range s.Path.Steps { // an item of a list that has become shorter, or longer
		for item := 1; step.Item > 0 && item < 100 && tries < maxTries; item++ {
			other := yamlpos.Path{Document: s.Path.Document, Steps: slices.Clone(s.Path.Steps)}
			if other.Steps[i].Item = item; try(other) {
				return other, true
			}
		}
	}
	return yamlpos.Path{}, false
}

// Clear returns the text of an unlocked file with its values in clear, marked as !secret, and without the header.
func (f *File) Clear() ([]byte, error) {
	var errs yamlpos.Errors
	var changes []spans.Change
	if f.Header != nil {
		changes = append(changes, spans.Change{Start: f.Header.Start, End: f.Header.End})
	}
	for _, s := range f.Values() {
		value, err := f.Value(s)
		errs.Add(err)
		changes = append(changes, spans.Change{Start: s.Start, End: s.End, New: s.Written(Marked, value)})
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return spans.Apply(f.Text, changes), nil
}

// Seal encrypts the marked values of clear, an edited version of the text from [File.Clear]. Unchanged values stay the
// same byte for byte. A file without a header gets a header for readers.
func (f *File) Seal(clear []byte, readers []recipients.Reader) ([]byte, error) {
	view, err := Read(f.Name, f.Path, clear)
	if err != nil {
		return nil, err
	}
	if err := view.checkClear(); err != nil {
		return nil, err
	}
	header, key := f.Header, f.key
	if header == nil && len(view.Marked()) > 0 {
		if header, key, err = newHeader(f.Path, readers); err != nil {
			return nil, err
		}
	}
	before, err := f.written()
	if err != nil {
		return nil, err
	}
	var changes []spans.Change
	want := map[string]string{}
	for _, s := range view.Marked() {
		path := s.Path.String()
		want[path] = s.Value
		known, text := before[path], ""
		if known.value == s.Value && known.anchor == s.Anchor && known.text != "" {
			text = known.text
		} else {
			text = s.Written(Tag, key.seal(header.File, s.Path, s.Value))
		}
		changes = append(changes, spans.Change{Start: s.Start, End: s.End, New: text})
	}
	changes = append(changes, view.untagged()...)
	text := spans.Apply(clear, changes)
	if header != nil {
		text = f.withHeader(text, header)
	}
	return text, f.verify(text, view, key, want)
}

// checkClear refuses what cannot be encrypted in a text in clear.
func (f *File) checkClear() error {
	var errs yamlpos.Errors
	if f.Header != nil {
		errs.Add(&yamlpos.Error{File: f.Name, Line: f.Header.Line, Column: 1, Msg: "the text contains a header of ccm-push secret", Hint: "remove it: ccm-push adds it again"})
	}
	seen := map[string]bool{}
	for _, s := range f.spans.Scalars {
		path := s.Path.String()
		switch {
		case s.Tag == Tag:
			errs.Add(f.errorf(s, "write "+Marked+" and the value in clear", "a value that is already encrypted cannot be written here"))
		case marked(s) && seen[path]:
			errs.Add(f.errorf(s, "remove one of them", "the key %q occurs twice", path))
		}
		seen[path] = true
	}
	return errs.Err()
}

// A former is a value as it was written in the file before.
type former struct{ value, anchor, text string }

// written returns the encrypted values of the file by their paths.
func (f *File) written() (map[string]former, error) {
	values := map[string]former{}
	for _, s := range f.Values() {
		value, err := f.Value(s)
		if err != nil {
			return nil, err
		}
		values[s.Path.String()] = former{value, s.Anchor, string(f.Text[s.Start:s.End])}
	}
	return values, nil
}

// untagged takes the mark from maps and lists, in which each value has its own now.
func (f *File) untagged() (changes []spans.Change) {
	for _, c := range f.spans.Collections {
		if c.Tag != Marked {
			continue
		}
		start, end := c.TagStart, c.TagEnd
		switch text := f.Text; {
		case end < len(text) && text[end] == ' ':
			end++
		case start > 0 && text[start-1] == ' ':
			start--
		}
		changes = append(changes, spans.Change{Start: start, End: end})
	}
	return changes
}

// withHeader puts the header at its old position if the text before it has not changed, else at the beginning.
func (f *File) withHeader(text []byte, h *Header) []byte {
	at := 0
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		at = len("\ufeff")
	}
	comment := h.Text()
	if f.Header != nil {
		comment = string(f.Text[h.Start:h.End])
		if bytes.HasPrefix(text, f.Text[:h.Start]) {
			at = h.Start
		}
	}
	return spans.Apply(text, []spans.Change{{Start: at, End: at, New: comment}})
}

// verify checks that a new text has the wanted values before it replaces the old one.
func (f *File) verify(text []byte, view *File, key *dataKey, want map[string]string) error {
	sealed, err := Read(f.Name, f.Path, text)
	if err != nil {
		return err
	}
	sealed.key = key
	wrong := &yamlpos.Error{File: f.Name, Msg: "the file could not be written without other changes", Hint: "write secrets in quotes, each on one line"}
	if len(sealed.spans.Scalars) != len(view.spans.Scalars) {
		return wrong
	}
	for i, s := range sealed.spans.Scalars {
		was := view.spans.Scalars[i]
		value, isSecret := want[s.Path.String()]
		switch {
		case s.Path.String() != was.Path.String(), isSecret != (s.Tag == Tag):
			return wrong
		case !isSecret && (s.Value != was.Value || s.Tag != was.Tag):
			return wrong
		case isSecret:
			if got, err := sealed.Value(s); err != nil || got != value {
				return wrong
			}
		}
	}
	return nil
}

// Rekey encrypts an unlocked file again, with a new key and the same path.
func (f *File) Rekey(readers []recipients.Reader) ([]byte, error) {
	header, key, err := newHeader(f.Path, readers)
	if err != nil {
		return nil, err
	}
	changes := []spans.Change{{Start: f.Header.Start, End: f.Header.End, New: header.Text()}}
	var errs yamlpos.Errors
	want := map[string]string{}
	for _, s := range f.Values() {
		value, err := f.Value(s)
		errs.Add(err)
		want[s.Path.String()] = value
		changes = append(changes, spans.Change{Start: s.Start, End: s.End, New: s.Written(Tag, key.seal(f.Path, s.Path, value))})
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	text := spans.Apply(f.Text, changes)
	return text, f.verify(text, f, key, want)
}

// Set sets the value of a key in the clear text; the file need not have the key yet.
func (f *File) Set(path yamlpos.Path, value string) (clear []byte, err error) {
	if clear, err = f.Clear(); err != nil {
		return nil, err
	}
	view, err := Read(f.Name, f.Path, clear)
	if err != nil {
		return nil, err
	}
	if s, ok := view.Find(path); ok {
		return spans.Apply(clear, []spans.Change{{Start: s.Start, End: s.End, New: s.Written(Marked, value)}}), nil
	}
	return view.add(path, value)
}
