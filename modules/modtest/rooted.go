package modtest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// Rooted returns a type whose resources see a tree of the test as the host: the property root, such as $ROOT, names it.
// The paths of the type lie below this tree, and it finds programs in the bin folders of the tree. Links and arguments of
// programs are unchanged. The type must implement all of whole.
func Rooted(typ modules.Type) modules.Type {
	inner := typ.New
	typ.New = func() modules.Resource { return &rooted{whole: inner().(whole), fresh: inner} }
	return typ
}

// In returns a resource that sees the tree at root as the host; see [Rooted].
func In(root string, r modules.Resource) modules.Reverser {
	return &rooted{whole: r.(whole), tree: tree{root: root}}
}

// RootedHost returns a host whose files are the tree at root.
func RootedHost(root string, h modules.Host) modules.Host { return tree{root: root}.host(h) }

// whole lists the interfaces that a rooted type implements. A rooted resource hides any others.
type whole interface {
	modules.Resource
	modules.Reverser
	modules.Watcher
	modules.Describer
}

// A rooted resource translates between the paths of its type and the paths of the machine.
type rooted struct {
	whole
	tree
	fresh func() modules.Resource // nil for resources of [In]
	wrong error                   // from the properties
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *rooted) UnmarshalJSON(text []byte) error {
	var properties map[string]json.RawMessage
	if err := json.Unmarshal(text, &properties); err != nil {
		return err
	}
	if err := json.Unmarshal(properties["root"], &r.root); err != nil {
		return err
	}
	delete(properties, "root")
	text, err := json.Marshal(properties)
	if err != nil {
		return err
	}
	if err := modules.DecodeStrict(text, r.whole); err != nil {
		return err
	}
	modules.SetDefaults(r.whole)
	r.wrong = modules.CheckTags(r.whole)
	return nil
}

// Validate implements [modules.Resource].
func (r *rooted) Validate() error { return errors.Join(r.wrong, r.whole.Validate()) }

// Check implements [modules.Resource].
func (r *rooted) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	plan, err := r.whole.Check(ctx, r.host(h))
	if err != nil || !plan.Pending() {
		return plan, err
	}
	outer := plan
	outer.Steps, outer.Effects, outer.Texts = plan, nil, nil
	for _, e := range plan.Effects {
		if onPath(e) || e.Kind == modules.MountEffect {
			e.Key = r.below(e.Key)
		}
		outer.Effects = append(outer.Effects, e)
	}
	for _, change := range plan.Texts {
		change.Path = r.below(change.Path)
		outer.Texts = append(outer.Texts, change)
	}
	return outer, nil
}

// Apply implements [modules.Resource].
func (r *rooted) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	return r.whole.Apply(ctx, r.host(h), p.Steps.(modules.Plan))
}

// Reversal implements [modules.Reverser].
func (r *rooted) Reversal(ctx context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	if k, ok := kept.(*rooted); ok {
		kept = k.whole
	}
	return r.whole.Reversal(ctx, r.host(h), kept)
}

// Watch implements [modules.Watcher].
func (r *rooted) Watch(ctx context.Context, h modules.Host) (modules.Sources, error) {
	from, err := r.whole.Watch(ctx, r.host(h))
	for _, paths := range [][]string{from.Paths, from.Trees} {
		for i := range paths {
			paths[i] = r.below(paths[i])
		}
	}
	return from, err
}

// Describe implements [modules.Describer].
func (r *rooted) Describe(ctx context.Context, h modules.Host) (modules.Description, error) {
	return r.whole.Describe(ctx, r.host(h))
}

// A tree translates paths of a host into paths below root.
type tree struct{ root string }

func (t tree) below(name string) string { return path.Join(t.root, path.Clean("/"+name)) }

// above is the inverse of below; ok is false outside of the tree.
func (t tree) above(name string) (inside string, ok bool) {
	rest, ok := strings.CutPrefix(name, t.root)
	return path.Clean("/" + rest), ok && (rest == "" || rest[0] == '/')
}

func (t tree) host(h modules.Host) modules.Host {
	files := rootedFiles{t, h.Files}
	h.Files.FileReader, h.Files.FileRights, h.Files.FileWriter, h.Files.DirectoryOpener = files, files, files, files
	if xattrs := files.of.Xattrs; xattrs != nil {
		h.Files.Xattrs = func(name string, is modules.FileInfo) ([]string, error) { return xattrs(t.below(name), is) }
	}
	h.Commands = rootedCommands{t, h.Commands}
	h.Forecast = rootedForecast{t, h.Forecast}
	h.Keep, h.KeepAttributes = t.keep(h.Keep), t.keep(h.KeepAttributes)
	if aside := h.Aside; aside != nil {
		h.Aside = func() (modules.Host, func() modules.Grade) {
			h, grade := aside()
			return t.host(h), grade
		}
	}
	return h
}

func (t tree) keep(keep func(context.Context, ...string)) func(context.Context, ...string) {
	if keep == nil {
		return nil
	}
	return func(ctx context.Context, paths ...string) {
		var below []string
		for _, name := range paths {
			below = append(below, t.below(name))
		}
		keep(ctx, below...)
	}
}

type rootedCommands struct {
	tree
	of modules.Commands
}

// in returns the command with a search path in the tree, and after that the one of the machine: scripts of tests use its
// programs. A type must look for its programs with [modules.HasProgram].
func (c rootedCommands) in(cmd modules.Command) modules.Command {
	dirs := cmd.Path
	if dirs == "" {
		dirs = modules.DefaultPath
	}
	var all []string
	for dir := range strings.SplitSeq(dirs, ":") {
		all = append(all, c.below(dir))
	}
	cmd.Path = strings.Join(append(all, dirs), ":")
	return cmd
}

func (c rootedCommands) Probe(ctx context.Context, cmd modules.Command) (modules.Exit, error) {
	return c.of.Probe(ctx, c.in(cmd))
}

func (c rootedCommands) Run(ctx context.Context, cmd modules.Command) (modules.Exit, error) {
	return c.of.Run(ctx, c.in(cmd))
}

type rootedForecast struct {
	tree
	of modules.Forecast
}

func (f rootedForecast) Lookup(kind modules.EffectKind, key string) (any, bool) {
	if onPath(modules.Effect{Kind: kind}) || kind == modules.MountEffect {
		key = f.below(key)
	}
	return f.of.Lookup(kind, key)
}

type rootedFiles struct {
	tree
	of modules.Files
}

func (f rootedFiles) Knowing(kind modules.EffectKind) modules.FileReader {
	f.of.FileReader = f.of.Knowing(kind)
	return f
}

func (f rootedFiles) Stat(name string) (modules.FileInfo, error) { return f.of.Stat(f.below(name)) }
func (f rootedFiles) Digest(name string) (string, error)         { return f.of.Digest(f.below(name)) }
func (f rootedFiles) Open(name string) (io.ReadCloser, error)    { return f.of.Open(f.below(name)) }
func (f rootedFiles) List(name string) ([]string, error)         { return f.of.List(f.below(name)) }
func (f rootedFiles) ModTime(name string) (time.Time, error)     { return f.of.ModTime(f.below(name)) }
func (f rootedFiles) MayReplace(name string) error               { return f.of.MayReplace(f.below(name)) }
func (f rootedFiles) MayCreate(a modules.Attributes) error       { return f.of.MayCreate(a) }
func (f rootedFiles) OpenDirectory(name string) (*os.Root, error) {
	return f.of.OpenDirectory(f.below(name))
}
func (f rootedFiles) Sync(dir *os.Root) error { return f.of.Sync(dir) }

func (f rootedFiles) MaySetAttributes(name string, a modules.Attributes) error {
	return f.of.MaySetAttributes(f.below(name), a)
}

func (f rootedFiles) MountPoints(name string) []modules.MountPoint {
	all := f.of.MountPoints(f.below(name))
	for i := range all {
		all[i].Path, _ = f.above(all[i].Path)
	}
	return all
}

func (f rootedFiles) Binds() map[string]string {
	binds := map[string]string{}
	for at, other := range f.of.Binds() {
		at, ok := f.above(at)
		other, both := f.above(other)
		if ok && both {
			binds[at] = other
		}
	}
	return binds
}

func (f rootedFiles) Within(dir string) modules.FileWriter {
	f.of.FileWriter = f.of.Within(f.below(dir))
	return f
}

func (f rootedFiles) Write(ctx context.Context, name string, r io.Reader, a modules.Attributes) error {
	return f.of.Write(ctx, f.below(name), r, a)
}

func (f rootedFiles) WriteIf(ctx context.Context, name string, r io.Reader, a modules.Attributes, approve func(string) error) error {
	return f.of.WriteIf(ctx, f.below(name), r, a, approve)
}

func (f rootedFiles) Copy(ctx context.Context, name, to string) error {
	return f.of.Copy(ctx, f.below(name), f.below(to))
}

func (f rootedFiles) MakeDir(ctx context.Context, name string, a modules.Attributes) error {
	return f.of.MakeDir(ctx, f.below(name), a)
}

func (f rootedFiles) Symlink(ctx context.Context, name, target string) error {
	return f.of.Symlink(ctx, f.below(name), target)
}

func (f rootedFiles) SetAttributes(ctx context.Context, name string, a modules.Attributes) error {
	return f.of.SetAttributes(ctx, f.below(name), a)
}

func (f rootedFiles) Remove(ctx context.Context, name string, tree bool) error {
	return f.of.Remove(ctx, f.below(name), tree)
}
