//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFleetPackagesInGraph has packages that depend on nothing be installed by the real
// apt: in one transaction with what else runs at the same time, and also where each has
// a place of its own, or comes between others, without two of them ever meeting at the
// lock of dpkg.
func TestFleetPackagesInGraph(t *testing.T) {
	f := aptFamily(t)
	const names = "one two three four five"
	separate := func(more string) (text string) {
		for name := range strings.FieldsSeq(names) {
			text += fmt.Sprintf("    - package: [e2e-%s: {%s}]\n    - exec: [{touch /tmp/e2e-beside-%s: {creates: /tmp/e2e-beside-%s}}]\n", name, more, name, name)
		}
		return text
	}
	for _, tt := range []struct {
		name, resources string
		transactions    int // 0 is any number
	}{
		{"written apart", separate(""), 1},
		{"each by itself", separate("autogroup: false"), 0},
		{"each by itself, without any time to wait for a lock", separate("autogroup: false, lock_timeout: 1ms"), 0},
		{"one in a transaction of its own, since it is tried again", separate("") + "    - package: [e2e-demo: {retry: 1, lock_timeout: 1ms}]\n", 2},
		{"after one another", "    - package: [e2e-one: {require: [\"package#e2e-two\"]}, e2e-two: {require: [\"package#e2e-three\"]}, e2e-three: , e2e-four: , e2e-five: ]\n", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f.reset()
			write(t, f.path("packages.yaml"), "strategy: graph\nparallel: 16\nccm:\n  resources:\n"+tt.resources)
			run := func(args ...string) map[string]event {
				r := f.push(append([]string{"-i", "root.yaml", "-l", f.host, "--output", "json"}, append(args, "packages.yaml")...)...)
				r.requireCode(t, 0)
				return outcomes(r.events(t))
			}
			predicted := run("--check")
			require.Empty(t, f.sh(f.host, f.state))
			began := f.count()
			real := run()
			f.requireForetold(predicted, real)
			for name, e := range real {
				require.Equal(t, "changed", e.Status, name)
			}
			if tt.transactions > 0 {
				require.Equal(t, tt.transactions, f.count()-began)
			}
			for name := range strings.FieldsSeq(names) {
				require.Contains(t, f.sh(f.host, f.state), name+" 1.0\n")
			}
			for name, e := range run() {
				require.Equal(t, "stable", e.Status, name)
			}
		})
	}
}

// count is how many transactions there have been.
func (f *family) count() (n int) {
	f.Helper()
	_, err := fmt.Sscan(f.sh(f.host, f.transactions), &n)
	require.NoError(f, err)
	return n
}
