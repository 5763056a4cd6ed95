package fetch_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/fetch"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestConverges(t *testing.T) {
	tree := []modtest.Node{{Path: "d", Dir: true}, {Path: "f", Text: "hello\n"}, {Path: "l", Link: "f"}, {Path: "lost", Link: "none"}}
	modtest.Converges(t, fetch.Type(),
		modtest.Fixture{Name: "a file", Tree: tree, Properties: `{"name":"$ROOT/f"}`},
		modtest.Fixture{Name: "behind a link", Tree: tree, Properties: `{"name":"$ROOT/l","max_size":6}`},
		modtest.Fixture{Name: "missing, which it may be", Tree: tree, Properties: `{"name":"$ROOT/lost","optional":true}`},
		modtest.Fixture{Name: "missing", Tree: tree, Properties: `{"name":"$ROOT/none"}`, Err: "$ROOT/none is not there (set 'optional: true' if it need not be)"},
		modtest.Fixture{Name: "a directory", Tree: tree, Properties: `{"name":"$ROOT/d"}`, Err: "the path $ROOT/d is a directory, not a file; fetch its files one by one, or pack the directory with an exec resource first"},
		modtest.Fixture{Name: "too large", Tree: tree, Properties: `{"name":"$ROOT/f","max_size":5}`, Err: "$ROOT/f has 6 bytes, more than 5 (max_size)"},
	)
	root := t.TempDir()
	modtest.Build(t, root, tree)
	device := &fetch.Fetch{Name: "/dev/null"}
	_, err := device.Check(t.Context(), modtest.Host())
	require.EqualError(t, err, "/dev/null is a device, socket or pipe, and no file")

	// The result is the file that a check has found.
	f := &fetch.Fetch{Name: root + "/l"}
	_, err = f.Check(t.Context(), modtest.Host())
	require.NoError(t, err)
	require.Equal(t, "6 bytes", f.Fetches())
	file, err := f.Fetch(modtest.Host())
	require.NoError(t, err)
	defer file.Close()
	text, err := io.ReadAll(file)
	require.NoError(t, err)
	require.Equal(t, "hello\n", string(text))
}

// TestPredicts uses a file that does not exist yet.
func TestPredicts(t *testing.T) {
	modtest.Predicts(t, modules.Registry{fetch.Type(), file.Type()}, modtest.Scenario{
		Steps: []modtest.Step{
			{Type: "fetch", Properties: `{"name":"$ROOT/f","optional":true}`},
			{Type: "fetch", Properties: `{"name":"$ROOT/f"}`},
			{Type: "file", Properties: `{"name":"$ROOT/f","content":"hello","mode":"0644"}`},
			{Type: "fetch", Properties: `{"name":"$ROOT/f"}`},
			{Type: "fetch", Properties: `{"name":"$ROOT/f","max_size":4}`},
		},
		Want: []string{"stable", "failed", "changed", "stable", "failed"},
	})
}

func TestValidate(t *testing.T) {
	modtest.Validates(t, []modtest.Verdict[fetch.Fetch]{
		{Of: fetch.Fetch{Name: "/etc/motd", MaxSize: 1 << 30}},
		{Of: fetch.Fetch{Name: "/"}, Err: "name: this is a directory, and no file"},
		{Of: fetch.Fetch{Name: "/a", MaxSize: -1}, Err: "max_size: -1 is outside 1-1073741824"},
		{Of: fetch.Fetch{Name: "/a", MaxSize: 1<<30 + 1}, Err: "max_size: 1073741825 is outside 1-1073741824"},
	})
	require.ErrorContains(t, (&fetch.Fetch{Name: "etc/../motd"}).Validate(), "name: ")
	require.EqualValues(t, 16<<20, (&fetch.Fetch{Name: "/a"}).MostFetched())
	require.EqualValues(t, 5, (&fetch.Fetch{Name: "/a", MaxSize: 5}).MostFetched())
}

func TestDescribe(t *testing.T) {
	root := t.TempDir()
	modtest.Build(t, root, []modtest.Node{{Path: "f", Text: "x", Mode: 0o640}})
	for name, want := range map[string]string{
		root + "/f": `{"ensure":"present","name":"` + root + `/f","size":1,"mode":"0640"}`, root + "/none": `{"ensure":"absent","name":"` + root + `/none"}`,
	} {
		modtest.Describes(t, modtest.Host(), &fetch.Fetch{Name: name}, want)
	}
}
