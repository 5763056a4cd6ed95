package sshconfig

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A File is where configuration is read from.
type File struct {
	Path string
	// User marks a file of the user: relative Includes are below ~/.ssh and not next to the file, and it may set
	// ProxyCommand.
	User bool
	// Named marks a file that the user has named. It must exist, and may have any owner, as with ssh -F. Other files of
	// the user must belong to the user or root, and be writable for no other user.
	Named bool
}

// An Error is a mistake in a file or an option.
type Error struct {
	At   string // file:line, or the origin of a [Given]
	Msg  string
	Hint string // may be empty
}

func (e *Error) Error() string {
	text := e.Msg
	if e.At != "" {
		text = e.At + ": " + e.Msg
	}
	if e.Hint != "" {
		text += "\n  hint: " + e.Hint
	}
	return text
}

// Limits of a configuration with all included files. ssh limits the depth only.
const (
	maxDepth    = 16 // READCONF_MAX_DEPTH of readconf.c
	maxIncludes = 4096
	maxBytes    = 16 << 20
	maxErrors   = 50
)

// A block holds the lines after a Host or Match line, or at the head of a file.
type block struct {
	parent    *block     // block with the Include
	condition *condition // nil for the head of a file
	includes  bool       // its condition is evaluated again
}

// A segment is lines of a block without an Include between them.
type segment struct {
	block   *block
	begins  bool // the block
	lines   []directive
	unknown bool // one of the lines has a keyword that is not known
}

// Load reads files, the one with the highest precedence first, and the files that they include. A file that is not
// Named may be missing. All mistakes are reported at once, as [Error].
func Load(env Environment, list ...File) (*Config, error) {
	l := &loader{config: &Config{env: env}, texts: map[string][]string{}}
	for _, f := range list {
		l.top(f)
	}
	if err := errors.Join(l.errs...); err != nil {
		return nil, err
	}
	l.config.index()
	return l.config, nil
}

type loader struct {
	config   *Config
	texts    map[string][]string // lines, by path
	stack    []string            // paths that are being read
	includes int
	bytes    int
	errs     []error
}

func (l *loader) fail(at, hint, format string, args ...any) {
	if len(l.errs) < maxErrors {
		l.errs = append(l.errs, &Error{At: at, Msg: fmt.Sprintf(format, args...), Hint: hint})
	}
}

func (l *loader) top(f File) {
	lines, err := l.read(f.Path, f.Named, f.User && !f.Named)
	switch {
	case err == nil:
		l.file(f, lines, nil)
	case f.Named:
		l.fail(f.Path, "", "reading it: %v", cause(err))
	case errors.Is(err, fs.ErrPermission) && !errors.Is(err, errUnsafe): // ssh ignores it, too
		l.config.warnings = append(l.config.warnings, fmt.Sprintf("skipped %s, which cannot be read: %v", f.Path, cause(err)))
	case !errors.Is(err, fs.ErrNotExist):
		l.fail(f.Path, hintOf(err, f.Path), "%v", cause(err))
	}
}

func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

var errUnsafe = errors.New("other users can write to it, or it belongs to another user")

func hintOf(err error, path string) string {
	if errors.Is(err, errUnsafe) {
		return "chmod go-w " + path + ", or name it with --ssh-config"
	}
	return ""
}

// read returns the lines of a file, which it reads once. A named file may be a pipe, such as a shell's <(COMMAND);
// reading other pipes might never end.
func (l *loader) read(path string, named, guarded bool) ([]string, error) {
	if lines, ok := l.texts[path]; ok {
		return lines, nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir(), path == os.DevNull: // to ssh a file without lines
		return nil, nil
	case !named && !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if guarded && !safe(info) {
		return nil, errUnsafe
	}
	text, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxBytes {
		return nil, fmt.Errorf("it has more than %d bytes", maxBytes)
	}
	lines := strings.Split(string(text), "\n")
	l.texts[path] = lines
	return lines, nil
}

// safe follows ssh(1): the configuration decides which programs run.
func safe(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (st.Uid == 0 || int(st.Uid) == os.Getuid()) && info.Mode().Perm()&0o022 == 0
}

// file adds the lines of a file that is included in a block, or in none.
func (l *loader) file(f File, lines []string, parent *block) {
	l.stack = append(l.stack, f.Path)
	defer func() { l.stack = l.stack[:len(l.stack)-1] }()
	within := &block{parent: parent}
	l.begin(within)
	for i, line := range lines {
		if l.bytes += len(line) + 1; l.bytes > maxBytes {
			l.fail(f.Path, "", "more than %d bytes, with included files", maxBytes)
			return
		}
		keyword, rest := splitLine(line)
		if keyword == "" {
			continue
		}
		within = l.line(f, fmt.Sprintf("%s:%d", f.Path, i+1), keyword, rest, within)
	}
}

func (l *loader) begin(b *block) {
	l.config.segments = append(l.config.segments, segment{block: b, begins: true})
}

// line adds one line and returns the block of the next line.
func (l *loader) line(f File, at, name, rest string, within *block) *block {
	if rest == "" {
		l.fail(at, "", "%s has no argument", name)
		return within
	}
	d := directive{keyword: keywords[name], name: name, at: at, user: f.User}
	switch {
	case d.keyword == nil:
		l.add(within, d)
		return within
	case d.keyword.kind == include:
		l.include(f, at, rest, within)
		return within
	case d.keyword.kind == host || d.keyword.kind == match:
		read := parseHost
		if d.keyword.kind == match {
			read = parseMatch
		}
		c, err := read(rest)
		if err != nil {
			l.fail(at, "", "%s: %v", name, err)
			return within
		}
		c.at = at
		next := &block{parent: within.parent, condition: c}
		l.begin(next)
		return next
	}
	if err := d.parse(rest); err != nil {
		l.fail(at, "", "%s: %v", name, err)
		return within
	}
	l.add(within, d)
	return within
}

func (l *loader) add(b *block, d directive) {
	last := &l.config.segments[len(l.config.segments)-1]
	if last.block != b {
		l.config.segments = append(l.config.segments, segment{block: b})
		last = &l.config.segments[len(l.config.segments)-1]
	}
	last.lines = append(last.lines, d)
	last.unknown = last.unknown || d.keyword == nil
}

// include adds the files of an Include line. A pattern without a matching file is not a mistake.
func (l *loader) include(f File, at, rest string, within *block) {
	words, ok := splitWords(rest)
	if !ok {
		l.fail(at, "", "include: %v", errQuotes)
		return
	}
	within.includes = true
	for _, pattern := range words {
		paths, err := l.glob(f, pattern)
		if err != nil {
			l.fail(at, "", "include: %v", err)
			continue
		}
		for _, path := range paths {
			l.included(File{Path: path, User: f.User}, at, within)
		}
	}
}

func (l *loader) included(f File, at string, within *block) {
	l.includes++
	switch i := slices.Index(l.stack, f.Path); {
	case i >= 0:
		l.fail(at, "", "include: the files lead in a circle: %s", strings.Join(append(slices.Clone(l.stack[i:]), f.Path), " -> "))
		return
	case len(l.stack) > maxDepth:
		l.fail(at, "", "include: files are included %d deep", len(l.stack))
		return
	case l.includes > maxIncludes:
		if l.includes == maxIncludes+1 {
			l.fail(at, "", "include: more than %d files are included", maxIncludes)
		}
		return
	}
	lines, err := l.read(f.Path, false, true)
	switch {
	case err == nil:
		l.file(f, lines, within)
	case !errors.Is(err, fs.ErrNotExist):
		l.fail(at, hintOf(err, f.Path), "include: %s: %v", f.Path, cause(err))
	}
}

// glob returns the files that match a pattern of an Include line, in the order of their names.
func (l *loader) glob(f File, pattern string) ([]string, error) {
	switch {
	case pattern == "":
		return nil, errMissing
	case pattern[0] == '~' && !f.User:
		return nil, fmt.Errorf("%q: a file for all users cannot lead to ~", pattern)
	case pattern[0] == '~':
		expanded, err := l.config.env.tilde(pattern)
		if err != nil {
			return nil, err
		}
		pattern = expanded
	case !filepath.IsAbs(pattern) && f.User:
		pattern = filepath.Join(l.config.env.Home, ".ssh", pattern)
	case !filepath.IsAbs(pattern):
		pattern = filepath.Join(filepath.Dir(l.stack[0]), pattern)
	}
	pattern = strings.ReplaceAll(pattern, "[!", "[^") // glob(7) has it so
	if !strings.ContainsAny(pattern, `*?[\`) {
		return []string{pattern}, nil
	}
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("%q is not a pattern for files", pattern)
	}
	return slices.DeleteFunc(paths, func(path string) bool { return hides(pattern, path) }), nil
}

// hides reports a path with a dot file in it that glob(7) would not match.
func hides(pattern, path string) bool {
	patterns, names := strings.Split(filepath.Clean(pattern), "/"), strings.Split(path, "/")
	for i, name := range names {
		if strings.HasPrefix(name, ".") && i < len(patterns) && !strings.HasPrefix(patterns[i], ".") && !strings.HasPrefix(patterns[i], `\.`) {
			return true
		}
	}
	return false
}
