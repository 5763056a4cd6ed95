package fcontext

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/semanage"
)

// A Fcontext is the label of files whose paths match. The host stores it in addition to the labels of the policy.
type Fcontext struct {
	Name       string   `json:"name" text:"argument" required:"true" looks:"^[^\\s'\"]+$" doc:"a regular expression of whole paths, such as /srv/web(/.*)?; something else if target has it"`
	Ensure     string   `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"absent: files have only the label from the policy"`
	Target     string   `json:"target,omitempty" looks:"^/[^\\s'\"]*$" doc:"the regular expression, where the resource is called otherwise; default: name"`
	Ftype      string   `json:"ftype,omitempty" enum:"a,f,d,c,b,s,p,l" default:"a" doc:"of which files: all of them, regular files, directories, character or block devices, sockets, pipes, or symbolic links"`
	Type       string   `json:"type,omitempty" text:"argument" doc:"their type, such as httpd_sys_content_t; <<none>>: their labels stay unchanged; required unless absent"`
	User       string   `json:"user,omitempty" text:"argument" looks:"^[A-Za-z0-9_.-]+$" doc:"their SELinux user; default: unchanged; system_u for a new entry"`
	Range      string   `json:"range,omitempty" text:"argument" looks:"^[A-Za-z0-9:.,-]+$" doc:"their levels; default: unchanged; s0 for a new entry"`
	Restorecon []string `json:"restorecon,omitempty" doc:"absolute paths of files and directories to relabel at once, with everything below them, if SELinux runs; other existing files keep their label"`
}

const (
	present = "present"
	absent  = "absent"

	store = "file_contexts.local"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "fcontext",
		Doc: "Keeps the label that SELinux gives to files by their paths. Files that are there already get it with restorecon: " +
			"here, or at the next relabeling of the host.",
		New: func() modules.Resource { return new(Fcontext) },
	}
}

// Requires implements [modules.Requirer].
func (f *Fcontext) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

var (
	targetShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^/[^\s'"]*$`) })
	wordShape   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]+$`) })
	rangeShape  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9:.,-]+$`) })
)

// Validate implements [modules.Resource].
func (f *Fcontext) Validate() error {
	var errs []error
	property := "name"
	if f.Target != "" {
		property = "target"
	}
	if is := f.target(); is != "" && !targetShape().MatchString(is) {
		errs = append(errs, &modules.PropertyError{
			Path: property, Msg: fmt.Sprintf("%q is not a valid regular expression for paths: it must begin with a slash, and have no spaces or quotes", is), Hint: "write one such as /srv/web(/.*)?",
		})
	}
	switch {
	case f.Type == "" && f.Ensure != absent:
		errs = append(errs, &modules.PropertyError{Path: "type", Msg: `"type" cannot be empty`, Hint: "write one such as httpd_sys_content_t; semanage fcontext -l lists them"})
	case f.Type != "" && f.Type != semanage.None && !wordShape().MatchString(f.Type):
		errs = append(errs, modules.Errorf("type", "%q is not an SELinux type", f.Type))
	case f.Type == semanage.None && f.User+f.Range != "":
		errs = append(errs, modules.Errorf("type", "%s has neither user nor range", semanage.None))
	}
	if f.User != "" && !wordShape().MatchString(f.User) {
		errs = append(errs, modules.Errorf("user", "%q is not an SELinux user", f.User))
	}
	if f.Range != "" && !rangeShape().MatchString(f.Range) {
		errs = append(errs, modules.Errorf("range", "%q is not a range of levels", f.Range))
	}
	for i, at := range f.Restorecon {
		errs = append(errs, modules.ValidatePath(fmt.Sprintf("restorecon[%d]", i), at))
	}
	return errors.Join(errs...)
}

func (f *Fcontext) target() string { return cmp.Or(f.Target, f.Name) }

func (f *Fcontext) ftype() string { return cmp.Or(f.Ftype, "a") }

// key is the store's key of a record.
func (f *Fcontext) key() string { return f.ftype() + " " + f.target() }

// parse reads a line of the store: a path, a file kind such as -- or -d unless it is for all kinds, and a label.
func parse(line string) (key string, label semanage.Context, ok bool) {
	words := strings.Fields(line)
	ftype := "a"
	const labelled, ofKind = 2, 3
	switch len(words) {
	case ofKind:
		if ftype = strings.TrimPrefix(words[1], "-"); ftype == "-" {
			ftype = "f"
		}
	case labelled:
	default:
		return "", semanage.Context{}, false
	}
	return ftype + " " + words[0], semanage.ParseContext(words[len(words)-1]), true
}
