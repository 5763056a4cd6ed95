package accounts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Unknown is an id that the host will choose.
const Unknown = -1

// MaxID is the largest user or group id; the one above means "no id". A program for 32 bits supports only ids that fit
// an int.
const MaxID = min(1<<32-2, math.MaxInt)

// A User is an entry of passwd(5).
type User struct {
	Name    string
	UID     int // [Unknown] only in a check run
	GID     int // id of the primary group; [Unknown] only in a check run
	Comment string
	Home    string
	Shell   string
	// Password is the second field: "x" if shadow(5) has the hash.
	Password string
}

// A Group is an entry of group(5).
type Group struct {
	Name    string
	GID     int // [Unknown] only in a check run
	Members []string
}

// A Shadow is an entry of shadow(5).
type Shadow struct {
	Name    string
	Hash    string // hash of crypt(3), perhaps after a "!", or a text that matches no password
	Expires string // day of the account's end, in days since 1970; empty means none
	// Missing is set if passwd(5) refers to an entry that shadow(5) does not have.
	Missing bool
}

// maxFile limits how much of a file is read, in bytes: some 200000 accounts.
const maxFile = 16 << 20

// read returns the text of a file; a missing file is empty.
func read(files modules.FileReader, name string) (string, error) {
	r, err := files.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer r.Close()
	var text bytes.Buffer
	n, err := io.Copy(&text, io.LimitReader(r, maxFile+1))
	if n > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxFile)
	}
	return text.String(), err
}

// entries calls add with the fields of each line that has as many as it should.
// Others are comments, or refer to name services ("+").
func entries(text string, fields int, add func(f []string)) {
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), ":")
		if len(f) == fields && f[0] != "" && !strings.ContainsAny(f[0][:1], "#+-") {
			add(f)
		}
	}
}

// ParseUsers reads passwd(5).
func ParseUsers(text string) []User {
	var users []User
	entries(text, 7, func(f []string) {
		uid, okUID := ID(f[2])
		gid, okGID := ID(f[3])
		if okUID && okGID {
			users = append(users, User{Name: f[0], Password: f[1], UID: uid, GID: gid, Comment: f[4], Home: f[5], Shell: f[6]})
		}
	})
	return users
}

// ParseGroups reads group(5).
func ParseGroups(text string) []Group {
	var groups []Group
	entries(text, 4, func(f []string) {
		if gid, ok := ID(f[2]); ok {
			members := strings.FieldsFunc(f[3], func(r rune) bool { return r == ',' })
			groups = append(groups, Group{Name: f[0], GID: gid, Members: members})
		}
	})
	return groups
}

// ParseShadows reads shadow(5).
func ParseShadows(text string) []Shadow {
	var shadows []Shadow
	entries(text, 9, func(f []string) {
		shadows = append(shadows, Shadow{Name: f[0], Hash: f[1], Expires: f[7]})
	})
	return shadows
}

// ID reads an id in decimal.
func ID(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, strconv.IntSize-1)
	return int(n), err == nil && n <= MaxID
}
