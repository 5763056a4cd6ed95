package semanage

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/semanage/semanagetest"
)

func TestDeclares(t *testing.T) {
	root := modtest.Root(t)
	modtest.Build(t, root, semanagetest.Disabled())
	h := modtest.RootedHost(root, modtest.Host())
	s, err := Find(h.Files)
	require.NoError(t, err)
	for name, want := range map[string]bool{"http_port_t": true, "http_cache_port_t": true, "port_t": false, "http_port": false, "defined_port_t": false, "ftpd_full_access": false} {
		require.Equal(t, want, s.Declares(h.Files, Typ, name), name)
	}
	for name, want := range map[string]bool{"ftpd_full_access": true, "full_access": false, "http_port_t": false} {
		require.Equal(t, want, s.Declares(h.Files, Boolean, name), name)
	}
	require.NoError(t, os.RemoveAll(root+"/etc/selinux/targeted/policy"))
	require.False(t, s.Declares(h.Files, Typ, "http_port_t"))
}

func TestParseContext(t *testing.T) {
	for text, want := range map[string]Context{
		"system_u:object_r:etc_t:s0-s0:c0.c1023": {"system_u", "etc_t", "s0-s0:c0.c1023"},
		"system_u:object_r:etc_t":                {"system_u", "etc_t", ""},
		"<<none>>":                               {"", "<<none>>", ""},
		"":                                       {},
	} {
		require.Equal(t, want, ParseContext(text), text)
	}
}
