package scaffold

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	shellquote "github.com/kballard/go-shellquote"

	"github.com/ccm-push/ccm-push/modules"
)

// A Scaffold is a directory and the folder of templates that fills it. It behaves like CCM's scaffold resource, with
// intended exceptions:
//   - templates are rendered once per host and run, by the controller;
//   - post commands run only for files that change, never in a check run;
//   - symbolic links and the modes of files come from the source, too;
//   - a file that is not text is copied unchanged;
//   - purge removes the directories that become empty;
//   - nothing is written or removed through a symbolic link in the target.
type Scaffold struct {
	Name           string              `json:"name" required:"true" looks:"^/(([^/.][^/]*|[.][^/.][^/]*|[.][.][^/]+)(/([^/.][^/]*|[.][^/.][^/]*|[.][.][^/]+))*)?$" doc:"absolute path of the target directory, without . or .. elements"`
	Ensure         string              `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"absent: the files are removed, then empty directories"`
	Source         string              `json:"source,omitempty" file:"tree" doc:"folder of templates (engine none: of files) next to the manifest"`
	Engine         string              `json:"engine,omitempty" enum:"jet,go,none" default:"jet" doc:"template language; none: copy the files"`
	LeftDelimiter  string              `json:"left_delimiter,omitempty" doc:"opening delimiter; default: [[ for jet, {{ for go"`
	RightDelimiter string              `json:"right_delimiter,omitempty" doc:"closing delimiter; needed with left_delimiter"`
	SkipEmpty      bool                `json:"skip_empty,omitempty" doc:"skip files that render to white space"`
	Purge          bool                `json:"purge,omitempty" doc:"remove files of the target that the source lacks"`
	Data           map[string]any      `json:"data,omitempty" doc:"map in place of the play's data; keys may be expressions"`
	Post           []map[string]string `json:"post,omitempty" doc:"commands that check a changed file before it is put in place: GLOB of the base name: COMMAND, with {} for the path"`
	Owner          string              `json:"owner,omitempty" doc:"name or id of the owner; default: unchanged; new files: user of the play"`
	Group          string              `json:"group,omitempty" doc:"name or id of the group; default: as for owner"`
	Tree           *modules.Tree       `json:"tree,omitempty" wire:"only"`
}

// The values of ensure.
const (
	present = "present"
	absent  = "absent"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "scaffold",
		Doc:  "Writes the files of a directory from a folder of templates, which the controller renders.",
		New:  func() modules.Resource { return new(Scaffold) },
	}
}

// Requires implements [modules.Requirer].
func (s *Scaffold) Requires() modules.Requirements {
	return modules.Requirements{Tree: &modules.TreeUse{
		Request: s.request(),
		From:    []string{"source", "engine", "left_delimiter", "right_delimiter"},
		Data:    "data",
	}}
}

func (s *Scaffold) request() modules.TreeRequest {
	return modules.TreeRequest{
		Source: s.Source, Engine: s.Engine, Left: s.LeftDelimiter, Right: s.RightDelimiter, SkipEmpty: s.SkipEmpty,
	}
}

// Prepare implements [modules.Preparer]: on the wire there is the tree, and not its templates.
func (s *Scaffold) Prepare(ctx context.Context, src modules.Source) error {
	if s.Source == "" || s.Tree != nil || s.delimiters() != nil {
		return nil // Validate reports it
	}
	if src.Tree == nil {
		return &modules.PropertyError{
			Path: "source",
			Msg:  "no controller to render the templates of the source",
			Hint: `pass the rendered files as "tree"`,
		}
	}
	request := s.request()
	request.Data = s.Data
	tree, err := src.Tree(ctx, request)
	if err != nil {
		return err
	}
	s.Tree = tree
	s.Source, s.Engine, s.LeftDelimiter, s.RightDelimiter, s.SkipEmpty, s.Data = "", "", "", "", false, nil
	return nil
}

// Validate implements [modules.Resource].
func (s *Scaffold) Validate() error {
	errs := []error{s.validateName(), s.delimiters(), s.validateTree()}
	if s.Purge && s.Name == "/" {
		errs = append(errs, modules.Errorf("purge", "the root directory cannot be purged"))
	}
	for i, entry := range s.Post {
		errs = append(errs, validatePost(fmt.Sprintf("post[%d]", i), entry))
	}
	return errors.Join(errs...)
}

func (s *Scaffold) validateName() error {
	switch {
	case s.Name == "": // the tag reports it
		return nil
	case strings.ContainsRune(s.Name, 0):
		return modules.Errorf("name", `"name" must not contain a NUL byte`)
	case !path.IsAbs(s.Name):
		return modules.Errorf("name", `"name" must be an absolute path`)
	case path.Clean(s.Name) != s.Name:
		return &modules.PropertyError{Path: "name", Msg: `"name" must be a canonical path`, Hint: "write " + path.Clean(s.Name)}
	}
	return nil
}

func (s *Scaffold) delimiters() error {
	switch {
	case s.Engine == "none" && s.LeftDelimiter+s.RightDelimiter != "":
		return modules.Errorf("engine", "files that are copied as they are have no delimiters")
	case s.LeftDelimiter == "" && s.RightDelimiter != "":
		return modules.Errorf("left_delimiter", `"left_delimiter" must be given together with "right_delimiter"`)
	case s.RightDelimiter == "" && s.LeftDelimiter != "":
		return modules.Errorf("right_delimiter", `"right_delimiter" must be given together with "left_delimiter"`)
	case s.LeftDelimiter != "" && s.LeftDelimiter == s.RightDelimiter:
		return modules.Errorf("right_delimiter", `"right_delimiter" must differ from "left_delimiter"`)
	}
	return nil
}

func (s *Scaffold) validateTree() error {
	switch {
	case s.Tree == nil && s.Source == "":
		return modules.Errorf("source", `"source" cannot be empty`)
	case s.Tree == nil:
		return nil
	}
	if err := s.Tree.Validate(); err != nil {
		return modules.Errorf("source", "%v", err)
	}
	return nil
}

func validatePost(at string, entry map[string]string) error {
	if len(entry) != 1 {
		return &modules.PropertyError{Path: at, Msg: fmt.Sprintf(`"post" has %d globs in one list item`, len(entry)), Hint: `write each with its own dash: - "*.sh": COMMAND`}
	}
	for glob, command := range entry {
		if glob == "" {
			return modules.Errorf(at, `a key of "post" cannot be empty`)
		}
		if _, err := path.Match(glob, ""); err != nil || strings.Contains(glob, "/") {
			return &modules.PropertyError{Path: at, Msg: fmt.Sprintf(`the key %q under "post" is not a valid pattern for file names`, glob), Hint: `write a file name or a pattern such as "*.sh", without a folder`}
		}
		words, err := shellquote.Split(command)
		switch {
		case strings.TrimSpace(command) == "":
			return modules.Errorf(at, `the value of the key %q in "post" cannot be empty`, glob)
		case err != nil:
			return &modules.PropertyError{Path: at, Msg: fmt.Sprintf(`the value of the key %q in "post": %s`, glob, strings.ToLower(err.Error())), Hint: modules.QuoteHint(err)}
		case len(words) == 0 || words[0] == "" || strings.ContainsRune(command, 0):
			return modules.Errorf(at, `the value of the key %q in "post" is not a command`, glob)
		}
	}
	return nil
}
