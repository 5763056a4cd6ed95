package dsc

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/dsc/expr"
	"github.com/ccm-push/ccm-push/modules/dsc/manifest"
	"github.com/ccm-push/ccm-push/modules/process"
)

// located is a manifest and where it is on the host.
type located struct {
	*manifest.Manifest
	file string
}

// search finds manifests on a host.
type search struct {
	d       *DSC
	h       modules.Host
	secrets process.Secrets // secrets of the properties
	rejects []Reject
	others  []string // versions that are out of range
	known   []string // types that there are
	skipped []string // files whose condition is false
	looked  []string // directories
	unsafe  []error  // why other directories are not read
}

// find finds the resource: in the play's folder, among the built-in ones, and on the host. It selects the newest
// suitable version.
func (d *DSC) find(ctx context.Context, h modules.Host, secrets process.Secrets) (*resource, error) {
	s := &search{d: d, h: h, secrets: secrets}
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
	if own := builtinResourceOf(d.TypeName); own != nil && d.Adapter == "" {
		return s.resource(resource{own: own, as: own.manifest, run: own.manifest})
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

// bundled returns the manifests of the play's folder that were sent with the instance.
func (s *search) bundled(ctx context.Context) ([]located, error) {
	if len(s.d.Candidates) == 0 {
		return nil, nil
	}
	if s.h.Resources == nil {
		return nil, modules.Refuse("no folder resources/ next to the manifest")
	}
	dir, err := s.h.Resources(ctx)
	if err != nil {
		return nil, fmt.Errorf("resources/: %w", err)
	}
	if dir == "" {
		return nil, modules.Refuse("the folder resources/ has not come with the catalog")
	}
	var all []located
	for _, c := range s.d.Candidates {
		all = append(all, located{c.Manifest, path.Join(dir, path.Clean("/"+c.File))})
	}
	return all, nil
}

// choose selects the newest manifest of the type, with its adapter if it has one; nil if none is suitable.
func (s *search) choose(ctx context.Context, all []located) (*resource, error) {
	fitting, err := s.fitting(ctx, all)
	if err != nil || len(fitting) == 0 {
		return nil, err
	}
	if first := fitting[0]; !first.Adapted() {
		return s.found(first, first)
	}
	for _, l := range fitting {
		adapter, err := s.adapter(ctx, l, all)
		if err != nil {
			return nil, err
		}
		if adapter != nil {
			return s.found(*adapter, l)
		}
	}
	return nil, modules.Refuse("%s (%s) needs the adapter %s, which is not found", fitting[0].Type, fitting[0].file, fitting[0].RequireAdapter)
}

// found assembles a resource.
func (s *search) found(run, as located) (*resource, error) {
	dirs := safePath(s.h)
	for _, l := range []located{run, as} {
		if dir := path.Dir(l.file); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	rs := resource{run: run.Manifest, as: as.Manifest, file: as.file, dir: path.Dir(run.file), path: strings.Join(dirs, ":")}
	if as.Adapted() && as.Path != "" {
		rs.file = as.Path
		if !path.IsAbs(rs.file) {
			rs.file = path.Join(path.Dir(as.file), rs.file)
		}
	}
	return s.resource(rs)
}

// resource completes a found resource, so that it can be called for the instance.
func (s *search) resource(rs resource) (*resource, error) {
	var err error
	rs.h, rs.secrets, rs.discreet, rs.told = s.h, s.secrets, s.d.discreet, map[string]bool{}
	rs.timeout, err = s.d.timeout()
	return &rs, err
}

// fitting returns the suitable manifests of the type, the newest first.
func (s *search) fitting(ctx context.Context, all []located) ([]located, error) {
	within, err := manifest.ParseRange(s.d.Version)
	if err != nil {
		return nil, err
	}
	var list []located
	for _, l := range all {
		s.known = append(s.known, l.Type)
		if !l.Is(s.d.TypeName) || s.d.Adapter != "" && !strings.EqualFold(s.d.Adapter, l.RequireAdapter) {
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

// notFound returns the error for a resource that was not found, with all known reasons.
func (s *search) notFound() error {
	var reasons []string
	for _, r := range s.rejects {
		if r.Type != "" && manifest.Like(r.Type, s.d.TypeName) ||
			r.Type == "" && !path.IsAbs(r.File) || // of the play's folder, where all are meant to be used
			r.Type == "" && strings.Contains(strings.ToLower(path.Base(r.File)), strings.ToLower(path.Base(s.d.TypeName))) {
			reasons = append(reasons, fmt.Sprintf("found %s, but: %s", r.File, r.Reason))
		}
	}
	for _, file := range s.skipped {
		reasons = append(reasons, fmt.Sprintf("found %s, but its condition is false here", file))
	}
	if len(s.others) > 0 {
		slices.Sort(s.others)
		reasons = append(reasons, fmt.Sprintf("version %q excludes the versions found: %s", s.d.Version, strings.Join(slices.Compact(s.others), ", ")))
	}
	if len(reasons) == 0 {
		reasons = append(reasons, "searched resources/ next to the manifest")
		if len(s.looked) > 0 {
			reasons[0] += " and " + strings.Join(s.looked, ", ")
		}
	}
	for _, err := range s.unsafe {
		reasons = append(reasons, "did not look where others can put something: "+err.Error())
	}
	text := fmt.Sprintf("unknown DSC resource %s%s; %s", s.d.TypeName, s.meant(), strings.Join(reasons, "; "))
	return &process.Failure{Text: text, Safe: text, Class: modules.ErrorUnknown}
}

// meant returns the name of an existing resource that is similar to the missing one.
func (s *search) meant() string {
	near := expr.Nearest(s.d.TypeName, append(s.known, s.d.Near, osInfo().manifest.Type, echo().manifest.Type, runCommandOnSet().manifest.Type))
	if near == "" || strings.EqualFold(near, s.d.TypeName) {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", near)
}
