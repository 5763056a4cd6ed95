package flags

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/transport"
)

func TestDeadlineFlag(t *testing.T) {
	const form = "write a number of seconds, or a duration such as 1m30s, or off"
	for _, test := range []struct {
		values []string
		want   string
		err    string
	}{
		{values: []string{"resource=2s"}, want: "resource=2s"},
		{values: []string{"host=90", "dial=1m", "host=off"}, want: "dial=1m0s,host=off"},
		{values: []string{"start=0"}, want: "start=off"},
		{values: []string{"start=0s"}, want: "start=off"},
		{values: []string{"resource"}, err: "the duration is missing: write PHASE=DURATION, such as resource=10m"},
		{values: []string{"compile=1s"}, err: `unknown phase "compile"; use one of dial, handshake, auth, start, facts, resource, host`},
		{values: []string{"host=-1s"}, err: form},
		{values: []string{"host="}, err: form},
		{values: []string{"host=soon"}, err: form},
	} {
		var d Deadlines
		var err error
		for _, value := range test.values {
			err = d.Set(value)
		}
		if test.err != "" {
			require.EqualError(t, err, test.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, test.want, d.String())
	}
	d := Deadlines{"dial": 1, "handshake": 2, "auth": 3, "start": 4, "facts": 5, "resource": time.Hour, "host": playbooks.NoDeadline}
	require.Equal(t, transport.Limits{Dial: 1, Handshake: 2, Auth: 3}, d.Limits())
	require.Equal(t, playbooks.Deadlines{Start: 4, Facts: 5, Resource: time.Hour, Host: playbooks.NoDeadline}, d.Working())
}

func TestSeconds(t *testing.T) {
	for text, want := range map[string]time.Duration{"0": 0, "30": 30 * time.Second, "1m30s": 90 * time.Second, "250ms": 250 * time.Millisecond} {
		var d time.Duration
		require.NoError(t, Seconds{&d}.Set(text))
		require.Equal(t, want, d)
	}
}
