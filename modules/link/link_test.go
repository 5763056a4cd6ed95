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
	for _, test := range []struct {
		name string
		link Link
		err  string
	}{
		{"absolute target", Link{Name: "/opt/current", Target: "/opt/v2"}, ""},
		{"relative target", Link{Name: "/opt/current", Target: "v2"}, ""},
		{"target up", Link{Name: "/opt/current", Target: "../current"}, ""},
		{"target of the same beginning", Link{Name: "/opt/current", Target: "/opt/current2"}, ""},
		{"by force", Link{Name: "/opt/current", Target: "v2", Force: true}, ""},
		{"absent", Link{Name: "/opt/current", Ensure: absent}, ""},
		{"absent, target given", Link{Name: "/opt/current", Ensure: absent, Target: "v2"}, ""},
		{"relative", Link{Name: "current", Target: "v2"}, "name: file path must be absolute"},
		{"dots", Link{Name: "/opt/./current", Target: "v2"}, "name: file path must be canonical (write /opt/current)"},
		{"NUL", Link{Name: "/a\x00", Target: "v2"}, "name: file path must not contain a NUL byte"},
		{"root directory", Link{Name: "/", Target: "v2"}, "name: the root directory cannot be a link"},
		{"no target", Link{Name: "/a"}, "target: target cannot be empty (write where the link leads, such as target: /opt/app/current)"},
		{"target with NUL", Link{Name: "/a", Target: "b\x00"}, "target: target must not contain a NUL byte"},
		{"target too long", Link{Name: "/a", Target: strings.Repeat("x", 4096)}, "target: target has 4096 bytes, more than the 4095 that a link can hold"},
		{"itself", Link{Name: "/a/b", Target: "/a/b"}, `target: target "/a/b" leads back to the link itself`},
		{"itself, relative", Link{Name: "/a/b", Target: "./b"}, `target: target "./b" leads back to the link itself`},
		{"through itself", Link{Name: "/a/b", Target: "b/c"}, `target: target "b/c" leads back to the link itself`},
		{"force for absent", Link{Name: "/a", Ensure: absent, Force: true}, "force: 'force: true' is only valid with 'ensure: present', got 'ensure: absent'"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.link.Validate()
			if test.err == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.err)
		})
	}
}

func TestCheckRefusesPipes(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	for _, test := range []struct {
		link Link
		err  string
	}{
		{Link{Name: fifo, Target: "x", Force: true}, fifo + " is a device, socket or pipe; refusing to replace it by a link"},
		{Link{Name: fifo, Ensure: absent}, fifo + " is a device, socket or pipe, not a link; refusing to remove it (a file resource with ensure: absent removes it)"},
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
