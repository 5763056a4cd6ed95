package dsc

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/dsc/expr"
	"github.com/ccm-push/ccm-push/modules/dsc/manifest"
	"github.com/ccm-push/ccm-push/modules/process"
)

// found is a resource, ready to be run.
type found struct {
	run  *manifest.Manifest // whose operations are called: the adapter's if it is adapted
	as   *manifest.Manifest // what the instance is of
	own  *ownResource       // answers instead, if it is one of those that need no program
	file string             // the manifest of as, on the host
	dir  string             // of the manifest of run: the working directory
	path string             // colon list of where its programs are looked for
}

// located is a manifest and where it is on the host.
type located struct {
	*manifest.Manifest
	file string
}

// search finds manifests on a host.
type search struct {
	*DSC
	h       modules.Host
	rejects []Reject
	others  []string // versions that are out of range
	known   []string // types that there are
	skipped []string // files whose condition is false
	looked  []string // directories
	unsafe  []error  // why others are not looked into
}

// find looks for the resource: in the play's folder, among those that need no
// program, and on the host. The newest version that will do is taken.
func (d *DSC) find(ctx context.Context, h modules.Host) (*found, error) {
	s := &search{DSC: d, h: h}
	for _, r := range d.Rejected {
		s.rejects = append(s.rejects, Reject{File: "resources/" + r.File, Type: r.Type, Reason: r.Reason})
	}
	bundled, err := s.bundled(ctx)
	if err != nil {
		return nil, err
	}
	if f, err := s.choose(ctx, bundled); f != nil || err != nil {
		return f, err
	}
	if own := ownResourceOf(d.TypeName); own != nil && d.Adapter == "" {
		return &found{own: own, as: own.manifest, run: own.manifest}, nil
	}
	installed, err := s.installed(ctx)
	if err != nil {
		return nil, err
	}
	if f, err := s.choose(ctx, installed); f != nil || err != nil {
		return f, err
	}
	if f, err := s.listed(ctx, append(bundled, installed...)); f != nil || err != nil {
		return f, err
	}
	return nil, s.notFound()
}

// bundled are the manifests of the play's folder that were sent with the instance.
func (s *search) bundled(ctx context.Context) ([]located, error) {
	if len(s.Candidates) == 0 {
		return nil, nil
	}
	if s.h.Resources == nil {
		return nil, modules.Refuse("there is no folder resources/ here")
	}
	dir, err := s.h.Resources(ctx)
	if err != nil {
		return nil, fmt.Errorf("resources/: %w", err)
	}
	if dir == "" {
		return nil, modules.Refuse("the folder resources/ has not come with the catalog")
	}
	var all []located
	for _, c := range s.Candidates {
		all = append(all, located{c.Manifest, path.Join(dir, path.Clean("/"+c.File))})
	}
	return all, nil
}

// choose takes the newest manifest of the type, with its adapter if it has one; nil
// if there is none that will do.
func (s *search) choose(ctx context.Context, all []located) (*found, error) {
	fitting, err := s.fitting(ctx, all)
	if err != nil || len(fitting) == 0 {
		return nil, err
	}
	if first := fitting[0]; !first.Adapted() {
		return s.found(first, first), nil
	}
	for _, l := range fitting {
		adapter, err := s.adapter(ctx, l, all)
		if err != nil {
			return nil, err
		}
		if adapter != nil {
			return s.found(*adapter, l), nil
		}
	}
	return nil, modules.Refuse("%s (%s) needs the adapter %s, which is not found", fitting[0].Type, fitting[0].file, fitting[0].RequireAdapter)
}

// found puts a resource together.
func (s *search) found(run, as located) *found {
	dirs := safePath(s.h)
	for _, l := range []located{run, as} {
		if dir := path.Dir(l.file); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	f := &found{run: run.Manifest, as: as.Manifest, file: as.file, dir: path.Dir(run.file), path: strings.Join(dirs, ":")}
	if as.Adapted() && as.Path != "" {
		f.file = as.Path
		if !path.IsAbs(f.file) {
			f.file = path.Join(path.Dir(as.file), f.file)
		}
	}
	return f
}

// fitting are the manifests of the type that will do, the newest first.
func (s *search) fitting(ctx context.Context, all []located) ([]located, error) {
	within, err := manifest.ParseRange(s.Version)
	if err != nil {
		return nil, err
	}
	var list []located
	for _, l := range all {
		s.known = append(s.known, l.Type)
		if !l.Is(s.TypeName) || s.Adapter != "" && !strings.EqualFold(s.Adapter, l.RequireAdapter) {
			continue
		}
		if v, err := manifest.ParseVersion(l.Version); err != nil || !within.Has(v) {
			s.others = append(s.others, l.Version)
			continue
		}
		switch ok, err := s.applies(ctx, l); {
		case err != nil:
			return nil, err
		case ok:
			list = append(list, l)
		default:
			s.skipped = append(s.skipped, l.file)
		}
	}
	slices.SortStableFunc(list, func(a, b located) int { return newer(a.Version, b.Version) })
	return list, nil
}

// newer sorts the newer of two versions first.
func newer(a, b string) int {
	v, errA := manifest.ParseVersion(a)
	w, errB := manifest.ParseVersion(b)
	if errA != nil || errB != nil {
		return strings.Compare(b, a)
	}
	return w.Compare(v)
}

// applies evaluates the condition of a manifest.
func (s *search) applies(ctx context.Context, l located) (bool, error) {
	if l.Condition == "" {
		return true, nil
	}
	ok, err := expr.Condition(ctx, l.Condition, answers{s.h})
	if err != nil {
		return false, modules.Refuse("%s: %w", l.file, err)
	}
	return ok, nil
}

// adapter finds the adapter of a resource beside it, or else on the host; nil if
// there is none.
func (s *search) adapter(ctx context.Context, of located, beside []located) (*located, error) {
	look := func(all []located) (*located, error) {
		var list []located
		for _, l := range all {
			if l.Is(of.RequireAdapter) && l.Adapter != nil {
				list = append(list, l)
			}
		}
		slices.SortStableFunc(list, func(a, b located) int { return newer(a.Version, b.Version) })
		for i := range list {
			if ok, err := s.applies(ctx, list[i]); ok || err != nil {
				return &list[i], err
			}
		}
		return nil, nil
	}
	if l, err := look(beside); l != nil || err != nil {
		return l, err
	}
	installed, err := s.installed(ctx)
	if err != nil {
		return nil, err
	}
	return look(installed)
}

// programPath is where programs are looked for: what the host's PATH has besides the
// usual directories comes last.
func programPath() []string {
	if restricted := os.Getenv("DSC_RESTRICTED_PATH"); restricted != "" {
		return process.Dirs(restricted)
	}
	dirs := strings.Split(modules.DefaultPath, ":")
	for _, dir := range process.Dirs(os.Getenv("PATH")) {
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// manifestPath is where manifests are looked for.
func manifestPath() []string {
	list := process.Dirs(cmp.Or(os.Getenv("DSC_RESTRICTED_PATH"), os.Getenv("DSC_RESOURCE_PATH")))
	if len(list) == 0 {
		list = programPath()
	}
	var dirs []string
	for _, dir := range list {
		if dir = path.Clean(dir); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// safePath is [programPath] as far as it is [safe].
func safePath(h modules.Host) []string {
	dirs, _ := safe(h, os.Geteuid(), programPath())
	return dirs
}

// safe keeps the paths at which others cannot put something; see [process.Safe].
// Directories that every program of root trusts are the host's own affair. What is not
// there is left out without an error.
func safe(h modules.Host, uid int, paths []string) (kept []string, unsafe []error) {
	if uid != 0 || h.Files.FileReader == nil {
		return paths, nil
	}
	usual := strings.Split(modules.DefaultPath, ":")
	for _, p := range paths {
		var err error
		if !slices.Contains(usual, p) {
			err = process.Safe(h.Files, uid, p)
		}
		switch {
		case err == nil:
			kept = append(kept, p)
		case !modules.NotThere(err):
			unsafe = append(unsafe, err)
		}
	}
	return kept, unsafe
}

// maxInstalled bounds the files that are read on a host.
const maxInstalled = 1000

// installed reads the manifests on the host. What cannot be used is noted, since it
// may be the one that is missing.
func (s *search) installed(ctx context.Context) ([]located, error) {
	if s.h.Files.FileReader == nil {
		return nil, nil
	}
	s.looked = nil
	var all []located
	files := 0
	var dirs []string
	dirs, s.unsafe = safe(s.h, os.Geteuid(), manifestPath())
	for _, dir := range dirs {
		names, err := s.h.Files.List(dir)
		if err != nil {
			continue // not there, or not for us
		}
		s.looked = append(s.looked, dir)
		for _, name := range names {
			is, yaml := manifest.IsFile(name)
			if !is {
				continue
			}
			if files++; files > maxInstalled {
				return nil, modules.Refuse("there are more than %d manifests of DSC resources on the host", maxInstalled)
			}
			file := path.Join(dir, name)
			more, err := s.read(ctx, file, yaml)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
	}
	return all, nil
}

// read reads one file of manifests.
func (s *search) read(ctx context.Context, file string, yaml bool) ([]located, error) {
	doc, err := s.document(ctx, file, yaml)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		s.reject(file, "", err)
		return nil, nil
	}
	list, rejected := manifest.Parse(path.Base(file), doc)
	for _, r := range rejected {
		s.reject(file, r.Type, r.Err)
	}
	_, unsafe := safe(s.h, os.Geteuid(), []string{file})
	var all []located
	for _, m := range list {
		if len(unsafe) > 0 {
			s.reject(file, m.Type, unsafe[0])
			continue
		}
		all = append(all, located{m, file})
	}
	return all, nil
}

func (s *search) reject(file, typ string, err error) {
	for _, known := range s.rejects {
		if known.File == file && known.Type == typ {
			return
		}
	}
	s.rejects = append(s.rejects, Reject{File: file, Type: typ, Reason: err.Error()})
}

// document reads a file of manifests as JSON.
func (s *search) document(ctx context.Context, file string, isYAML bool) (json.RawMessage, error) {
	r, err := s.h.Files.Open(file)
	if err != nil {
		return nil, cause(err)
	}
	defer r.Close()
	var yaml func([]byte) (json.RawMessage, error)
	if s.h.YAML != nil {
		yaml = func(text []byte) (json.RawMessage, error) { return s.parse(ctx, string(text)) }
	}
	return readDocument(r, isYAML, yaml)
}

// document is what a YAML text came to.
type document struct {
	json json.RawMessage
	err  error
}

// parse gives a YAML document as JSON.
func (s *search) parse(ctx context.Context, text string) (json.RawMessage, error) {
	sum := sha256.Sum256([]byte(text))
	d, known := s.parsed.Get(string(sum[:]))
	if !known {
		d.json, d.err = s.h.YAML(ctx, text)
		if ctx.Err() == nil { // else the error may be that of the context
			s.parsed.Put(string(sum[:]), d)
		}
	}
	return d.json, d.err
}

// cause takes the path out of an error, where it is told already.
func cause(err error) error {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err
	}
	return err
}

// notFound tells why there is no such resource, as well as can be told.
func (s *search) notFound() error {
	var reasons []string
	for _, r := range s.rejects {
		if r.Type != "" && manifest.Like(r.Type, s.TypeName) ||
			r.Type == "" && !path.IsAbs(r.File) || // of the play's folder, where all are meant to be used
			r.Type == "" && strings.Contains(strings.ToLower(path.Base(r.File)), strings.ToLower(path.Base(s.TypeName))) {
			reasons = append(reasons, fmt.Sprintf("found %s, but: %s", r.File, r.Reason))
		}
	}
	for _, file := range s.skipped {
		reasons = append(reasons, fmt.Sprintf("found %s, but its condition is false here", file))
	}
	if len(s.others) > 0 {
		slices.Sort(s.others)
		reasons = append(reasons, fmt.Sprintf("version %q excludes what there is: %s", s.Version, strings.Join(slices.Compact(s.others), ", ")))
	}
	if len(reasons) == 0 {
		reasons = append(reasons, "looked into resources/ beside the manifest")
		if len(s.looked) > 0 {
			reasons[0] += " and into " + strings.Join(s.looked, ", ")
		}
	}
	for _, err := range s.unsafe {
		reasons = append(reasons, "did not look where others can put something: "+err.Error())
	}
	text := fmt.Sprintf("there is no DSC resource %s%s; %s", s.TypeName, s.meant(), strings.Join(reasons, "; "))
	return &process.Failure{Text: text, Safe: text, Class: modules.ErrorUnknown}
}

// meant is the name of a resource that there is, if the one that is missing is called
// almost so.
func (s *search) meant() string {
	near := expr.Nearest(s.TypeName, append(s.known, s.Near, osInfo().manifest.Type, echo().manifest.Type, runCommandOnSet().manifest.Type))
	if near == "" || strings.EqualFold(near, s.TypeName) {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", near)
}
