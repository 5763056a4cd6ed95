package file

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

var right = modules.TextContent("right\n").SHA256()

func TestRemoteRefused(t *testing.T) {
	for _, test := range []struct {
		name string
		file File
		err  string
	}{
		{"https", File{Source: "https://example.org/f", Checksum: "sha256:" + right}, ""},
		{"upper case", File{Source: "HTTPS://example.org/f", Checksum: strings.ToUpper(right)}, ""},
		{"http with a checksum", File{Source: "http://example.org/f", Checksum: right}, ""},
		{"none", File{Source: "https://example.org/f", Checksum: "none"}, ""},
		{"by the host", File{Source: "https://example.org/f", Checksum: right, Fetch: "host"}, ""},
		{"without a checksum", File{Source: "https://example.org/f"}, `source: a download needs a checksum (write checksum: "sha256:…", as sha256sum prints it, or checksum: none)`},
		{"http without", File{Source: "http://example.org/f", Checksum: "none"}, `checksum: a download over http:// can be changed on the way (write https://, or checksum: "sha256:…")`},
		{"by the host without", File{Source: "https://example.org/f", Checksum: "none", Fetch: "host"}, `checksum: with 'fetch: host' only a checksum shows whether the file is the right one (write checksum: "sha256:…", or fetch: controller)`},
		{"another checksum", File{Source: "https://example.org/f", Checksum: "md5:0"}, `checksum: checksum is neither a SHA-256 nor none (write checksum: "sha256:…", with 64 hexadecimal digits)`},
		{"a password", File{Source: "https://ann:hunter2@example.org/f", Checksum: right}, "source: a source may not have a user or a password (an archive has username, password and headers)"},
		{"no host", File{Source: "https:///f", Checksum: right}, "source: source is not a valid URL (write https://host/path, with %XX for special characters)"},
		{"no URL", File{Source: "https://ann:hun%ter2@x/f", Checksum: right}, "source: source is not a valid URL (write https://host/path, with %XX for special characters)"},
		{"too large", File{Source: "https://example.org/f", Checksum: right, MaxSize: 2 << 20}, "max_size: max_size 2097152 is not between 0 and 1048576"},
		{"a checksum of a file", File{Source: "files/f", Checksum: right}, "source: 'checksum' is about a source that is a URL, and this one is a file (remove checksum, or write source: https://…)"},
		{"fetch of a text", File{Content: modules.TextContent("x"), Fetch: "host"}, "fetch: 'fetch' is about a source that is a URL (write source: https://…)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.file.Name = "/f"
			err := test.file.Validate()
			if test.err == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.err)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestRequires(t *testing.T) {
	url := File{Source: "https://example.org/f", Checksum: right}
	require.Equal(t, []string{"source", "checksum", "max_size"}, url.Requires().Downloads)
	require.False(t, url.Requires().FullProgram)
	url.Fetch = "host"
	require.Equal(t, modules.Requirements{FullProgram: true}, url.Requires())
	require.Equal(t, modules.Requirements{}, (&File{Source: "files/f"}).Requires())
	require.Equal(t, modules.Requirements{}, (&File{Source: "https://example.org/f", Ensure: "absent"}).Requires())
}

// TestPrepareRemote checks that a host gets the properties that it needs and no more.
func TestPrepareRemote(t *testing.T) {
	token := strings.Repeat("a", 64)
	var asked modules.Download
	src := modules.Source{
		Download: func(_ context.Context, d modules.Download) (modules.Content, error) {
			asked = d
			return modules.PromisedContent(token), nil
		},
		Downloaded: func(_ context.Context, d modules.Download) (modules.Content, error) {
			asked = d
			return modules.HashedContent(right, 6), nil
		},
	}
	promised := File{Name: "/f", Source: "https://example.org/f?token=hunter2", Checksum: strings.ToUpper(right), MaxSize: 3}
	require.NoError(t, promised.Prepare(t.Context(), src))
	require.Equal(t, modules.Download{URL: "https://example.org/f?token=hunter2", SHA256: right, MaxSize: 3 << 20}, asked)
	require.Equal(t, File{Name: "/f", Content: modules.PromisedContent(token), Checksum: strings.ToUpper(right)}, promised)
	require.NoError(t, promised.Validate(), "as the host does")

	known := File{Name: "/f", Source: "https://example.org/f", Checksum: "none"}
	require.NoError(t, known.Prepare(t.Context(), src))
	require.Equal(t, modules.Download{URL: "https://example.org/f", MaxSize: 4 << 30}, asked)
	require.Equal(t, File{Name: "/f", Content: modules.HashedContent(right, 6)}, known)

	alone := File{Name: "/f", Source: "https://example.org/f", Checksum: right}
	require.EqualError(t, alone.Prepare(t.Context(), modules.Source{}), "source: no controller to download the file (write fetch: host, and a checksum)")
	alone.Fetch = "host"
	require.NoError(t, alone.Prepare(t.Context(), modules.Source{}))
	require.Equal(t, "https://example.org/f", alone.Source)
}

// TestRemoteIsNotFetchedIfThere compares only with the checksum, whatever the source is.
func TestRemoteIsNotFetchedIfThere(t *testing.T) {
	for name, f := range map[string]File{
		"controller": {Content: modules.PromisedContent(strings.Repeat("a", 64)), Checksum: right},
		"host":       {Source: "https://example.org/f", Checksum: right, Fetch: "host"},
	} {
		t.Run(name, func(t *testing.T) {
			root := modtest.Root(t)
			modtest.Build(t, root, []modtest.Node{{Path: "f", Text: "right\n"}, {Path: "g", Text: "wrong\n"}})
			h := modules.ReadOnly(modtest.Host())
			f.Name = root + "/f"
			plan, err := f.Check(t.Context(), h)
			require.NoError(t, err)
			require.Equal(t, modules.Plan{}, plan)
			f.Mode = "0600"
			plan, err = f.Check(t.Context(), h)
			require.NoError(t, err)
			require.Equal(t, []any{"updated attributes", 0}, []any{plan.Action, len(plan.Needs)})
			f.Name, f.Mode = root+"/g", ""
			plan, err = f.Check(t.Context(), h)
			require.NoError(t, err)
			require.Equal(t, "updated the file", plan.Action)
			require.Equal(t, []modules.Change{{Property: "content", Have: sum(modules.TextContent("wrong\n").SHA256()), Want: sum(right)}}, plan.Changes)
		})
	}
}
