package sysctl

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// allSettings reads the settings of a network.
func allSettings(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range []string{"/proc/sys/net/ipv4/conf", "/proc/sys/net/ipv6/conf", "/proc/sys/net/ipv4/ip_forward"} {
		require.NoError(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			if text, err := os.ReadFile(name); err == nil {
				all[strings.TrimPrefix(name, "/proc/sys/")] = value(string(text))
			}
			return nil
		}))
	}
	return all
}

// TestCouplingsOfTheKernel writes settings of a network of its own: the kernel makes exactly the changes of the
// effects.
func TestCouplingsOfTheKernel(t *testing.T) {
	if !modtest.InMountNamespace(t) {
		return
	}
	h := modtest.Host()
	written := 0
	for _, key := range slices.Sorted(maps.Keys(allSettings(t))) {
		parts := strings.Split(key, "/")
		if len(parts) == 5 && parts[3] == "lo" {
			continue
		}
		s := &Sysctl{Name: key}
		if s.settable(h, "") != nil {
			continue
		}
		for range 2 { // and back again
			before := allSettings(t)
			want := map[string]string{"0": "1", "1": "0"}[before[key]]
			if want == "" || os.WriteFile(s.at(), []byte(want), 0o600) != nil {
				break // not a switch
			}
			written++
			after, foreseen := allSettings(t), map[string]bool{}
			for _, e := range s.effects(h, want) {
				foreseen[strings.TrimPrefix(e.Key, "/proc/sys/")] = true
				if e.Kind == modules.DiffersEffect {
					continue
				}
				is, there := after[e.Key]
				require.True(t, !there || is == e.State, "%s = %s: %s is %s, and not %s", key, want, e.Key, is, e.State)
			}
			for other, is := range after {
				require.True(t, is == before[other] || foreseen[other], "%s = %s changes %s from %s to %s", key, want, other, before[other], is)
			}
		}
	}
	require.Greater(t, written, 20)
}

// TestSynonyms compares the kernel's values of one setting under both names, and writes nothing.
func TestSynonyms(t *testing.T) {
	compared := 0
	for name, other := range synonyms {
		is, err := os.ReadFile("/proc/sys/" + name)
		too, otherErr := os.ReadFile("/proc/sys/" + other)
		if err == nil && otherErr == nil {
			require.Equal(t, string(is), string(too), name)
			compared++
		}
	}
	require.NotZero(t, compared)
}

// TestWhatCannotBeSet checks that values are refused which the kernel would refuse.
func TestWhatCannotBeSet(t *testing.T) {
	if !modtest.InMountNamespace(t) {
		return
	}
	h := modules.ReadOnly(modtest.Host())
	no := false
	check := func(name, value string) error {
		_, err := (&Sysctl{Name: name, Ensure: present, Value: value, Persist: &no}).Check(t.Context(), h)
		return err
	}
	require.EqualError(t, check("kernel.ostype", "x"), "the kernel reports kernel.ostype, and lets no user set it (set 'runtime: false')")
	modtest.ReadOnlyBind(t, "/proc/sys/net/ipv4", "/proc/sys/net/ipv4")
	require.NoError(t, check("kernel.hostname", "x"))
	require.EqualError(t, check("net.ipv4.ip_forward", "1"), "net.ipv4.ip_forward is read-only on this host, as in a container (write 'runtime: false', or change the setting on the host of the container)")

	root := t.TempDir()
	modtest.Build(t, root, []modtest.Node{{Path: "proc", Dir: true}, {Path: "proc/sys", Dir: true}, {Path: "proc/sys/kernel", Dir: true}, {Path: "proc/sys/kernel/modules_disabled", Text: "1\n", Mode: 0o644}})
	_, err := (&Sysctl{Name: "kernel.modules_disabled", Ensure: present, Value: "0", Persist: &no}).Check(t.Context(), modtest.RootedHost(root, h))
	require.EqualError(t, err, "kernel.modules_disabled is 1, which the kernel keeps until the next boot (set 'runtime: false')")
}
