package engine_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// give sets an extended attribute, or skips the test where the file system has none.
func (u *undoer) give(name, attribute, value string) {
	u.t.Helper()
	err := unix.Setxattr(u.at(name), attribute, []byte(value), 0)
	if err == unix.ENOTSUP && os.Getenv("CI") == "" {
		u.t.Skipf("NOT TESTED: the file system of %s has no %s", u.dir, attribute)
	}
	require.NoError(u.t, err, attribute)
}

func (u *undoer) attribute(name, attribute string) string {
	u.t.Helper()
	value := make([]byte, 4096)
	n, err := unix.Getxattr(u.at(name), attribute, value)
	if err == unix.ENODATA {
		return "none"
	}
	require.NoError(u.t, err, attribute)
	return string(value[:n])
}

// Access lists in which user 7 may read and write as far as the mask allows, with a mode of 0660 and 0700. Their owning
// groups have no permissions.
const (
	fileList      = "\x02\x00\x00\x00\x01\x00\x06\x00\xff\xff\xff\xff\x02\x00\x06\x00\x07\x00\x00\x00\x04\x00\x00\x00\xff\xff\xff\xff\x10\x00\x06\x00\xff\xff\xff\xff\x20\x00\x00\x00\xff\xff\xff\xff"
	directoryList = "\x02\x00\x00\x00\x01\x00\x07\x00\xff\xff\xff\xff\x02\x00\x06\x00\x07\x00\x00\x00\x04\x00\x00\x00\xff\xff\xff\xff\x10\x00\x00\x00\xff\xff\xff\xff\x20\x00\x00\x00\xff\xff\xff\xff"
)

// TestUndoOfXattrs brings back the extended attributes of what was written, changed and removed.
func TestUndoOfXattrs(t *testing.T) {
	u := newUndoer(t)
	for _, name := range []string{"written", "changed", "removed", "touched"} {
		u.write(name, "old")
		require.NoError(t, os.Chmod(u.at(name), 0o660))
		u.give(name, "system.posix_acl_access", fileList)
		u.give(name, "user.origin", "here")
	}
	require.NoError(t, os.Mkdir(u.at("d"), 0o700))
	u.give("d", "system.posix_acl_access", directoryList)
	u.give("d", "system.posix_acl_default", directoryList)
	same := func() {
		t.Helper()
		for _, name := range []string{"written", "changed", "removed", "touched"} {
			require.Equal(t, fileList, u.attribute(name, "system.posix_acl_access"), name)
			require.Equal(t, "here", u.attribute(name, "user.origin"), name)
		}
		require.Equal(t, directoryList, u.attribute("d", "system.posix_acl_access"))
		require.Equal(t, directoryList, u.attribute("d", "system.posix_acl_default"))
	}
	same()
	u.apply("1",
		text("$/written", "new"),
		enginetest.File("$/changed", `"mode":"0640"`),
		removed("$/removed", ""),
		text("$/touched", "new"),
		removed("$/d", ""),
	)
	require.Equal(t, "here", u.attribute("written", "user.origin"), "it is handed on")
	require.NoError(t, unix.Removexattr(u.at("touched"), "user.origin"))

	want := []string{
		"changed file#$/d: %sestored the state before the run",
		"changed file#$/touched: %sestored the state before the run",
		"changed file#$/removed: %sestored the state before the run",
		"changed file#$/changed: %sestored the state before the run",
		"changed file#$/written: %sestored the state before the run",
	}
	said := func(how string) string { return strings.ReplaceAll(strings.Join(want, "\n"), "%s", how) }
	require.Equal(t, said("Would have r"), strings.Join(u.undo("1", true), "\n"))
	require.Equal(t, said("r"), strings.Join(u.undo("1", false), "\n"))
	require.Equal(t, "none", u.attribute("touched", "user.origin"), "somebody has taken it away since")
	u.give("touched", "user.origin", "here")
	same()
}

// TestXattrsAreStable finds nothing to do in a second run, whatever the access list says besides.
func TestXattrsAreStable(t *testing.T) {
	u := newUndoer(t)
	u.write("f", "old")
	u.give("f", "system.posix_acl_access", fileList)
	entry := enginetest.File("$/f", `"mode":"0640","content":"new"`)
	for run, want := range []wire.Status{wire.Changed, ""} {
		for _, check := range []bool{true, false} {
			cat := enginetest.In(u.dir, wire.Catalog{Check: check, Entries: []wire.Entry{entry}})
			results, _ := enginetest.Run(t, u.engine(), u.dir, cat)
			require.Equal(t, want, results[0].Status, "run %d, check %t", run+1, check)
		}
	}
	info, err := os.Stat(u.at("f"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode())
	require.Equal(t, strings.Replace(fileList, "\x10\x00\x06", "\x10\x00\x04", 1), u.attribute("f", "system.posix_acl_access"))
}

// TestUndoOfCapabilities brings back what the kernel takes from a program that is written or gets
// another owner.
func TestUndoOfCapabilities(t *testing.T) {
	needs.Root(t, "only root gives capabilities")
	const netRaw = "\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	u := newUndoer(t)
	for _, name := range []string{"written", "owned", "since"} {
		u.write(name, "old")
		u.give(name, "security.capability", netRaw)
	}
	u.apply("1",
		enginetest.File("$/written", `"content":"new"`),
		enginetest.File("$/owned", `"owner":"7"`),
		enginetest.File("$/since", `"owner":"7"`),
	)
	for _, name := range []string{"written", "owned", "since"} {
		require.Equal(t, "none", u.attribute(name, "security.capability"), name)
	}
	u.write("since", "odd")
	results := u.undo("1", false)
	require.Equal(t, netRaw, u.attribute("written", "security.capability"))
	require.Equal(t, netRaw, u.attribute("owned", "security.capability"))
	require.Equal(t, "none", u.attribute("since", "security.capability"), "whoever wrote it would have them")
	require.Contains(t, results[0], "it may have been written since, and would run with the capabilities that it had")
}

// TestUndoLeavesXattrsOfOthers leaves alone what somebody has said of a file since.
func TestUndoLeavesXattrsOfOthers(t *testing.T) {
	u := newUndoer(t)
	u.write("f", "old")
	u.give("f", "user.a", "1")
	u.apply("1", removed("$/f", ""))
	u.write("f", "old")
	require.Equal(t, []string{"failed file#$/f: left unchanged: $/f: it has changed since the run: ensure is file, and was absent"}, u.undo("1", false))

	u.write("g", "old")
	u.apply("2", text("$/g", "new"))
	u.give("g", "user.a", "2")
	require.Equal(t, []string{"changed file#$/g: restored the state before the run"}, u.undo("2", false))
	require.Equal(t, "2", u.attribute("g", "user.a"))
}
