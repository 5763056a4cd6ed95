package file

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSymbolicModes(t *testing.T) {
	for _, test := range []struct {
		symbolic        string
		mode, want, dir fs.FileMode // dir is what a directory gets
	}{
		{"u=rw,g=r,o=", 0o777, 0o640, 0o640},
		{"a+x", 0o640, 0o751, 0o751},
		{"g-w", 0o664, 0o644, 0o644},
		{"+w", 0o444, 0o666, 0o666},
		{"a=rX", 0o640, 0o444, 0o555},
		{"a=rX", 0o100, 0o555, 0o555},
		{"ug+rw-x", 0o111, 0o661, 0o661},
		{"u=", 0o4755 | fs.ModeSetuid, 0o055, 0o055},
		{"u+w", 0o555 | fs.ModeSetuid, 0o755 | fs.ModeSetuid, 0o755 | fs.ModeSetuid},
		{"g=r", 0o775 | fs.ModeSetgid, 0o745, 0o745},
	} {
		mode := test.mode & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid)
		require.Equal(t, test.want, changed(mode, test.symbolic, false), test.symbolic)
		require.Equal(t, test.dir, changed(mode, test.symbolic, true), test.symbolic)
		require.Equal(t, test.want, changed(changed(mode, test.symbolic, false), test.symbolic, false), "%s again", test.symbolic)
	}
}

// TestSymbolicModesAreThoseOfChmod has chmod(1) change files and directories, too.
func TestSymbolicModesAreThoseOfChmod(t *testing.T) {
	chmod, err := exec.LookPath("chmod")
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("there is no chmod")
	}
	require.NoError(t, err)
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
	for range 60 {
		symbolic := pick("ugoa", 1) + pick("+-=", 1)[:1] + pick("rwxX", 0)
		for range rng.IntN(3) {
			symbolic += "," + pick("ugo", 1) + pick("+-=", 1)[:1] + pick("rwxX", 0)
		}
		require.NoError(t, (&File{Name: "/f", Mode: symbolic}).Validate(), symbolic)
		for _, name := range []string{"f", "d"} {
			mode := fs.FileMode(rng.IntN(0o1000))
			require.NoError(t, os.Chmod(dir+"/"+name, mode))
			out, err := exec.CommandContext(t.Context(), chmod, "--", symbolic, dir+"/"+name).CombinedOutput()
			require.NoError(t, err, "%s: %s", symbolic, out)
			info, err := os.Stat(dir + "/" + name)
			require.NoError(t, err)
			require.Equal(t, info.Mode().Perm(), changed(mode, symbolic, name == "d"), "%s of %s, which was %s", symbolic, name, strconv.FormatUint(uint64(mode), 8))
		}
	}
}
