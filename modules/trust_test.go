package modules_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// owned maps paths to files; only their attributes matter.
type owned map[string]modules.FileInfo

// ownedFiles are the files of a host without anything else.
type ownedFiles struct {
	modules.FileReader
	all owned
}

// Stat implements [modules.FileReader].
func (o ownedFiles) Stat(name string) (modules.FileInfo, error) {
	info, ok := o.all[name]
	if !ok {
		return info, fs.ErrNotExist
	}
	return info, nil
}

// TestOthersMayChange has who could bring root to run something.
func TestOthersMayChange(t *testing.T) {
	dir := func(uid, gid int, mode fs.FileMode) modules.FileInfo {
		return modules.FileInfo{Kind: modules.Directory, UID: uid, GID: gid, Mode: mode}
	}
	file := func(uid, gid int, mode fs.FileMode) modules.FileInfo {
		return modules.FileInfo{Kind: modules.Regular, UID: uid, GID: gid, Mode: mode}
	}
	root := dir(0, 0, 0o755)
	for _, test := range []struct {
		name  string
		files owned
		err   string
	}{
		{"root's", owned{"/": root, "/d": root, "/d/f": file(0, 0, 0o755)}, ""},
		{"one's own", owned{"/": root, "/d": dir(7, 7, 0o755), "/d/f": file(7, 7, 0o755)}, ""},
		{"of staff", owned{"/": root, "/d": dir(0, 50, 0o2775), "/d/f": file(0, 50, 0o775)}, ""},
		{"below one like /tmp", owned{"/": root, "/d": dir(0, 0, 0o777|fs.ModeSticky), "/d/f": file(0, 0, 0o755)}, ""},
		{"a file of another", owned{"/": root, "/d": root, "/d/f": file(1000, 0, 0o755)}, "user 1000 can change /d/f"},
		{"another's below one like /tmp", owned{"/": root, "/d": dir(0, 0, 0o777|fs.ModeSticky), "/d/f": file(1000, 0, 0o755)}, "user 1000 can change /d/f"},
		{"in a directory of another", owned{"/": root, "/d": dir(1000, 0, 0o755), "/d/f": file(0, 0, 0o755)}, "user 1000 can change /d"},
		{"for everybody", owned{"/": root, "/d": root, "/d/f": file(0, 0, 0o757)}, "everybody can change /d/f"},
		{"in a directory for everybody", owned{"/": root, "/d": dir(0, 0, 0o777), "/d/f": file(0, 0, 0o755)}, "everybody can change /d"},
		{"one like /tmp itself", owned{"/": root, "/d": root, "/d/f": dir(0, 0, 0o777|fs.ModeSticky)}, "everybody can change /d/f"},
		{"for a group", owned{"/": root, "/d": root, "/d/f": file(0, 1000, 0o775)}, "group 1000 can change /d/f"},
		{"through a link of another", owned{"/": root, "/d": dir(0, 0, 0o777|fs.ModeSticky), "/r": file(0, 0, 0o755),
			"/d/f": {Kind: modules.Symlink, UID: 1000, Mode: 0o777, Target: "/r"}}, "user 1000 can change /d/f"},
		{"through a link in a directory of another", owned{"/": root, "/d": dir(1000, 0, 0o755), "/r": file(0, 0, 0o755),
			"/d/f": {Kind: modules.Symlink, Mode: 0o777, Target: "../r"}}, "user 1000 can change /d"},
		{"not there", owned{"/": root, "/d": root}, "file does not exist"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := modules.OthersMayChange(ownedFiles{all: test.files}, "/d/f", 7)
			if test.err == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.err)
		})
	}
}
