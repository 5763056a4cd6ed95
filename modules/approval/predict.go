package approval

import (
	"context"
	"io"
	"iter"
	"os"
	"path"
	"strings"

	shellquote "github.com/kballard/go-shellquote"

	"github.com/ccm-push/ccm-push/modules"
)

// A Request is a content that a command has to approve.
type Request struct {
	Name    string             // path of the file
	Command string             // empty approves all
	Content modules.Content    // zero if it comes from elsewhere
	Want    modules.Attributes // attributes of the file
}

// Limits of the examination in a check run.
const (
	maxContent = 1 << 20 // bytes
	maxWords   = 2000    // different words of the content that may be paths
)

// Required adds to a plan to write a file that a command has to approve it. A check run lets the command examine the
// content. Required refuses the plan if the command certainly refuses the content, or if other users could exchange the
// file before the command reads it.
func (r Request) Required(ctx context.Context, h modules.Host, plan modules.Plan) (modules.Plan, error) {
	if r.Command == "" {
		return plan, nil
	}
	dir := path.Dir(r.Name)
	if err := modules.OthersMayChange(h.Files, dir, os.Geteuid()); err != nil {
		return modules.Plan{}, modules.Refuse("validate: another user could replace the file %s during the check: %w; run as the owner of the directory", r.Name, err)
	}
	plan.MayFail = true
	if !h.CheckRun || h.Stage == nil || r.Content.IsZero() || r.Content.Promised() || r.Content.Size() > maxContent {
		return plan, nil
	}
	text, err := r.text(ctx, h)
	if err != nil {
		return plan, ctx.Err()
	}
	names, relative := r.reads(h.Files, text)
	state, ok := h.Forecast.Lookup(modules.ProbeEffect, strings.Join(names, "\n"))
	grade, _ := state.(modules.Grade)
	if !ok || grade == modules.Unknown || relative && grade != modules.Certain {
		return plan, nil
	}
	exit, err := r.examine(ctx, h, text)
	switch {
	case ctx.Err() != nil:
		return plan, ctx.Err()
	case err == nil:
		plan.MayFail, plan.LikelySucceeds = false, relative
		return plan, nil
	case err == errNotStaged || grade != modules.Certain || relative || exit != nil && !decides(*exit):
		return plan, nil
	}
	if exit != nil {
		h.Report.Output(*exit)
	}
	return modules.Plan{}, err
}

func (r Request) text(ctx context.Context, h modules.Host) (string, error) {
	in, err := h.Contents.Open(ctx, r.Content)
	if err != nil {
		return "", err
	}
	defer in.Close()
	b, err := io.ReadAll(io.LimitReader(in, maxContent))
	return string(b), err
}

// errNotStaged reports that the command did not run, because the host has no place for the file.
var errNotStaged = modules.Refuse("the content has no temporary file")

// examine runs the command on a temporary file. It returns the exit if the command has run and does not approve the file.
func (r Request) examine(ctx context.Context, h modules.Host, text string) (exit *modules.Exit, err error) {
	staged := false
	want := r.Want
	want.Xattrs = nil
	err = h.Stage(ctx, r.Name, strings.NewReader(text), want, func(temp string) (err error) {
		staged = true
		exit, err = run(ctx, h.Commands.Probe, modules.Command{Paths: []string{}}, r.Command, temp, r.Name)
		return err
	})
	if !staged {
		err = errNotStaged
	}
	return exit, err
}

// decides reports whether the command would end in the same way in the directory of the file. A signal, or a missing
// permission in the other directory, may be the cause here only.
func decides(exit modules.Exit) bool {
	said := strings.ToLower(exit.Stdout.Text + exit.Stderr.Text)
	return exit.Code < 128 && !strings.Contains(said, "permission denied") && !strings.Contains(said, "not permitted")
}

// reads returns the paths that the command most likely reads: its program, and the paths in the command. It looks at the
// paths in the content, so that a change that is not ordered before the resource makes the prediction unknown. relative
// reports that paths are relative to the directory of the file, or may be: the temporary file of a check run is in another
// one.
func (r Request) reads(files modules.FileReader, text string) (names []string, relative bool) {
	argv, _ := shellquote.Split(r.Command)
	for dir := range strings.SplitSeq(modules.DefaultPath, ":") {
		names = append(names, path.Join(dir, argv[0]))
	}
	if path.IsAbs(argv[0]) {
		names = []string{path.Clean(argv[0])}
	}
	for word := range words(strings.Join(argv[1:], " ")) {
		if name := withoutPattern(word); path.IsAbs(name) && path.Clean(name) != "/" {
			names = append(names, path.Clean(name))
		}
	}
	relative = strings.Contains(r.Command, place+"/") || strings.Contains(r.Command, "dirname")
	dir, seen := path.Dir(r.Name), map[string]bool{}
	for word := range words(text) {
		if seen[word] {
			continue
		}
		if seen[word] = true; len(seen) > maxWords {
			return names, true
		}
		name := withoutPattern(word)
		switch {
		case path.IsAbs(word):
			_, _ = files.Stat(path.Clean(name))
		case name == "":
			relative = relative || matches(files, dir, word)
		default:
			_, err := files.Stat(path.Join(dir, name))
			relative = relative || err == nil && name != "."
		}
	}
	return names, relative
}

// words yields the words of a command or a configuration that may be paths.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for word := range strings.FieldsFuncSeq(text, separates) {
			if word = strings.TrimLeft(word, "-+@~^!"); word != "" && !strings.Contains(word, place) && !yield(word) {
				return
			}
		}
	}
}

// separates reports whether a character ends a path in most formats of configurations.
func separates(c rune) bool { return c <= ' ' || strings.ContainsRune("\"'`;,=(){}<>|&:#", c) }

// withoutPattern returns a path without its elements from the first pattern on.
func withoutPattern(word string) string {
	at := strings.IndexAny(word, "*?[")
	if at < 0 {
		return word
	}
	return word[:strings.LastIndex(word[:at], "/")+1]
}

// matches reports whether a pattern in the directory of the file may match a name there.
func matches(files modules.FileReader, dir, pattern string) bool {
	names, err := files.List(dir)
	if err != nil {
		return true
	}
	pattern, _, _ = strings.Cut(pattern, "/")
	for _, name := range names {
		if ok, err := path.Match(pattern, name); ok || err != nil {
			return true
		}
	}
	return false
}
