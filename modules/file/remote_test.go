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
	cases := []modtest.Verdict[File]{
		{Name: "https", Of: File{Name: "/f", Source: "https://example.org/f", Checksum: "sha256:" + right}},
		{Name: "upper case", Of: File{Name: "/f", Source: "HTTPS://example.org/f", Checksum: strings.ToUpper(right)}},
		{Name: "http with a checksum", Of: File{Name: "/f", Source: "http://example.org/f", Checksum: right}},
		{Name: "none", Of: File{Name: "/f", Source: "https://example.org/f", Checksum: "none"}},
		{Name: "by the host", Of: File{Name: "/f", Source: "https://example.org/f", Checksum: right, Fetch: "host"}},
		{Name: "without a checksum", Of: File{Name: "/f", Source: "https://example.org/f"}, Err: `source: a download needs a checksum (write checksum: "sha256:…", as sha256sum prints it, or checksum: none)`},
		{Name: "http without", Of: File{Name: "/f", Source: "http://example.org/f", Checksum: "none"}, Err: `checksum: a download over http:// can be changed on the way (write https://, or checksum: "sha256:…")`},
		{Name: "by the host without", Of: File{Name: "/f", Source: "https://example.org/f", Checksum: "none", Fetch: "host"}, Err: `checksum: with 'fetch: host' only a checksum shows whether the file is the right one (write checksum: "sha256:…", or fetch: controller)`},
		{Name: "another checksum", Of: File{Name: "/f", Source: "https://example.org/f", Checksum: "md5:0"}, Err: `checksum: "checksum" is neither a SHA-256 nor none (write checksum: "sha256:…", with 64 hexadecimal digits)`},
		{Name: "a password", Of: File{Name: "/f", Source: "https://ann:hunter2@example.org/f", Checksum: right}, Err: `source: a source may not have a user or a password (an archive has the properties "username", "password" and "headers")`},
		{Name: "no host", Of: File{Name: "/f", Source: "https:///f", Checksum: right}, Err: `source: "source" is not a valid URL (write https://host/path, with %XX for special characters)`},
		{Name: "no URL", Of: File{Name: "/f", Source: "https://ann:hun%ter2@x/f", Checksum: right}, Err: `source: "source" is not a valid URL (write https://host/path, with %XX for special characters)`},
		{Name: "too large", Of: File{Name: "/f", Source: "https://example.org/f", Checksum: right, MaxSize: 2 << 20}, Err: `max_size: "max_size" must be from 0 to 1048576, not 2097152`},
		{Name: "a checksum of a file", Of: File{Name: "/f", Source: "files/f", Checksum: right}, Err: `source: 'checksum' is about a source that is a URL, and this one is a file (remove "checksum", or write source: https://…)`},
		{Name: "fetch of a text", Of: File{Name: "/f", Content: modules.TextContent("x"), Fetch: "host"}, Err: "fetch: 'fetch' is about a source that is a URL (write source: https://…)"},
	}
	modtest.Validates(t, cases)
	for _, c := range cases {
		require.NotContains(t, c.Err, "hunter2")
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
