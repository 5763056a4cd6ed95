//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// crowd has several hosts that are one machine, each as another user, so that they can
// be counted through a file that all of them see.
func (f *fleet) crowd() (names []string) {
	f.Helper()
	config := "all:\n  hosts:\n"
	for i, user := range []string{"root", "deploy", "deploypw", "deployno"} {
		name := "c" + strconv.Itoa(i)
		for line := range strings.Lines(f.tool("inventory", "--user", user)) {
			if _, connect, ok := strings.Cut(line, "h001:"); ok {
				config += fmt.Sprintf("    %s: %s\n", name, strings.TrimSpace(connect))
			}
		}
		names = append(names, name)
	}
	write(f, f.path("crowd.yaml"), config)
	return names
}

// enterAndLeave counts the commands that are in at the same time. A command leaves once it has met another one, so that
// it does not end before others could begin; the last one is alone.
const enterAndLeave = `cd /tmp/e2e-crowd
change() { (flock 9; n=$(($(cat in) + $1)); echo $n >in; echo $n >>seen) 9>lock; }
change 1
until grep -q -x LEAST seen || grep -q -x DONE left; do sleep 0.02; done
sleep 0.1
change -1
(flock 9; echo $(($(tail -n 1 left) + 1)) >>left) 9>lock
touch $0`

// TestFleetSemaphore has eight resources of four hosts share fewer places, in a play that is a graph and in one that is
// not.
func TestFleetSemaphore(t *testing.T) {
	f := startFleet(t)
	names := f.crowd()
	for _, tt := range []struct {
		name, play, sema string
		most             int
	}{
		{"one at a time", "strategy: graph\nparallel: 8\n", "[gate]", 1},
		{"three at a time", "strategy: graph\nparallel: 8\n", "[\"gate:3\"]", 3},
		{"two at a time, in a list and in batches", "serial: 3\n", "[\"gate:2\", other:8]", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f.sh("h001", "rm -rf /tmp/e2e-crowd; mkdir -m 777 /tmp/e2e-crowd; cd /tmp/e2e-crowd; echo 0 >in; : >seen; echo 0 >left; : >lock; chmod 666 *")
			script := strings.NewReplacer("LEAST", strconv.Itoa(tt.most), "DONE", "7", "$0", "done-$(id -un)-WHICH").Replace(enterAndLeave)
			site := tt.play + "ccm:\n  resources:\n"
			for _, which := range []string{"a", "b"} {
				site += fmt.Sprintf("    - exec:\n        - %s:\n            provider: shell\n            sema: %s\n            timeout: 60s\n            unless: test -e /tmp/e2e-crowd/done-$(id -un)-%s\n            command: |\n", which, tt.sema, which)
				for line := range strings.Lines(strings.ReplaceAll(script, "WHICH", which)) {
					site += "              " + line
				}
				site += "\n"
			}
			write(t, f.path("sema.yaml"), site)
			run := func(args ...string) map[string]event {
				r := f.push(append([]string{"-i", "crowd.yaml", "--output", "json"}, append(args, "sema.yaml")...)...)
				r.requireCode(t, 0)
				all := outcomes(r.events(t))
				require.Len(t, all, 2*len(names))
				return all
			}
			predicted := run("--check")
			require.Equal(t, "0\n", f.sh("h001", "cat /tmp/e2e-crowd/left"), "a check run has done something")
			real := run()
			f.requireForetold(predicted, real)
			for name, e := range real {
				require.Equal(t, "changed", e.Status, name)
			}
			require.Equal(t, "8\n", f.sh("h001", "tail -n 1 /tmp/e2e-crowd/left"))
			var seen []int
			for _, word := range strings.Fields(f.sh("h001", "cat /tmp/e2e-crowd/seen")) {
				n, err := strconv.Atoi(word)
				require.NoError(t, err)
				seen = append(seen, n)
			}
			require.Len(t, seen, 16)
			require.Equal(t, tt.most, slices.Max(seen), "who was in at once: %v", seen)
			for name, e := range run() {
				require.Equal(t, "stable", e.Status, name)
			}
		})
	}
}
