package accounts

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// A Restored holds the changes that restore a record.
type Restored struct {
	Texts   map[string]string // the files that change, by path
	Changes []modules.Change
	// Left names the parts that are not restored, and why.
	Left []string
	// Gone means that the user existed before and is not restored.
	Gone bool
	// Commands give files their old owner and group with a uid or gid that is restored: run them before Texts are
	// written, and then plan Texts again.
	Commands [][]string
}

// A restoring restores a record: in each part the changes of the run, and only if the part is still as the run left it.
type restoring struct {
	name      string
	was, left Record
	files     modules.FileReader
	now       texts
	out       Restored
}

// Restore plans to restore a record. left is the record after the run; nil means the current one.
func Restore(files modules.FileReader, name string, was, left *Record) (Restored, error) {
	now, err := readTexts(files)
	if err != nil {
		return Restored{}, err
	}
	r := &restoring{name: name, was: *was, files: files, now: now, out: Restored{Texts: map[string]string{}}}
	if r.left = now.record(name); left != nil {
		r.left = *left
	}
	if r.user() {
		r.entry(ShadowFile, nil)
		r.entry(subUIDFile, nil)
		r.entry(subGIDFile, nil)
		if r.entry(GroupFile, r.groupFree) {
			r.entry(gshadowFile, nil)
		}
		for _, file := range []string{GroupFile, gshadowFile} {
			for _, field := range members[file] {
				r.memberships(file, field)
			}
		}
	}
	return r.out, nil
}

// user restores the entry of the user. It reports false if nothing else may change because of it.
func (r *restoring) user() bool {
	_, was := r.was.User()
	now := r.record()
	if _, is := now.User(); !was && is && !r.asLeft(ShadowFile, r.left.Lines[ShadowFile], now.Lines[ShadowFile]) {
		r.leave("user %q has been changed since (%s)", r.name, ShadowFile)
		return false
	}
	if r.entry(PasswdFile, r.userFree) {
		return true
	}
	is := r.record()
	_, there := is.User()
	r.out.Gone = was && !there
	return false
}

// text is a file as it will be.
func (r *restoring) text(file string) string {
	if text, changed := r.out.Texts[file]; changed {
		return text
	}
	return r.now[file]
}

// record returns the entries of the name as the files will have them.
func (r *restoring) record() Record {
	all := texts{}
	for _, file := range RecordFiles() {
		all[file] = r.text(file)
	}
	return all.record(r.name)
}

func (r *restoring) leave(format string, args ...any) {
	r.out.Left = append(r.out.Left, fmt.Sprintf(format, args...))
}

func (r *restoring) change(property, have, want string) {
	if !slices.ContainsFunc(r.out.Changes, func(c modules.Change) bool { return c.Property == property }) {
		r.out.Changes = append(r.out.Changes, modules.Change{Property: property, Have: have, Want: want})
	}
}

// what names the user or group of a line in messages.
func (r *restoring) what(file string) string {
	switch file {
	case GroupFile, gshadowFile:
		return fmt.Sprintf("group %q", r.name)
	}
	return fmt.Sprintf("user %q", r.name)
}

// property returns the name of a file's line in a change.
func property(file string) string {
	switch file {
	case PasswdFile:
		return "user"
	case GroupFile:
		return "group"
	}
	return strings.TrimPrefix(file, "/etc/")
}

// entry restores the lines of a file. free returns why a line cannot be added, or removed. entry reports whether the
// file has its old lines.
func (r *restoring) entry(file string, free func(was, is string) string) bool {
	was, left, now := r.was.Lines[file], r.left.Lines[file], r.record().Lines[file]
	switch {
	case slices.Equal(was, left), slices.Equal(was, now):
		return true
	case len(was) == 1 && len(left) == 1 && len(now) == 1 && fields[file] != nil:
		return r.fields(file, was[0], left[0], now[0])
	case len(was) == 1 && len(left) == 1 && len(now) == 0:
		r.leave("%s has been removed since", r.what(file))
		return false
	case len(left) == 0 && len(now) > 0:
		r.leave("%s has been made again since (%s)", r.what(file), file)
		return false
	case len(was) == 0 && len(now) == 0:
		return true
	case len(was) == 0 && !r.asLeft(file, left, now):
		r.leave("%s has been changed since (%s)", r.what(file), file)
		return false
	case len(left) > 0 && len(was) > 0 && !slices.Equal(left, now):
		r.leave("%s has been changed since (%s)", r.what(file), file)
		return false
	}
	if free != nil {
		if why := free(strings.Join(was, "\n"), strings.Join(now, "\n")); why != "" {
			r.leave("%s", why)
			return false
		}
	}
	r.put(file, was)
	state := func(lines []string) string {
		if len(lines) == 0 {
			return "absent"
		}
		return "present"
	}
	if have, want := state(now), state(was); have != want && (file == PasswdFile || file == GroupFile) {
		r.change(property(file), have, want)
	}
	return true
}

// asLeft reports whether the lines that the run wrote are unchanged. Other resources may change the members of a group.
func (r *restoring) asLeft(file string, left, now []string) bool {
	if len(left) != len(now) {
		return false
	}
	for i := range now {
		l, n := strings.Split(left[i], ":"), strings.Split(now[i], ":")
		if len(l) != len(n) {
			return false
		}
		for at := range l {
			if l[at] != n[at] && !slices.Contains(members[file], at) {
				return false
			}
		}
	}
	return true
}

// fields restores the fields of a line. It always reports true: the account exists.
func (r *restoring) fields(file, was, left, now string) bool {
	w, l, n := strings.Split(was, ":"), strings.Split(left, ":"), strings.Split(now, ":")
	if len(w) != len(l) || len(w) != len(n) {
		r.leave("%s has been changed since (%s)", r.what(file), file)
		return true
	}
	for i := range w {
		if w[i] == l[i] || w[i] == n[i] {
			continue
		}
		if slices.Contains(members[file], i) {
			n[i] = merged(w[i], l[i], n[i])
			continue
		}
		name := fields[file][i]
		have, want := n[i], w[i]
		if name == "password" {
			have, want = "[hash]", "[another hash]"
		}
		switch {
		case n[i] != l[i]:
			r.leave("the %s of %s has been changed since", name, r.what(file))
			continue
		case file == PasswdFile && name == "uid":
			if why := r.userFree(was, now); why != "" {
				r.leave("%s", why)
				continue
			}
		case file == GroupFile && name == "gid":
			if why := r.groupFree(was, now); why != "" {
				r.leave("%s", why)
				continue
			}
		}
		n[i] = w[i]
		r.change(name, have, want)
		switch {
		case file == PasswdFile && name == "uid":
			r.out.Commands = append(r.out.Commands, []string{"usermod", "-u", want, "--", r.name})
		case file == PasswdFile && name == "group":
			r.out.Commands = append(r.out.Commands, []string{"usermod", "-g", want, "--", r.name})
		case file == GroupFile && name == "gid":
			r.out.Commands = append(r.out.Commands, []string{"groupmod", "-g", want, "--", r.name})
		}
	}
	if line := strings.Join(n, ":"); line != now {
		r.put(file, []string{line})
	}
	return true
}

// userFree returns the reason why a user cannot be added or removed; "" if it can.
func (r *restoring) userFree(was, is string) string {
	old, now := ParseUsers(was+"\n"), ParseUsers(is+"\n")
	if len(now) > 0 && (len(old) == 0 || old[0].UID != now[0].UID) {
		if pid, busy := Process(r.files, now[0].UID); busy {
			return fmt.Sprintf("user %q is logged in or has running processes, such as process %s", r.name, pid)
		}
	}
	for _, u := range ParseUsers(r.text(PasswdFile)) {
		if len(old) > 0 && u.UID == old[0].UID && u.Name != r.name {
			return fmt.Sprintf("user %q had the uid %d, which user %q has now", r.name, u.UID, u.Name)
		}
	}
	return ""
}

// groupFree returns the reason why a group cannot be added or removed; "" if it can.
func (r *restoring) groupFree(was, is string) string {
	old, now := ParseGroups(was+"\n"), ParseGroups(is+"\n")
	for _, g := range ParseGroups(r.text(GroupFile)) {
		if len(old) > 0 && g.GID == old[0].GID && g.Name != r.name {
			return fmt.Sprintf("group %q had the gid %d, which group %q has now", r.name, g.GID, g.Name)
		}
	}
	if len(old) > 0 || len(now) == 0 {
		return ""
	}
	for _, u := range ParseUsers(r.text(PasswdFile)) {
		if u.GID == now[0].GID {
			return fmt.Sprintf("group %q is the primary group of user %q", r.name, u.Name)
		}
	}
	return ""
}

// memberships brings back which groups list the user. Of groups that come back or go themselves, the
// whole line does.
func (r *restoring) memberships(file string, field int) {
	was, left := r.was.groups(file, field), r.left.groups(file, field)
	_, stays := r.was.User()
	own := r.record()
	if _, is := own.User(); is {
		stays = true // such as one of a name service
	}
	var lines []string
	known := map[string]bool{}
	for line := range strings.Lines(r.text(file)) {
		line = strings.TrimSuffix(line, "\n")
		f := strings.Split(line, ":")
		known[f[0]] = true
		if len(f) > field {
			_, had := was[f[0]]
			_, has := left[f[0]]
			list := strings.FieldsFunc(f[field], func(c rune) bool { return c == ',' })
			switch is := slices.Contains(list, r.name); {
			case had && !has && !is:
				f[field] = strings.Join(ordered(append(list, r.name), was[f[0]]), ",")
			case !had && is && (has || !stays):
				f[field] = strings.Join(slices.DeleteFunc(list, func(one string) bool { return one == r.name }), ",")
			}
		}
		lines = append(lines, strings.Join(f, ":"))
	}
	for g := range was {
		if _, has := left[g]; !has && !known[g] && file == GroupFile {
			r.leave("user %q was in group %q, which is not there", r.name, g)
		}
	}
	if text := join(lines); text != r.text(file) {
		r.out.Texts[file] = text
		if file == GroupFile {
			r.change("groups", shown(left), shown(was))
		}
	}
}

// merged returns the members of now, plus the members that the run removed, minus the members that it
// added.
func merged(was, left, now string) string {
	split := func(list string) []string { return strings.FieldsFunc(list, func(c rune) bool { return c == ',' }) }
	before, after := split(was), split(left)
	list := slices.DeleteFunc(split(now), func(one string) bool { return slices.Contains(after, one) && !slices.Contains(before, one) })
	for _, one := range before {
		if !slices.Contains(after, one) && !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return strings.Join(ordered(list, was), ",")
}

// ordered is a list of users in the order of another one, if that has the same users.
func ordered(list []string, as string) []string {
	other := strings.Split(as, ",")
	if slices.Equal(slices.Sorted(slices.Values(list)), slices.Sorted(slices.Values(other))) {
		return other
	}
	return list
}

func shown(groups map[string]string) string {
	if len(groups) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(groups)), ",")
}

func join(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// put replaces the lines of the name in a file. New ones come below the entry below which they were,
// or at the end.
func (r *restoring) put(file string, want []string) {
	var lines []string
	at := -1 // index for the new lines
	for line := range strings.Lines(r.text(file)) {
		line = strings.TrimSuffix(line, "\n")
		name, _, _ := strings.Cut(line, ":")
		if name == r.name {
			if at < 0 {
				at = len(lines)
			}
			continue
		}
		lines = append(lines, line)
	}
	if at < 0 {
		at = r.place(file, lines)
	}
	r.out.Texts[file] = join(slices.Insert(lines, at, want...))
}

func (r *restoring) place(file string, lines []string) int {
	above, noted := r.was.Above[file]
	if noted && above == "" {
		return 0
	}
	for i, line := range slices.Backward(lines) {
		if name, _, _ := strings.Cut(line, ":"); noted && name == above {
			return i + 1
		}
	}
	for i, line := range lines { // the lines after it refer to name services
		if strings.HasPrefix(line, "+") {
			return i
		}
	}
	return len(lines)
}
