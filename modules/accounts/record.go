package accounts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Files of accounts that a [Record] covers, in the order in which they are written.
const (
	gshadowFile = "/etc/gshadow"
	subUIDFile  = "/etc/subuid"
	subGIDFile  = "/etc/subgid"
)

// RecordFiles returns the paths of the files that a [Record] covers.
func RecordFiles() []string {
	return []string{GroupFile, gshadowFile, PasswdFile, ShadowFile, subUIDFile, subGIDFile}
}

// A Record contains all lines of a host's files about a name, as a user and as a group.
type Record struct {
	// Lines are the lines that begin with the name, by file.
	Lines map[string][]string `json:"lines,omitempty"`
	// Above names the entry above the first line, by file; empty means the top of the file.
	Above map[string]string `json:"above,omitempty"`
	// Member holds the groups that list the user, with all members, by file and field: "/etc/group 3".
	Member map[string][]string `json:"member,omitempty"`
}

// fields names the fields of a file, for messages. A field named "" is compared only as part of the line.
var fields = map[string][]string{
	PasswdFile:  {"", "password", "uid", "group", "comment", "home", "shell"},
	ShadowFile:  {"", "password", "day of the last change", "minimum age", "maximum age", "warning", "inactivity", "expiry", "flag"},
	GroupFile:   {"", "password", "gid", ""},
	gshadowFile: {"", "password", "", ""},
}

// members are the fields that list users, by file.
var members = map[string][]int{GroupFile: {3}, gshadowFile: {2, 3}}

// ReadRecord reads the lines of the files about a name.
func ReadRecord(files modules.FileReader, name string) (Record, error) {
	texts, err := readTexts(files)
	if err != nil {
		return Record{}, err
	}
	return texts.record(name), nil
}

// texts holds the files of a [Record] by path, without missing files.
type texts map[string]string

func readTexts(files modules.FileReader) (texts, error) {
	all := texts{}
	for _, name := range RecordFiles() {
		text, err := read(files, name)
		switch {
		case err != nil:
			return nil, err
		case text != "":
			all[name] = text
		}
	}
	return all, nil
}

func (t texts) record(name string) Record {
	r := Record{Lines: map[string][]string{}, Above: map[string]string{}, Member: map[string][]string{}}
	for file, text := range t {
		above := ""
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			f := strings.Split(line, ":")
			if f[0] == name {
				if len(r.Lines[file]) == 0 {
					r.Above[file] = above
				}
				r.Lines[file] = append(r.Lines[file], line)
			}
			above = f[0]
			for _, i := range members[file] {
				if len(f) > i && slices.Contains(strings.Split(f[i], ","), name) {
					key := memberKey(file, i)
					r.Member[key] = append(r.Member[key], f[0]+":"+f[i])
				}
			}
		}
	}
	return r
}

func memberKey(file string, field int) string { return fmt.Sprintf("%s %d", file, field) }

// groups maps the groups that list the user to all their members.
func (r *Record) groups(file string, field int) map[string]string {
	all := map[string]string{}
	for _, one := range r.Member[memberKey(file, field)] {
		name, list, _ := strings.Cut(one, ":")
		all[name] = list
	}
	return all
}

// User returns the user of the record, if it has one.
func (r *Record) User() (User, bool) {
	users := ParseUsers(strings.Join(r.Lines[PasswdFile], "\n") + "\n")
	if len(users) == 0 {
		return User{}, false
	}
	return users[0], true
}

// Group returns the group of the record, if it has one.
func (r *Record) Group() (Group, bool) {
	groups := ParseGroups(strings.Join(r.Lines[GroupFile], "\n") + "\n")
	if len(groups) == 0 {
		return Group{}, false
	}
	return groups[0], true
}
