package gather

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"os/user"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/facts"
)

func TestIdentity(t *testing.T) {
	r := gather(t, []string{facts.Identity}, Options{Timeout: time.Minute})
	require.Empty(t, r.Partial)
	var tree identityTree
	require.NoError(t, json.Unmarshal(r.Facts[facts.Identity], &tree))
	me, err := user.Current()
	require.NoError(t, err)
	require.NotEmpty(t, tree.FQDN)
	require.Equal(t, me.Username, tree.User.Name)
	require.Equal(t, me.HomeDir, tree.User.Home)
	require.Equal(t, os.Getuid(), tree.User.UID)
	require.Equal(t, os.Getgid(), tree.User.GID)
}

func TestDefaultRoute(t *testing.T) {
	const head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
	gateway := "010200C0"
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 { // big endian
		gateway = "C0000201"
	}
	for _, test := range []struct{ name, routes, device, gateway string }{
		{"none", "", "", ""},
		{"only others", "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n", "", ""},
		{"one", "eth0\t00000000\tGATEWAY\t0003\t0\t0\t0\t00000000\t0\t0\t0\n", "eth0", "192.0.2.1"},
		{"lowest metric", "wlan0\t00000000\t0100007F\t0003\t0\t0\t600\t00000000\t0\t0\t0\neth0\t00000000\tGATEWAY\t0003\t0\t0\t100\t00000000\t0\t0\t0\n", "eth0", "192.0.2.1"},
		{"a tunnel", "tun0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0\n", "tun0", ""},
		{"half of the addresses", "tun0\t00000000\t00000000\t0001\t0\t0\t0\t00000080\t0\t0\t0\n", "", ""},
		{"damaged", "eth0\t00000000\tx\t0003\t0\t0\t0\t00000000\neth0\t00000000\n", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			device, hop := defaultRoute(head + strings.ReplaceAll(test.routes, "GATEWAY", gateway))
			require.Equal(t, []string{test.device, test.gateway}, []string{device, hop})
		})
	}
}
