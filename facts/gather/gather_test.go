package gather

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/facts"
)

func gather(t *testing.T, names []string, opts Options) facts.Report {
	t.Helper()
	text, err := Gather(t.Context(), names, opts)
	require.NoError(t, err)
	var r facts.Report
	require.NoError(t, json.Unmarshal(text, &r))
	return r
}

func TestTree(t *testing.T) {
	r := gather(t, facts.Names(), Options{Timeout: time.Minute})
	require.Empty(t, r.Partial)
	for collector, keys := range map[string][]string{
		facts.Host:      {"info", "release", "service_manager"},
		facts.Network:   {"addresses", "interfaces", "default_ipv4", "default_ipv6", "default_interface", "default_gateway"},
		facts.Partition: {"partitions", "usage"},
		facts.CPU:       {"info"},
		facts.Memory:    {"virtual", "swap"},
		facts.Identity:  {"fqdn", "user"},
	} {
		var tree map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(r.Facts[collector], &tree))
		var found []string
		for key := range tree {
			found = append(found, key)
		}
		require.ElementsMatch(t, keys, found, collector)
	}
	var info struct {
		Info struct{ Hostname, OS, KernelArch string }
	}
	require.NoError(t, json.Unmarshal(r.Facts[facts.Host], &info))
	hostname, err := os.Hostname()
	require.NoError(t, err)
	require.Equal(t, hostname, info.Info.Hostname)
	require.NotEmpty(t, info.Info.KernelArch)
}

func TestOnlyWhatIsAsked(t *testing.T) {
	r := gather(t, []string{facts.Memory}, Options{})
	require.Len(t, r.Facts, 1)
	require.Contains(t, r.Facts, facts.Memory)
}

func TestUnknownCollector(t *testing.T) {
	_, err := Gather(t.Context(), []string{"disc"}, Options{})
	require.EqualError(t, err, `unknown fact collector "disc" (known: [host network partition cpu memory identity])`)
}

func TestEndOfContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Gather(ctx, []string{facts.CPU}, Options{})
	require.ErrorIs(t, err, context.Canceled)
}

func TestWithin(t *testing.T) {
	for _, test := range []struct {
		name string
		call func(context.Context) (int, error)
		want int
		err  string
	}{
		{"an answer", func(context.Context) (int, error) { return 7, nil }, 7, ""},
		{"an error", func(context.Context) (int, error) { return 0, errors.New("no such file") }, 0, "no such file"},
		{"a panic", func(context.Context) (int, error) { panic("index out of range") }, 0, "broken: index out of range"},
		{"a call that knows its deadline", func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, fmt.Errorf("statfs: %w", ctx.Err())
		}, 0, "timed out after 2s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, err := within(t.Context(), defaultTimeout, test.call)
				require.Equal(t, test.want, got)
				if test.err == "" {
					require.NoError(t, err)
					return
				}
				require.EqualError(t, err, test.err)
			})
		})
	}
}

func TestWithinLeavesBehindWhatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		_, err := within(t.Context(), defaultTimeout, func(context.Context) (int, error) { <-release; return 7, nil })
		require.EqualError(t, err, "timed out after 2s")
		close(release)
	})
}

func TestCustom(t *testing.T) {
	system, user := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	write(filepath.Join(system, "facts.yaml"), "role: web\n")
	write(filepath.Join(system, "facts.json"), `{"role":"db"}`)
	write(filepath.Join(system, "facts.yml"), "ignored: true\n")
	write(filepath.Join(system, "facts.d/20.yaml"), "b: 2\n")
	write(filepath.Join(system, "facts.d/10.json"), `{"a":1}`)
	write(filepath.Join(system, "facts.d/run.sh"), "exit 1\n")
	write(filepath.Join(system, "facts.d/30.json"), "\xff\xfe")
	write(filepath.Join(system, "facts.d/40.json"), strings.Repeat(" ", MaxCustomFile+1))
	write(filepath.Join(user, "facts.yaml"), "c: 3\n")
	require.NoError(t, os.Symlink("10.json", filepath.Join(system, "facts.d/15.json")))
	require.NoError(t, os.Mkdir(filepath.Join(system, "facts.d/50.json"), 0o755))

	r := gather(t, nil, Options{Dirs: []string{system, user, filepath.Join(user, "absent")}})
	require.Equal(t, []facts.CustomFile{
		{Path: filepath.Join(system, "facts.json"), Text: `{"role":"db"}`},
		{Path: filepath.Join(system, "facts.yaml"), Text: "role: web\n"},
		{Path: filepath.Join(system, "facts.d/10.json"), Text: `{"a":1}`},
		{Path: filepath.Join(system, "facts.d/20.yaml"), Text: "b: 2\n"},
		{Path: filepath.Join(user, "facts.yaml"), Text: "c: 3\n"},
	}, r.Custom)
	require.Equal(t, []string{
		filepath.Join(system, "facts.d/30.json") + ": not UTF-8 text",
		filepath.Join(system, "facts.d/40.json") + ": larger than 262144 bytes",
	}, r.Partial)
}

func TestCustomBounds(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "facts.d"), 0o755))
	for i := range MaxCustomFiles + 1 {
		path := filepath.Join(dir, "facts.d", fmt.Sprintf("%03d.json", i))
		require.NoError(t, os.WriteFile(path, []byte(`{}`), 0o644))
	}
	r := gather(t, nil, Options{Dirs: []string{dir}})
	require.Len(t, r.Custom, MaxCustomFiles)
	require.Equal(t, []string{filepath.Join(dir, "facts.d/064.json") + ": skipped, because there are more than 64 files"}, r.Partial)
}

func TestTotalBound(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "facts.d"), 0o755))
	for i := range 5 {
		path := filepath.Join(dir, "facts.d", fmt.Sprintf("%d.json", i))
		require.NoError(t, os.WriteFile(path, []byte(strings.Repeat(" ", MaxCustomFile)), 0o644))
	}
	r := gather(t, nil, Options{Dirs: []string{dir}})
	require.Len(t, r.Custom, 4)
	require.Equal(t, []string{filepath.Join(dir, "facts.d/4.json") + ": skipped, because facts are limited to 1048576 bytes"}, r.Partial)
}

func TestDirs(t *testing.T) {
	require.Equal(t, []string{"/etc/choria/ccm", "/home/ann/.config/choria/ccm"}, Dirs("/home/ann/.config"))
	require.Equal(t, []string{"/etc/choria/ccm"}, Dirs(""))
}

func TestReachable(t *testing.T) {
	for text, want := range map[string]bool{
		"192.0.2.2/24":    true,
		"fd00::2/64":      true,
		"203.0.113.9":     true,
		"127.0.0.1/8":     false,
		"::1/128":         false,
		"fe80::1/64":      false,
		"169.254.10.1/16": false,
		"224.0.0.1/4":     false,
		"not an address":  false,
	} {
		_, got := reachable(text)
		require.Equal(t, want, got, text)
	}
}
