package render

import (
	"path"
	"strings"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// Part is a template of a scaffold: it has the functions render and write,
// and its context is the root of the values or, of a part, whatever it is given.
type Part struct {
	Scaffold
	Part bool
}

// Call binds a render() to the file that it names.
func (s *Part) Call(name string, pos diag.Position, in Languages) (*Call, error) {
	file, ok := s.below(name)
	if !ok {
		return nil, diag.Faultf("render: %q is not a path below %s", name, s.Folder).WithHint("write a path from the source folder")
	}
	return &Call{file: file, Scaffold: &s.Scaffold, pos: pos, languages: in}, nil
}

// A Scaffold is a folder of the play whose files are templates of one language.
type Scaffold struct {
	Folder string // relative to the folder of the play
	Go     bool   // text/template; else Jet
	Delims Delims
}

// Key tells s from other scaffolds.
func (s Scaffold) Key() string {
	language := "jet"
	if s.Go {
		language = "go"
	}
	return strings.Join([]string{s.Folder, language, s.Delims.Left, s.Delims.Right}, "\x00")
}

// below gives the path in the play of a path of the folder.
func (s Scaffold) below(name string) (string, bool) {
	clean := path.Clean(name)
	if path.IsAbs(clean) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") {
		return "", false
	}
	return path.Join(s.Folder, clean), true
}
