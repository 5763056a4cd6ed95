package scaffold

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	shellquote "github.com/kballard/go-shellquote"

	"github.com/ccm-push/ccm-push/modules"
)

// Post commands run on copies of files in a private directory of the user, since users with write access to the target
// could exchange files there. A record of the commands' results is written next to the copies.
//
// Only that record makes a check possible: the result of a command is unknown without running it, and a check runs no
// commands.
const (
	recordFile = "made.json"
	workplace  = "work"
)

// maxRecord bounds the size of a record, in bytes.
const maxRecord = 8 << 20

// postTimeout is the timeout of a post command.
const postTimeout = 10 * time.Minute

// A command is a post command, as its words.
type command []string

// commandsFor returns the commands for a file, in the order of the property.
func (s *Scaffold) commandsFor(n *modules.TreeNode) []command {
	var all []command
	for _, entry := range s.Post {
		for glob, text := range entry {
			if ok, err := path.Match(glob, path.Base(n.Path)); !ok || err != nil {
				continue
			}
			words, err := shellquote.Split(text)
			if err == nil && len(words) > 0 { // Validate has seen to it
				all = append(all, words)
			}
		}
	}
	return all
}

// on replaces {} by the path of a file, or appends the path.
func (c command) on(file string) []string {
	argv, placed := []string{c[0]}, false
	for _, word := range c[1:] {
		placed = placed || strings.Contains(word, "{}")
		argv = append(argv, strings.ReplaceAll(word, "{}", file))
	}
	if !placed {
		argv = append(argv, file)
	}
	return argv
}

// A record contains the results of post commands, by the paths of files.
type record map[string]made

// made is a file after its post commands.
type made struct {
	From   string      `json:"from"` // input of the commands; see madeFrom
	SHA256 string      `json:"sha256"`
	Mode   fs.FileMode `json:"mode"` // permission bits only
}

// madeFrom identifies everything that the result depends on.
func madeFrom(n *modules.TreeNode, post []command) string {
	b, err := json.Marshal([]any{n.Path, n.Content.SHA256(), n.Mode, post})
	if err != nil {
		return "" // it has only texts and numbers, so this cannot happen
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// of returns the final state of a file, if it is known: without commands it is the node's own.
func (r record) of(n *modules.TreeNode, post []command) (made, bool) {
	if len(post) == 0 {
		return made{SHA256: n.Content.SHA256(), Mode: n.Mode}, true
	}
	m, ok := r[n.Path]
	return m, ok && m.From != "" && m.From == madeFrom(n, post) && m.Mode&^fs.ModePerm == 0
}

// notes returns the directory for the record and the copies of this target. It may not exist yet. The error is set if
// another user might write in it.
func (s *Scaffold) notes(h modules.Host) (string, error) {
	if h.Private == "" {
		return "", modules.Refuse("post: no directory for copies of the files on this host")
	}
	// A home directory may be shared by many hosts.
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	id := sha256.Sum256([]byte(host + "\x00" + s.Name))
	dir := path.Join(h.Private, "scaffold", hex.EncodeToString(id[:16]))
	for _, level := range []string{h.Private, path.Dir(dir), dir} {
		at, err := h.Files.Stat(level)
		switch {
		case modules.NotThere(err):
			return dir, nil
		case err != nil:
			return "", err
		case at.Kind != modules.Directory || at.UID != os.Geteuid() || at.Mode&0o022 != 0:
			return "", modules.Refuse("post: %s is not a directory that only user %d can write in", level, os.Geteuid())
		}
	}
	return dir, nil
}

// mayWork returns an error if post commands would have no directory to run in.
func (v *survey) mayWork() error {
	dir, err := v.notes(v.h)
	if err != nil {
		return err
	}
	for {
		if _, err := v.h.Files.Stat(path.Dir(dir)); !modules.NotThere(err) {
			return v.allowed(v.h.Files.MayReplace(dir))
		}
		dir = path.Dir(dir)
	}
}

// readRecord returns the record. It is empty if the file is missing or not trusted: then the commands run again.
func (v *survey) readRecord() record {
	dir, err := v.notes(v.h)
	if err != nil {
		return nil
	}
	name := path.Join(dir, recordFile)
	if at, err := v.h.Files.Stat(name); err != nil || at.Kind != modules.Regular || at.Size > maxRecord {
		return nil
	}
	file, err := v.h.Files.Open(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxRecord))
	var r record
	if err != nil || json.Unmarshal(text, &r) != nil {
		return nil
	}
	return r
}

// A workshop runs post commands.
type workshop struct {
	*Scaffold
	h    modules.Host
	dir  string // notes
	made record // results of this run
}

// private are the attributes of a path that no other user may read.
var private = modules.Attributes{Mode: 0o700, UID: -1, GID: -1}

// open creates a new workshop in place of an old one.
func (s *Scaffold) open(ctx context.Context, h modules.Host) (*workshop, error) {
	dir, err := s.notes(h)
	if err != nil {
		return nil, err
	}
	w := &workshop{Scaffold: s, h: h, dir: dir, made: record{}}
	if err := w.clear(ctx); err != nil {
		return nil, err
	}
	return w, h.Files.MakeDir(ctx, path.Join(dir, workplace), private)
}

// clear removes the workplace.
func (w *workshop) clear(ctx context.Context) error {
	work := path.Join(w.dir, workplace)
	if _, err := w.h.Files.Stat(work); modules.NotThere(err) {
		return nil
	}
	return w.h.Files.Remove(ctx, work, true)
}

// work makes a file: it writes the content to a copy, runs the commands on that, and opens the result.
func (w *workshop) work(ctx context.Context, s *step, content io.Reader) (io.ReadCloser, error) {
	// A folder for each, so that files of one name do not meet; the base name stays,
	// since commands look at it.
	folder := path.Join(w.dir, workplace, fmt.Sprint(len(w.made)))
	if err := w.h.Files.MakeDir(ctx, folder, private); err != nil {
		return nil, err
	}
	file := path.Join(folder, path.Base(s.name))
	if err := w.h.Files.Write(ctx, file, content, modules.Attributes{Mode: s.node.Mode, UID: -1, GID: -1}); err != nil {
		return nil, err
	}
	for _, c := range s.post {
		if err := w.run(ctx, s.node.Path, c.on(file)); err != nil {
			return nil, err
		}
	}
	at, err := w.h.Files.Stat(file)
	switch {
	case err != nil || at.Kind != modules.Regular:
		return nil, modules.Refuse("post: the commands for %q have not left a file", s.node.Path)
	case at.Size > modules.MaxTreeSize:
		return nil, modules.Refuse("post: the commands for %q have made more than %d MiB", s.node.Path, modules.MaxTreeSize>>20)
	}
	digest, err := w.h.Files.Digest(file)
	if err != nil {
		return nil, err
	}
	s.want.Mode = at.Mode.Perm()
	w.made[s.node.Path] = made{From: madeFrom(s.node, s.post), SHA256: digest, Mode: s.want.Mode}
	return w.h.Files.Open(file)
}

func (w *workshop) run(ctx context.Context, name string, argv []string) error {
	exit, err := w.h.Commands.Run(ctx, modules.Command{Argv: argv, Timeout: postTimeout, Home: true})
	safe := fmt.Sprintf("post: a command for %q failed", name)
	if err != nil {
		return &postError{fmt.Sprintf("post for %q: %v", name, err), safe, err}
	}
	if exit.Code == 0 {
		return nil
	}
	text := fmt.Sprintf("post for %q: %q ended with exit code %d", name, shellquote.Join(argv...), exit.Code)
	if said := lastLine(exit.Stderr.Text + "\n" + exit.Stdout.Text); said != "" {
		text += ": " + said
	}
	return &postError{text, fmt.Sprintf("%s with exit code %d", safe, exit.Code), nil}
}

// lastLine is the last line of standard error or, if that is empty, of standard output.
func lastLine(text string) string {
	errors, output, _ := strings.Cut(strings.TrimSpace(text), "\n\n")
	for _, part := range []string{errors, output} {
		lines := strings.Split(strings.TrimSpace(part), "\n")
		if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
			return last
		}
	}
	return ""
}

// postError is the error of a failed command.
type postError struct {
	text string // may hold parts of the file
	safe string // holds none
	err  error  // may be nil
}

func (e *postError) Error() string { return e.text }

// Redacted implements [modules.Redactor].
func (e *postError) Redacted() string { return e.safe }

func (e *postError) Unwrap() error { return e.err }

// keep writes the record of all files of the tree that have commands: new results from this run, the others unchanged.
func (w *workshop) keep(ctx context.Context) error {
	v := &survey{Scaffold: w.Scaffold, h: w.h}
	before, now := v.readRecord(), record{}
	for i := range w.Tree.Nodes {
		n := &w.Tree.Nodes[i]
		if m, ok := w.made[n.Path]; ok {
			now[n.Path] = m
		} else if post := w.commandsFor(n); len(post) > 0 {
			if m, ok := before.of(n, post); ok {
				now[n.Path] = m
			}
		}
	}
	text, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return w.h.Files.Write(ctx, path.Join(w.dir, recordFile), bytes.NewReader(text), modules.Attributes{Mode: 0o600, UID: -1, GID: -1})
}
