package render

import (
	"path"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// A Scaffold is a folder of the play whose files are templates of one language.
type Scaffold struct {
	Folder string // relative to the folder of the play
	Plain  bool   // no template: all files are copied as they are
	Go     bool   // text/template; else Jet
	Delims Delims
}

// Key distinguishes s from other scaffolds.
func (s Scaffold) Key() string {
	language := "jet"
	switch {
	case s.Plain:
		language = "none"
	case s.Go:
		language = "go"
	}
	return strings.Join([]string{s.Folder, language, s.Delims.Left, s.Delims.Right}, "\x00")
}

// below converts a path in the folder to a path in the play.
func (s Scaffold) below(name string) (string, bool) {
	clean := path.Clean(name)
	if path.IsAbs(clean) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") {
		return "", false
	}
	return path.Join(s.Folder, clean), true
}

// Part is a template of a scaffold: it has the functions render and write. Its context is the root of the values; the
// context of a partial is the argument of render.
type Part struct {
	Scaffold
	Part bool
}

// Call binds a render() to the file it names.
func (s *Part) Call(name string, pos diag.Position, in Languages) (*Call, error) {
	file, ok := s.below(name)
	if !ok {
		return nil, diag.Faultf("render: %q is not a path below %s", name, s.Folder).WithHint("write a path from the source folder")
	}
	return &Call{file: file, Scaffold: &s.Scaffold, pos: pos, languages: in}, nil
}

// ScaffoldTemplate returns a file of a scaffold, parsed; part reports that another one renders it.
func ScaffoldTemplate(f *Files, in Languages, s Scaffold, file string, part bool) (*Template, error) {
	key := "scaffold\x00" + s.Key() + "\x00" + file
	if part {
		key += "\x00part"
	}
	return KeepParsed(f, key, func() (*Template, error) {
		content, err := f.ReadOnce(file)
		switch {
		case err != nil:
			return nil, err
		case !utf8.Valid(content):
			return nil, diag.Faultf("%q is not text, so that it cannot be rendered", file)
		case s.Go:
			return in.ParseGo(string(content), diag.WholeFile(file), s.Delims, &Part{s, part})
		}
		warnOfJinja(f, file, content, s.Delims)
		return in.ParseJet(string(content), diag.WholeFile(file), s.Delims, f, &Part{s, part})
	})
}
