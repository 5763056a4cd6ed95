package compile

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const hello = "./testdata/hello"

func TestParseTarget(t *testing.T) {
	got, err := ParseTarget("linux/amd64")
	require.NoError(t, err)
	require.Equal(t, Target{OS: "linux", Arch: "amd64"}, got)
	for _, bad := range []string{"", "linux", "/amd64", "linux/", "linux/arm/7"} {
		_, err := ParseTarget(bad)
		require.EqualError(t, err, fmt.Sprintf("target %q is not of the form linux/amd64", bad))
	}
}

func TestBuildRuns(t *testing.T) {
	for i, want := range []string{"id-7\n", "id-7 full\n"} {
		target := Both(Own())[i]
		b, err := Build(t.Context(), hello, target, "id-7", i == 0)
		require.NoError(t, err)
		require.Equal(t, target.Full, b.Full)
		program, err := b.Program()
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "hello")
		require.NoError(t, os.WriteFile(path, program, 0o755))
		out, err := exec.Command(path).Output()
		require.NoError(t, err)
		require.Equal(t, want, string(out))
	}
}

func TestBuildError(t *testing.T) {
	_, err := Build(t.Context(), "./testdata/absent", Own(), "id", true)
	require.ErrorContains(t, err, "go build for "+Own().String()+": exit status 1\n")
	require.ErrorContains(t, err, "testdata/absent")
}

func TestIDNamesSourceAndTarget(t *testing.T) {
	id := func(target Target) string {
		id, err := ID(t.Context(), hello, target)
		require.NoError(t, err)
		require.Len(t, id, idLength)
		return id
	}
	linux := Target{OS: "linux", Arch: "amd64"}
	require.Equal(t, id(linux), id(linux))
	require.NotEqual(t, id(linux), id(Target{OS: "linux", Arch: "arm64"}))
	require.NotEqual(t, id(linux), id(Target{OS: "linux", Arch: "amd64", Full: true}))
}

func TestIDFollowsSourcesNotPlaces(t *testing.T) {
	hash := func(source string) string {
		dir := t.TempDir() // another one each time
		require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte(source), 0o644))
		var h bytes.Buffer
		listing := fmt.Sprintf(`{"ImportPath":"fmt","Standard":true,"Dir":"/absent","GoFiles":["x.go"]}{"ImportPath":"p","Dir":%q,"GoFiles":["a.go"]}`, dir)
		require.NoError(t, hashPackages(&h, []byte(listing)))
		return h.String()
	}
	require.True(t, strings.HasPrefix(hash("package p"), "p/a.go "))
	require.Equal(t, hash("package p"), hash("package p"))
	require.NotEqual(t, hash("package p"), hash("package p // changed"))
}
