// Package needs skips a test on a machine that lacks a program or a permission, and names it. If CI is set, the test
// fails instead, since CI installs everything that tests need.
package needs

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Prefix begins the line that a skipped test prints; the reason follows.
const Prefix = "NOT TESTED: "

const (
	lacks          = "this machine has no "
	administrators = ":/usr/local/sbin:/usr/sbin:/sbin"
)

// Program returns the path of the first program. It skips the test if one of the programs is missing. Programs of
// administrators are found too: the PATH of an ordinary user may lack their folders.
func Program(tb testing.TB, names ...string) (path string) {
	tb.Helper()
	return ProgramIn(tb, os.Getenv("PATH")+administrators, names...)
}

// Extra is [Program] for a program that CI does not install: the test skips there too.
func Extra(tb testing.TB, name string) (path string) {
	tb.Helper()
	if path = find(os.Getenv("PATH")+administrators, name); path == "" {
		tb.Skip(Prefix + lacks + name + ", and CI does not install it")
	}
	return path
}

// ProgramIn is [Program] with folders in place of PATH.
func ProgramIn(tb testing.TB, folders string, names ...string) (path string) {
	tb.Helper()
	for i, name := range names {
		found := find(folders, name)
		if found == "" {
			Missing(tb, name)
		}
		if i == 0 {
			path = found
		}
	}
	return path
}

// Missing skips the test because the machine has no what, such as "terminals".
func Missing(tb testing.TB, what string) {
	tb.Helper()
	Skip(tb, lacks+what)
}

// Skip skips the test for another reason that does not hold in CI.
func Skip(tb testing.TB, why string) {
	tb.Helper()
	if os.Getenv("CI") != "" {
		tb.Fatal("cannot run in CI: " + why)
	}
	tb.Skip(Prefix + why)
}

// Root skips the test for other users than root, also in CI: `make root` runs it there.
func Root(tb testing.TB, why string) {
	tb.Helper()
	if os.Geteuid() != 0 {
		tb.Skip(Prefix + why)
	}
}

// find returns "" if no folder has the program.
func find(folders, name string) string {
	if filepath.IsAbs(name) {
		folders, name = filepath.Split(name)
	}
	for _, folder := range filepath.SplitList(folders) {
		if path, err := exec.LookPath(filepath.Join(folder, name)); folder != "" && err == nil {
			return path
		}
	}
	return ""
}
