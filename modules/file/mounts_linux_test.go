package file_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// refuses checks a resource, and applies it if the check succeeds. Mounts, and everything else, must not change.
func refuses(t *testing.T, root, properties, want string) {
	t.Helper()
	before := modtest.Snapshot(t, root)
	res := modtest.Decode(t, modules.Registry{file.Type()}, "file", properties, root)
	_, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
	require.EqualError(t, err, strings.ReplaceAll(want, "$ROOT", root))
	require.Equal(t, before, modtest.Snapshot(t, root))
}

// TestMountPoints checks that the check refuses the changes that the kernel refuses.
func TestMountPoints(t *testing.T) {
	if !modtest.InMountNamespace(t) {
		return
	}
	root := modtest.Root(t)
	modtest.Build(t, root, []modtest.Node{
		{Path: "keep", Dir: true}, {Path: "keep/f", Text: "x"}, {Path: "f", Text: "x"}, {Path: "ro", Text: "x"}, {Path: "d", Dir: true}, {Path: "d/in", Dir: true}, {Path: "d/f", Text: "x"},
		{Path: "same", Dir: true}, {Path: "same/in", Dir: true}, {Path: "m", Dir: true}, {Path: "rodir", Dir: true}, {Path: "bound", Dir: true},
	})
	modtest.Bind(t, root+"/keep/f", root+"/f")
	modtest.ReadOnlyBind(t, root+"/keep/f", root+"/ro")
	modtest.Tmpfs(t, root+"/d/in")
	require.NoError(t, os.WriteFile(root+"/d/in/precious", nil, 0o600))
	modtest.Bind(t, root+"/keep", root+"/same/in")
	modtest.Tmpfs(t, root+"/m")
	modtest.ReadOnlyBind(t, root+"/keep", root+"/rodir")
	modtest.Bind(t, root+"/d", root+"/bound")
	for properties, want := range map[string]string{
		`{"name":"$ROOT/f","ensure":"present","content":"new"}`:     "$ROOT/f is a mount point; unmount it first",
		`{"name":"$ROOT/f","ensure":"absent"}`:                      "$ROOT/f is a mount point; unmount it first",
		`{"name":"$ROOT/ro","ensure":"present","content":"new"}`:    "$ROOT/ro is a mount point of a read-only file system; unmount it first",
		`{"name":"$ROOT/ro","ensure":"present","mode":"0600"}`:      `the file system of "$ROOT/ro" is mounted read-only`,
		`{"name":"$ROOT/rodir/f","ensure":"absent"}`:                `the file system of "$ROOT/rodir" is mounted read-only`,
		`{"name":"$ROOT/d","ensure":"absent","force":true}`:         "$ROOT/d has file systems mounted in it: $ROOT/d/in; unmount them first",
		`{"name":"$ROOT/bound/in","ensure":"absent"}`:               "$ROOT/bound/in is a mount point, as $ROOT/d/in; unmount it first",
		`{"name":"$ROOT/same","ensure":"absent","force":true}`:      "$ROOT/same has file systems mounted in it: $ROOT/same/in; unmount them first",
		`{"name":"$ROOT/m","ensure":"absent"}`:                      "$ROOT/m is a mount point; unmount it first",
		`{"name":"$ROOT/m","ensure":"absent","force":true}`:         "$ROOT/m is a mount point; unmount it first",
		`{"name":"$ROOT/m/none/f","ensure":"present","content":""}`: `the directory "$ROOT/m/none" does not exist (create it with a file resource that has ensure: directory)`,
	} {
		t.Run(properties, func(t *testing.T) { refuses(t, root, properties, want) })
	}
	t.Run("recurse", func(t *testing.T) { // a bind mount has the device of the directory
		before := modtest.Snapshot(t, root+"/keep")
		for _, name := range []string{"same", "d"} {
			res := modtest.Decode(t, modules.Registry{file.Type()}, "file", `{"name":"$ROOT/`+name+`","ensure":"directory","recurse":true,"mode":"u=rwX,go="}`, root)
			h := modtest.Host()
			h.Forecast = modules.NoForecast{}
			plan, err := res.Check(t.Context(), modules.ReadOnly(h))
			require.NoError(t, err)
			require.NoError(t, res.Apply(t.Context(), h, plan))
		}
		require.Equal(t, before, modtest.Snapshot(t, root+"/keep"))
		info, err := os.Stat(root + "/d/f")
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
	})
	t.Run("mounted after the check", func(t *testing.T) {
		modtest.Build(t, root, []modtest.Node{{Path: "late", Dir: true}, {Path: "late/a", Text: "x"}, {Path: "late/in", Dir: true}})
		res := modtest.Decode(t, modules.Registry{file.Type()}, "file", `{"name":"$ROOT/late","ensure":"absent","force":true}`, root)
		plan, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
		require.NoError(t, err)
		modtest.Bind(t, root+"/keep", root+"/late/in")
		before := modtest.Snapshot(t, root)
		require.EqualError(t, res.Apply(t.Context(), modtest.Host(), plan), root+"/late has file systems mounted in it: "+root+"/late/in; unmount them first")
		require.Equal(t, before, modtest.Snapshot(t, root))
	})
}

// TestFlaggedFiles checks that the check refuses the changes that flags of chattr(1) forbid even root.
func TestFlaggedFiles(t *testing.T) {
	needs.Root(t, "only root can set these flags")
	const madeByTheKernel = ": files there cannot be created, replaced or removed; use an exec that writes to the file, or the type sysctl below /proc/sys"
	root := modtest.Root(t)
	modtest.Build(t, root, []modtest.Node{
		{Path: "imm", Text: "x"}, {Path: "log", Text: "x"}, {Path: "immd", Dir: true}, {Path: "immd/f", Text: "x"}, {Path: "logd", Dir: true}, {Path: "logd/f", Text: "x"},
		{Path: "tree", Dir: true}, {Path: "tree/a", Text: "x"}, {Path: "tree/imm", Text: "x"}, {Path: "l", Link: "immd"},
	})
	modtest.Flag(t, "+i", root+"/imm")
	modtest.Flag(t, "+a", root+"/log")
	modtest.Flag(t, "+i", root+"/immd")
	modtest.Flag(t, "+a", root+"/logd")
	modtest.Flag(t, "+i", root+"/tree/imm")
	for properties, want := range map[string]string{
		`{"name":"$ROOT/imm","ensure":"present","content":"new"}`:                      `"$ROOT/imm" is immutable, so it cannot be replaced or removed; run chattr -i $ROOT/imm first`,
		`{"name":"$ROOT/imm","ensure":"absent"}`:                                       `"$ROOT/imm" is immutable, so it cannot be replaced or removed; run chattr -i $ROOT/imm first`,
		`{"name":"$ROOT/imm","ensure":"present","mode":"0600"}`:                        `"$ROOT/imm" is immutable, so its owner and mode cannot be changed; run chattr -i $ROOT/imm first`,
		`{"name":"$ROOT/log","ensure":"present","content":"new"}`:                      `"$ROOT/log" is append-only, so it cannot be replaced or removed; run chattr -a $ROOT/log first`,
		`{"name":"$ROOT/log","ensure":"present","mode":"0600"}`:                        `"$ROOT/log" is append-only, so its owner and mode cannot be changed; run chattr -a $ROOT/log first`,
		`{"name":"$ROOT/immd/new","ensure":"present","content":"new"}`:                 `"$ROOT/immd" is immutable, so nothing can be made, replaced or removed in it; run chattr -i $ROOT/immd first`,
		`{"name":"$ROOT/l/new","ensure":"present","content":"new"}`:                    `"$ROOT/l" is immutable, so nothing can be made, replaced or removed in it; run chattr -i $ROOT/l first`,
		`{"name":"$ROOT/logd/new","ensure":"present","content":"new"}`:                 `"$ROOT/logd" is append-only, so nothing in it can be replaced or removed; run chattr -a $ROOT/logd first`,
		`{"name":"$ROOT/tree","ensure":"absent","force":true}`:                         `"$ROOT/tree/imm" is immutable, so it cannot be replaced or removed; run chattr -i $ROOT/tree/imm first`,
		`{"name":"$ROOT/tree","ensure":"directory","recurse":true,"file_mode":"0600"}`: `"$ROOT/tree/imm" is immutable, so its owner and mode cannot be changed; run chattr -i $ROOT/tree/imm first`,
		`{"name":"/proc/sys/kernel/ostype_","ensure":"present","content":"x"}`:         `"/proc/sys/kernel/ostype_" is in procfs` + madeByTheKernel,
		`{"name":"/proc/version","ensure":"absent"}`:                                   `"/proc/version" is in procfs` + madeByTheKernel,
		`{"name":"/sys/kernel/mm/new","ensure":"present","content":"x"}`:               `"/sys/kernel/mm/new" is in sysfs` + madeByTheKernel,
	} {
		t.Run(properties, func(t *testing.T) { refuses(t, root, properties, want) })
	}
}
