package health

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
)

func TestCompile(t *testing.T) {
	three := 3
	for _, test := range []struct {
		name  string
		check Check
		want  wire.HealthCheck
	}{
		{"a command", Check{Command: "/usr/lib/nagios/plugins/check_http -H 'web 1'  -u /x/y"}, wire.HealthCheck{
			Name: "check_http -H 'web 1' -u /x/y", Argv: []string{"/usr/lib/nagios/plugins/check_http", "-H", "web 1", "-u", "/x/y"},
			Tries: 1, TrySleep: time.Second, Timeout: 30 * time.Second,
		}},
		{"as in CCM", Check{Command: "/bin/echo fine"}, wire.HealthCheck{
			Name: "echo fine", Argv: []string{"/bin/echo", "fine"}, Tries: 1, TrySleep: time.Second, Timeout: 30 * time.Second,
		}},
		{"all that can be said", Check{Command: "x", Name: "n", Format: "nagios", Tries: &three, TrySleep: "0", Timeout: "1m"}, wire.HealthCheck{
			Name: "n", Argv: []string{"x"}, Tries: 3, Timeout: time.Minute,
		}},
		{"rules", Check{GossRules: map[string]any{"port": map[string]any{"tcp:80": map[string]any{"listening": true}}}}, wire.HealthCheck{
			Name: "goss", Rules: []byte(`{"port":{"tcp:80":{"listening":true}}}`), Tries: 1, TrySleep: time.Second, Timeout: 30 * time.Second,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.check.Compile()
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

func TestLongNames(t *testing.T) {
	h, err := (&Check{Command: "/bin/x " + strings.Repeat("ü", maxName)}).Compile()
	require.NoError(t, err)
	require.LessOrEqual(t, len(h.Name), maxName)
	_, err = (&Check{Command: "x", Name: strings.Repeat("x", maxName+1)}).Compile()
	require.EqualError(t, err, "name: the name has more than 200 characters")
	_, err = (&Check{Command: "x", Name: "a\nb"}).Compile()
	require.EqualError(t, err, `name: the name "a\nb" is not one line`)
}

// FuzzCompile uses commands and durations of any kind.
func FuzzCompile(f *testing.F) {
	f.Add("/bin/check -w 'a b'", "", "1s", "30s", 1)
	f.Add("'", "x", "soon", "-1s", 0)
	f.Fuzz(func(t *testing.T, command, name, sleep, timeout string, tries int) {
		c := Check{Command: command, Name: name, TrySleep: sleep, Timeout: timeout, Tries: &tries}
		h, err := c.Compile()
		if err != nil {
			return
		}
		require.NotEmpty(t, h.Argv)
		require.NotEmpty(t, h.Argv[0])
		require.True(t, h.Tries >= 1 && h.Tries <= MaxTries)
		require.True(t, h.TrySleep >= 0 && h.TrySleep <= maxSleep && h.Timeout >= minTimeout && h.Timeout <= maxTimeout)
		require.LessOrEqual(t, len(h.Name), maxName)
	})
}
