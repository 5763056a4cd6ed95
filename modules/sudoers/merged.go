package sudoers

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// A line is a line that sudo reads.
type line struct {
	file   string
	number int
	text   string
}

const defaultDir = "/etc/sudoers.d"

// mainFile is the file that sudo begins with.
func (s *Sudoers) mainFile() string { return cmp.Or(s.main, "/etc/sudoers") }

// merged returns the lines that sudo reads, in its order, and whether it reads the folder at all. The rules replace
// those of the resource's file; nil keeps the file.
func (s *Sudoers) merged(files modules.FileReader, rules []string) (all []line, included bool) {
	dir := path.Dir(s.at())
	add := func(file string, texts []string) {
		for n, text := range texts {
			all = append(all, line{file, n + 1, text})
		}
	}
	for n, text := range edit.Lines(files, s.mainFile()) {
		words := strings.Fields(text)
		if len(words) != 2 || words[0] != "@includedir" && words[0] != "#includedir" || path.Clean(words[1]) != dir {
			all = append(all, line{s.mainFile(), n + 1, text})
			continue
		}
		included = true
		names, _ := files.List(dir)
		if rules != nil && !slices.Contains(names, s.Name) {
			names = append(slices.Clone(names), s.Name)
			slices.Sort(names)
		}
		for _, name := range names {
			switch file := path.Join(dir, name); {
			case strings.Contains(name, ".") || strings.HasSuffix(name, "~"): // sudo skips these
			case name == s.Name && rules != nil:
				add(file, rules)
			default:
				add(file, edit.Lines(files, file))
			}
		}
	}
	return all, included
}

// among refuses rules that are valid alone, and invalid among all lines that sudo reads: an alias that two files
// define, for example. A sudo that finds a mistake may refuse everything.
func (s *Sudoers) among(ctx context.Context, h modules.Host, after []line) error {
	mistake, err := s.mistakeIn(ctx, h, after)
	if err != nil || mistake == "" {
		return err
	}
	before, _ := s.merged(h.Files, nil)
	earlier, err := s.mistakeIn(ctx, h, before)
	switch {
	case err != nil:
		return err
	case earlier != "":
		h.Report.Message(modules.LevelWarning, "visudo finds a mistake in another file: "+earlier)
		return nil
	}
	return &refused{"with the other files of sudo: " + mistake}
}

// mistakeIn returns the first mistake that visudo finds in lines, or "".
func (s *Sudoers) mistakeIn(ctx context.Context, h modules.Host, lines []line) (string, error) {
	var text strings.Builder
	for _, l := range lines {
		text.WriteString(l.text + "\n")
	}
	exit, err := s.visudo(ctx, h, text.String())
	if err != nil || exit.Code == 0 {
		return "", err
	}
	mistake := said(exit)
	var at, column int
	if n, _ := fmt.Sscanf(mistake, "%d:%d:", &at, &column); n == 2 && at >= 1 && at <= len(lines) {
		l := lines[at-1]
		return fmt.Sprintf("%s:%d: %s", l.file, l.number, mistake[strings.Index(mistake, ": ")+2:]), nil
	}
	return mistake, nil
}

// overridden returns a warning if sudo does not read the rules among its lines, or reads another rule after them that decides whether
// a password is needed: the last rule that matches does (sudoers(5)).
func (s *Sudoers) overridden(h modules.Host, lines []line, included bool) string {
	if !included {
		if s.at() == path.Join(defaultDir, s.Name) && len(lines) > 0 || s.main != "" {
			return fmt.Sprintf("%s has no line @includedir %s, so sudo reads no file there", s.mainFile(), path.Dir(s.at()))
		}
		return ""
	}
	tables, _ := accounts.Read(h)
	for i, l := range lines {
		own, ok := parseGrant(l.text)
		if l.file != s.at() || !ok {
			continue
		}
		for _, later := range lines[i+1:] {
			other, ok := parseGrant(later.text)
			if !ok || later.file == s.at() || other.free == own.free || !other.covers(own, tables) {
				continue
			}
			needs := map[bool]string{true: "needs no password", false: "needs a password"}[other.free]
			return fmt.Sprintf("sudo reads %s:%d after the rules of %s, and the last rule that matches decides: %s %s there", later.file, later.number, s.at(), own.who, needs)
		}
	}
	return ""
}

// A grant is a line that allows a user to run commands.
type grant struct {
	who, commands string
	free          bool // no password is needed
}

// parseGrant reads a line: WHO HOSTS = (RUNAS) TAGS: COMMANDS.
func parseGrant(text string) (r grant, ok bool) {
	left, right, ok := strings.Cut(text, "=")
	words := strings.Fields(left)
	if !ok || len(words) != 2 || strings.HasPrefix(words[0], "#") || strings.HasPrefix(words[0], "Defaults") || strings.HasSuffix(words[0], "_Alias") {
		return grant{}, false
	}
	r.who, right = words[0], strings.TrimSpace(right)
	if strings.HasPrefix(right, "(") {
		_, right, _ = strings.Cut(right, ")")
		right = strings.TrimSpace(right)
	}
	for {
		tag, rest, tagged := strings.Cut(right, ":")
		if !tagged || strings.ToUpper(tag) != tag || strings.ContainsAny(tag, "/, ") {
			break
		}
		r.free = tag == "NOPASSWD" || r.free && tag != "PASSWD"
		right = strings.TrimSpace(rest)
	}
	r.commands = right
	return r, true
}

// covers reports whether a rule also applies to the user and the commands of another one.
func (r grant) covers(own grant, tables *accounts.Tables) bool {
	who := r.who == "ALL" || r.who == own.who
	if group, is := strings.CutPrefix(r.who, "%"); is && tables != nil {
		user, _ := tables.User(own.who)
		primary, known := tables.Group(group)
		who = who || slices.Contains(tables.GroupsOf(own.who), group) || known && user.Name != "" && primary.GID == user.GID
	}
	return who && (r.commands == "ALL" || r.commands == own.commands)
}
