package file

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
)

func TestSymbolicModes(t *testing.T) {
	for _, test := range []struct {
		symbolic        string
		mode, want, dir fs.FileMode // dir is the mode of a directory
	}{
		{"u=rw,g=r,o=", 0o777, 0o640, 0o640},
		{"a+x", 0o640, 0o751, 0o751},
		{"g-w", 0o664, 0o644, 0o644},
		{"+w", 0o444, 0o666, 0o666},
		{"a=rX", 0o640, 0o444, 0o555},
		{"a=rX", 0o100, 0o555, 0o555},
		{"ug+rw-x", 0o111, 0o661, 0o661},
		{"u=", 0o755 | fs.ModeSetuid, 0o055, 0o055 | fs.ModeSetuid},
		{"u+w", 0o555 | fs.ModeSetuid, 0o755 | fs.ModeSetuid, 0o755 | fs.ModeSetuid},
		{"g=r", 0o775 | fs.ModeSetgid, 0o745, 0o745 | fs.ModeSetgid},
		{"u+s", 0o755, 0o755 | fs.ModeSetuid, 0o755 | fs.ModeSetuid},
		{"o+s,u+t", 0o755, 0o755, 0o755},
		{"+t", 0o777, 0o777 | fs.ModeSticky, 0o777 | fs.ModeSticky},
		{"a+s", 0o755, 0o755 | fs.ModeSetuid | fs.ModeSetgid, 0o755 | fs.ModeSetuid | fs.ModeSetgid},
		{"ug-s,-t", 0o755 | modules.SpecialBits, 0o755, 0o755},
		{"g=rxs", 0o700 | fs.ModeSetuid, 0o750 | fs.ModeSetuid | fs.ModeSetgid, 0o750 | fs.ModeSetuid | fs.ModeSetgid},
		{"u=rw-s", 0o755 | fs.ModeSetuid, 0o655, 0o655},
	} {
		mode := test.mode
		require.Equal(t, test.want, changed(mode, test.symbolic, false), test.symbolic)
		require.Equal(t, test.dir, changed(mode, test.symbolic, true), test.symbolic)
		require.Equal(t, test.want, changed(changed(mode, test.symbolic, false), test.symbolic, false), "%s again", test.symbolic)
	}
}

// TestSymbolicModesAreThoseOfChmod compares with chmod(1), for files and directories. There is one difference: o= keeps
// the sticky bit of a directory, which keeps others from removing its entries.
func TestSymbolicModesAreThoseOfChmod(t *testing.T) {
	chmod := needs.Program(t, "chmod")
	rng := rand.New(rand.NewPCG(4, 2))
	pick := func(from string, least int) (s string) {
		for n := least + rng.IntN(3); n > 0; n-- {
			s += string(from[rng.IntN(len(from))])
		}
		return s
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/f", nil, 0o600))
	require.NoError(t, os.Mkdir(dir+"/d", 0o700))
	for range 200 {
		symbolic := pick("ugoa", 1) + pick("+-=", 1)[:1] + pick("rwxXst", 0)
		for range rng.IntN(3) {
			symbolic += "," + pick("ugo", 1) + pick("+-=", 1)[:1] + pick("rwxXst", 0)
		}
		require.NoError(t, (&File{Name: "/f", Mode: symbolic}).Validate(), symbolic)
		for _, name := range []string{"f", "d"} {
			mode := fs.FileMode(rng.IntN(0o1000))
			for _, special := range []fs.FileMode{fs.ModeSetuid, fs.ModeSetgid, fs.ModeSticky} {
				if rng.IntN(4) == 0 {
					mode |= special
				}
			}
			require.NoError(t, os.Chmod(dir+"/"+name, mode))
			out, err := exec.CommandContext(t.Context(), chmod, "--", symbolic, dir+"/"+name).CombinedOutput()
			require.NoError(t, err, "%s: %s", symbolic, out)
			info, err := os.Stat(dir + "/" + name)
			require.NoError(t, err)
			got, want := changed(mode, symbolic, name == "d"), info.Mode()&^fs.ModeDir
			if name == "d" && strings.ContainsRune(symbolic, '=') {
				got, want = got&^fs.ModeSticky, want&^fs.ModeSticky
			}
			require.Equal(t, modules.FormatMode(want), modules.FormatMode(got), "%s of %s, which was %s", symbolic, name, modules.FormatMode(mode))
		}
	}
}
