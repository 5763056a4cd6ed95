package catalog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
)

func TestEnvVariables(t *testing.T) {
	require.Equal(t, map[string]any{
		"A": "1", "B": "two words", "C": "x=y", "D": "", "E": "it's", "F": `"open`, "G": "crlf", "H": "a # b", "I": "$A ${A}",
	}, envVariables("# A=0\nA=1\n\nexport B=\"two words\"\nC=x=y\nD=\n  E = it's \nF=\"open\nG='crlf'\r\nH=a # b\nI=$A ${A}\nno variable\n=x\n"))
}

func TestWithEnvFile(t *testing.T) {
	dir := t.TempDir()
	files, err := templates.Open(dir)
	require.NoError(t, err)
	defer files.Close()
	environ := map[string]any{"HOME": "/root", "ROLE": "db"}
	got, err := withEnvFile(environ, files)
	require.NoError(t, err)
	require.Equal(t, environ, got)

	again, err := templates.Open(dir) // what is not there is remembered for a run
	require.NoError(t, err)
	defer again.Close()
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".env"), []byte("ROLE=web\n"), 0o600))
	got, err = withEnvFile(environ, again)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"HOME": "/root", "ROLE": "web"}, got)
	require.Equal(t, "db", environ["ROLE"], "the environment of other plays")

	linked := t.TempDir()
	require.NoError(t, os.Symlink("/etc/hostname", filepath.Join(linked, ".env")))
	outside, err := templates.Open(linked)
	require.NoError(t, err)
	defer outside.Close()
	_, err = withEnvFile(environ, outside)
	require.EqualError(t, err, `more variables for Environ: ".env" leads out of the folder `+linked+"\n  hint: --no-read-env leaves that file out")
}
