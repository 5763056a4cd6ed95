package link

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestValidate(t *testing.T) {
	modtest.Validates(t, []modtest.Verdict[Link]{
		{Name: "absolute target", Of: Link{Name: "/opt/current", Target: "/opt/v2"}},
		{Name: "relative target", Of: Link{Name: "/opt/current", Target: "v2"}},
		{Name: "target up", Of: Link{Name: "/opt/current", Target: "../current"}},
		{Name: "target of the same beginning", Of: Link{Name: "/opt/current", Target: "/opt/current2"}},
		{Name: "by force", Of: Link{Name: "/opt/current", Target: "v2", Force: true}},
		{Name: "absent", Of: Link{Name: "/opt/current", Ensure: absent}},
		{Name: "absent, target given", Of: Link{Name: "/opt/current", Ensure: absent, Target: "v2"}},
		{Name: "relative", Of: Link{Name: "current", Target: "v2"}, Err: "name: file path must be absolute (write a path that begins with /)"},
		{Name: "dots", Of: Link{Name: "/opt/./current", Target: "v2"}, Err: "name: file path must be canonical (write /opt/current)"},
		{Name: "NUL", Of: Link{Name: "/a\x00", Target: "v2"}, Err: "name: file path must not contain a NUL byte"},
		{Name: "root directory", Of: Link{Name: "/", Target: "v2"}, Err: "name: the root directory cannot be a link"},
		{Name: "no target", Of: Link{Name: "/a"}, Err: `target: "target" cannot be empty (write the path that the link points to, such as target: /opt/app/current)`},
		{Name: "target with NUL", Of: Link{Name: "/a", Target: "b\x00"}, Err: `target: "target" must not contain a NUL byte`},
		{Name: "target too long", Of: Link{Name: "/a", Target: strings.Repeat("x", 4096)}, Err: `target: "target" has 4096 bytes, more than the 4095 that a link can hold`},
		{Name: "itself", Of: Link{Name: "/a/b", Target: "/a/b"}, Err: `target: target "/a/b" leads back to the link itself`},
		{Name: "itself, relative", Of: Link{Name: "/a/b", Target: "./b"}, Err: `target: target "./b" leads back to the link itself`},
		{Name: "through itself", Of: Link{Name: "/a/b", Target: "b/c"}, Err: `target: target "b/c" leads back to the link itself`},
		{Name: "force for absent", Of: Link{Name: "/a", Ensure: absent, Force: true}, Err: "force: 'force: true' is only valid with 'ensure: present', got 'ensure: absent'"},
	})
}

func TestCheckRefusesPipes(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	for _, test := range []struct {
		link Link
		err  string
	}{
		{Link{Name: fifo, Target: "x", Force: true}, fifo + " is a device, socket or pipe; refusing to replace it by a link"},
		{Link{Name: fifo, Ensure: absent}, "the path " + fifo + " is a device, socket or pipe, not a link, so a link resource does not remove it (a file resource with ensure: absent does)"},
	} {
		_, err := test.link.Check(t.Context(), modules.ReadOnly(modtest.Host()))
		require.EqualError(t, err, test.err)
		var r modules.Redactor
		require.ErrorAs(t, err, &r)
		require.Equal(t, test.err, r.Redacted())
	}
}

func TestApplyTakesItsOwnPlansOnly(t *testing.T) {
	l := Link{Name: filepath.Join(t.TempDir(), "l"), Target: "x"}
	require.EqualError(t, l.Apply(t.Context(), modtest.Host(), modules.Plan{}), "the plan is not one of a link")
}
