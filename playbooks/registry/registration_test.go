package registry

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func web() Registration {
	port := 8080
	return Registration{Cluster: "eu", Service: "web", Protocol: "http", Address: "192.0.2.3", Port: &port, Priority: 10, TTL: TTL(10 * time.Minute)}
}

// The hashes are FNV-1a of 64 bits over cluster, service, protocol, address and port, computed by other
// means for "euwebhttp192.0.2.38080" and "euwebhttp2001:db8::1%!d(<nil>)".
func TestSubject(t *testing.T) {
	require.Equal(t, "choria.ccm.registration.v1.eu.http.web.192_0_2_3.16d1254ff52a53e4", web().Subject())
	other := web()
	other.Address, other.Port = "2001:db8::1", nil
	require.Equal(t, "choria.ccm.registration.v1.eu.http.web.2001:db8::1.5d4a420f7e1e4135", other.Subject())
}

func TestText(t *testing.T) {
	text, err := json.Marshal(web())
	require.NoError(t, err)
	require.JSONEq(t, `{"cluster":"eu","service":"web","protocol":"http","address":"192.0.2.3","port":8080,"priority":10,"ttl":"10m0s"}`, string(text))
	var again Registration
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, web(), again)
	require.Equal(t, "http web of eu at 192.0.2.3:8080", again.String())
	again.Address, again.Port = "2001:db8::1", nil
	require.Equal(t, "http web of eu at 2001:db8::1", again.String())
}

func TestTTL(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "never": "never", "90s": "1m30s", "1d": "24h0m0s", "1w12h": "180h0m0s", "1.5h": "1h30m0s", "1M": "720h0m0s", "1y": "8760h0m0s", "2000ms": "2s",
	} {
		ttl, err := ParseTTL(text)
		require.NoError(t, err, text)
		require.Equal(t, want, ttl.String())
	}
	for text, want := range map[string]string{
		"soon": "it is neither a duration such as 30s nor never", "30": "it is neither a duration such as 30s nor never",
		"10ms": "it is shorter than one second", "999y": "it is longer than 100 years: write never",
	} {
		_, err := ParseTTL(text)
		require.EqualError(t, err, want)
	}
	var r Registration
	require.NoError(t, json.Unmarshal([]byte(`{"ttl":30000000000}`), &r)) // as CCM had it once
	require.Equal(t, "30s", r.TTL.String())
	require.Error(t, json.Unmarshal([]byte(`{"ttl":[]}`), &r))
}

func TestFilter(t *testing.T) {
	subject, err := Filter("eu", "*", "", "192.0.2.3")
	require.NoError(t, err)
	require.Equal(t, "choria.ccm.registration.v1.eu.*.*.192_0_2_3.*", subject)
	for _, bad := range []string{">", "a b", "a.b.>", "a*"} {
		_, err := Filter(bad, "*", "*", "*")
		require.ErrorContains(t, err, "letters, digits", bad)
	}
}
