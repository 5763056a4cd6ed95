package playbooks

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// owned makes the test's user the owner of files in manifests.
func (w *world) owned(more map[string]any) *world {
	values := map[string]any{"owner": owner()}
	for name, value := range more {
		values[name] = value
	}
	w.Options.Catalog.Extra = []templates.Layer{{Values: values}}
	return w
}

// TestSemaphoreOnHosts has hosts that count how many of them are inside.
func TestSemaphoreOnHosts(t *testing.T) {
	t.Parallel()
	shared := t.TempDir()
	enter := filepath.Join(shared, "enter.sh")
	require.NoError(t, os.WriteFile(enter, []byte(`set -e
mkdir "$1/inside.$$"
ls -d "$1"/inside.* | wc -l >> "$1/counts"
sleep 0.1
rmdir "$1/inside.$$"
`), 0o600))
	var hosts []string
	for i := range 8 {
		hosts = append(hosts, fmt.Sprintf("web%d", i))
	}
	w := newWorld(t, servers(t, hosts...), `
ccm:
  resources:
    - exec:
        - enter:
            command: /bin/sh {{ Data.enter }} {{ Data.shared }}
            sema: ["door:2", others:9]
`).owned(map[string]any{"enter": enter, "shared": shared})
	w.Options.Forks = 8
	lines := w.run(t)
	for _, host := range hosts {
		require.Contains(t, lines, host+" exec#enter changed", w.text)
	}
	counts, err := os.ReadFile(filepath.Join(shared, "counts"))
	require.NoError(t, err)
	require.Len(t, strings.Fields(string(counts)), 8)
	require.Subset(t, []string{"1", "2"}, strings.Fields(string(counts)))
}

// chainOfHosts is a manifest for three hosts: each receives what the one before it has made.
const chainOfHosts = `
- name: chain
  strategy: STRATEGY
  ccm:
    resources:
      - exec:
          - token:
              command: echo "token of {{ Data.home }}"
              control: {if: "Data.home == Data.zed"}
              export: [stdout]
      - file:
          - "{{ Data.home }}/first":
              owner: "{{ string(Data.owner) }}"
              group: "{{ string(Data.owner) }}"
              mode: "0600"
              control: {if: "Data.home != Data.zed"}
              recv: {content: {host: zed, from: exec#token.stdout}}
      - exec:
          - again:
              command: cat {{ Data.home }}/first
              require: ["file#{{ Data.home }}/first"]
              control: {if: "Data.home == Data.mid"}
              export: [stdout]
      - file:
          - "{{ Data.home }}/second":
              owner: "{{ string(Data.owner) }}"
              group: "{{ string(Data.owner) }}"
              mode: "0600"
              control: {if: "Data.home == Data.abe"}
              recv: {content: {host: mid, from: exec#again.stdout}}
`

// newChain starts the hosts of the chain: the last of them comes first in the inventory. zed may get options.
func newChain(t *testing.T, site string, zed ...sshtest.Option) (w *world, homes map[string]any) {
	hosts := servers(t, "abe", "mid")
	hosts["zed"] = sshtest.Start(t, zed...)
	homes = map[string]any{}
	for name, s := range hosts {
		homes[name] = s.Home
	}
	return newWorld(t, hosts, site).owned(homes), homes
}

func strategy(name string) string { return strings.ReplaceAll(chainOfHosts, "STRATEGY", name) }

func second(t *testing.T, w *world, homes map[string]any) string {
	text, err := os.ReadFile(filepath.Join(homes["abe"].(string), "second"))
	require.NoError(t, err, "%s", w.text)
	return string(text)
}

func TestValuesOfOtherHosts(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"linear", "graph"} {
		for _, forks := range []int{1, 2, 8} {
			t.Run(fmt.Sprint(name, forks), func(t *testing.T) {
				t.Parallel()
				w, homes := newChain(t, strategy(name))
				w.Options.Forks = forks
				lines := w.run(t)
				require.Equal(t, fmt.Sprintf("token of %s\n", homes["zed"]), second(t, w, homes))
				require.Contains(t, lines, "abe file#second changed")
				require.Contains(t, lines, "abe done: ok")
				again := w.run(t)
				require.Contains(t, again, "mid file#first stable")
				require.Contains(t, again, "abe file#second stable")
			})
		}
	}
}

// TestPredictedValues is a check run: it is not known what a command will print.
func TestPredictedValues(t *testing.T) {
	t.Parallel()
	w, _ := newChain(t, strategy("linear"))
	w.Options.Check = true
	require.Contains(t, w.run(t), "abe file#second changed")
	for _, e := range w.recorded.list {
		if r, ok := e.(events.Result); ok && r.Type == "file" && r.Status == events.Changed {
			require.False(t, r.Certain)
			require.Contains(t, []string{
				"Would have received content from exec#token of zed; known after apply",
				"Would have received content from exec#again of mid; known after apply",
			}, r.Message)
		}
	}
}

// TestSecretOfAnotherHost stays one in whatever receives it.
func TestSecretOfAnotherHost(t *testing.T) {
	t.Parallel()
	secret := strings.Replace(strategy("linear"), "export: [stdout]", "export: [stdout]\n              sensitive: true", 1)
	w, homes := newChain(t, secret)
	w.Options.Diff = true
	w.run(t)
	require.Equal(t, fmt.Sprintf("token of %s\n", homes["zed"]), second(t, w, homes))
	shown := 0
	for _, e := range w.recorded.list {
		if r, ok := e.(events.Result); ok && (r.Name == "token" || filepath.Base(r.Name) == "first") {
			require.True(t, r.Sensitive || r.Status == events.Skipped, r.Name)
			require.NotContains(t, fmt.Sprintf("%+v", r), "token of")
			shown++
		}
	}
	require.Equal(t, 6, shown)
}

// TestValuesThatNeverCome has an exporting host that ends, and checks the errors of the receiving hosts.
func TestValuesThatNeverCome(t *testing.T) {
	t.Parallel()
	const gone = "receiving content: the host zed failed, or its run ended, before exec#token was finished: see the messages of this host"
	for _, c := range []struct {
		name, site string
		zed        []sshtest.Option
		err        string
	}{
		{"it fails", strings.Replace(strategy("linear"), "echo", "false", 1), nil,
			`receiving content: exec#token of zed has failed, so it has sent no "stdout"`},
		{"it is skipped", strings.Replace(strategy("linear"), "Data.home == Data.zed", "false", 1), nil,
			`receiving content: exec#token of zed was skipped, so it has sent no "stdout"`},
		{"it is only looked at", strings.Replace(strategy("linear"), "export:", "noop: true\n              export:", 1), nil,
			"content was not sent by exec#token of zed"},
		{"it cannot be logged in to", strategy("linear"), []sshtest.Option{sshtest.RejectAuth()}, gone},
		{"it cannot be made ready", strings.Replace(strategy("linear"), "Data.home == Data.zed", "Facts.nothing.more == 1", 1), nil, ""},
		{"it is cut off", strings.Replace(strategy("linear"), "echo", "sh -c 'kill -9 $PPID' x", 1), nil, gone},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, _ := newChain(t, c.site, c.zed...)
			lines := w.run(t)
			if c.err == "" {
				require.Contains(t, lines, "zed failed in compile")
				return
			}
			require.Contains(t, lines, "mid file#first failed")
			for _, e := range w.recorded.list {
				if r, ok := e.(events.Result); ok && r.Host == "mid" && filepath.Base(r.Name) == "first" {
					require.Equal(t, c.err, r.Error)
				}
			}
		})
	}
}

// TestExporterOfAnEarlierPlay has failed by the time of the play that needs it.
func TestExporterOfAnEarlierPlay(t *testing.T) {
	t.Parallel()
	const site = `
- name: one
  hosts: zed
  max_fail_percentage: 100 # otherwise the run ends
  ccm: {resources: [exec: [token: {command: "EXIT", export: [stdout]}]]}
- name: two
  hosts: abe
  ccm: {resources: [exec: [{"true": {recv: {cwd: {host: zed, from: exec#token.stdout}}}}]]}
`
	w, _ := newChain(t, strings.Replace(site, "EXIT", "printf /", 1))
	require.Contains(t, w.run(t), "abe exec#true changed", w.text)
	w, _ = newChain(t, strings.Replace(site, "EXIT", "false", 1))
	require.Contains(t, w.run(t), "abe exec#true failed", w.text)
	require.Contains(t, w.text.String(), `receiving cwd: exec#token of zed has failed, so it has sent no "stdout"`)
}

// TestInterruptedWhileWaiting ends with the interruption, and kills no program.
func TestInterruptedWhileWaiting(t *testing.T) {
	t.Parallel()
	w, homes := newChain(t, strings.Replace(strategy("linear"), `echo "token of {{ Data.home }}"`, "sh -c 'touch {{ Data.home }}/begun; until test -e {{ Data.home }}/go; do sleep 0.02; done'", 1))
	stop := make(chan struct{})
	ended := make(chan []string)
	waiting, interrupted := make(chan struct{}), 0
	begun := 0
	w.recorded.watch = func(e events.Event) {
		switch e := e.(type) {
		case events.Result:
			if e.Name == "token" && e.Host != "zed" {
				if begun++; begun == 2 { // both will wait next
					close(waiting)
				}
			}
		case events.Interrupted: // waiting hosts end before the working one
			if interrupted++; interrupted == 2 {
				require.NoError(t, os.WriteFile(filepath.Join(homes["zed"].(string), "go"), nil, 0o600))
			}
		}
	}
	go func() {
		_, err := w.Run(t.Context(), stop)
		require.NoError(t, err)
		ended <- w.recorded.lines()
	}()
	works := filepath.Join(homes["zed"].(string), "begun")
	require.Eventually(t, func() bool { _, err := os.Stat(works); return err == nil }, time.Minute, 20*time.Millisecond)
	<-waiting
	close(stop)
	lines := <-ended
	require.Contains(t, lines, "zed exec#token changed")
	require.Contains(t, lines, `mid interrupted in chain: 3 not reached, due []`)
	require.Contains(t, lines, `abe interrupted in chain: 3 not reached, due []`)
}
