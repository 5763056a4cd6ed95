package playbooks

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// twoResources is a play with a content that travels as a hash. Only the honest host
// carries it out.
const twoResources = `
ccm:
  resources:
    - exec: ["true": ]
    - file: ["{{ Data.home }}/large": {content: "{{ repeat('x', 1000) }}", owner: "{{ string(Data.owner) }}", group: "{{ string(Data.owner) }}", mode: "0600"}]
`

// TestMisbehavingHosts has each fail alone, in the phase that fits, while an honest host is
// in the same run.
func TestMisbehavingHosts(t *testing.T) {
	t.Parallel()
	faults := []struct{ fault, phase, want string }{
		{"garbage", "protocol", "flate: corrupt input"},
		{"no JSON", "protocol", "reading a message: invalid character"},
		{"an endless line", "protocol", "message is too long"},
		{"index too large", "protocol", "the host reports resource 9 of 2"},
		{"index below zero", "protocol", "the host reports resource -1 of 2"},
		{"twice", "protocol", "the host reports resource 0 twice"},
		{"status", "protocol", `the host reports the status "odd"`},
		{"many changes", "protocol", "the host reports more than 1000 changes, notes or triggers of one resource"},
		{"unasked health", "protocol", "the host reports 1 health checks of a resource that has 0"},
		{"foreign content", "protocol", "the host requests a content that its catalog does not name: \"0000"},
		{"want of nothing", "protocol", "the host sends an empty request"},
		{"want flood", "protocol", "the host requests the content "},
		{"a part below zero", "protocol", "the host requests a part that the content does not have: "},
		{"a part beyond the end", "protocol", "the host requests a part that the content does not have: "},
		{"flood of parts", "protocol", "the host requests the content "},
		{"pong flood", "protocol", "the host answers a ping that was not sent"},
		{"catalog", "protocol", "the host sent a message that only the controller sends"},
		{"done too early", "protocol", "the host is done but has not reported 2 of its 2 resources"},
		{"stopped", "lost", "the host program was stopped; 2 of 2 resources are not done"},
		{"lock", "lock", "held by"},
		{"YAML flood", "protocol", "the host sends "},
		{"large YAML", "protocol", "the host sends a YAML document of 262145 bytes, more than 262144"},
		{"much YAML", "protocol", "the host sends more than 8 MiB of YAML documents"},
		{"YAML that grows", "protocol", "the host sends YAML documents that are larger than 64 MiB as JSON"},
		{"YAML that copies", "protocol", "the host sends YAML documents whose aliases and merge keys copy more than 1048576 values"},
		{"YAML without a number", "protocol", "the host sends a YAML document with the invalid number 0"},
		{"answer", "protocol", "the host sent a message that only the controller sends"},
		{"large state", "protocol", "the host reports a state of more than 256 KiB"},
		{"large restart", "protocol", "the host reports a thing to restart of more than 256 KiB"},
		{"reason", "protocol", `the host reports the reason "\x1b[31modd" of a resource that is skipped`},
		{"error kind", "protocol", `the host reports the kind of error "\x1b[31modd"`},
		{"cause", "protocol", `the host reports the cause "\x1b[31modd"`},
		{"cause of nothing", "protocol", "the host reports the cause drift of a resource that is stable"},
		{"tries", "protocol", "the host reports -1 tries"},
		{"left", "protocol", "the host undoes resources without a request"},
		{"refused", "protocol", "the host refuses the catalog in the phase"},
		{"exit", "lost", "exit status 3"},
		{"clean exit", "lost", "the host program ended by itself"},
		{"build", "start", `the host runs build "other", this is "fake"`},
		{"facts", "facts", "the host's facts are nested more than 64 levels deep"},
		{"heavy facts", "facts", "the host's facts need more than 16 MiB of memory"},
		{"heavy fact files", "facts", "the host's facts files have more than 20000 lines and items together"},
		{"heavy changes", "protocol", "message needs more than 16 MiB of memory"},
		{"heavy values", "protocol", "message needs more than 16 MiB of memory"},
		{"fact files", "facts", "a facts file of the host: /etc/facts.yaml:1"},
		{"large fact files", "facts", "the host's facts files have more than 1024 KiB together"},
	}
	hosts := servers(t, "web1")
	for _, c := range faults {
		hosts[hostWith(c.fault)] = sshtest.Start(t, sshtest.Env("FAKE="+c.fault))
	}
	w := fakes(t, hosts)
	w.Options.Forks = 4
	lines := w.run(t)
	honest := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !strings.HasPrefix(line, "web1 ") })
	require.Equal(t, good[1:], honest, "the other hosts do not touch it")
	require.NotContains(t, w.text.String(), "\x1b", "nothing draws on the terminal")
	for _, c := range faults {
		t.Run(c.fault, func(t *testing.T) {
			phase, text := w.recorded.failure(hostWith(c.fault))
			require.Equal(t, c.phase, phase, text)
			require.Contains(t, text, c.want)
			require.Contains(t, lines, hostWith(c.fault)+" done: failed")
		})
	}
}

// hostWith returns the name of a host with a fault.
func hostWith(fault string) string { return strings.ReplaceAll(fault, " ", "-") }

var good = []string{"play site 1/1: web1 web2", "web1 exec#true changed", "web1 file#large changed", "web1 done: ok"}

// misbehaving is a world of an honest host and one with a fault.
func misbehaving(t *testing.T, fault string) *world {
	hosts := servers(t, "web1")
	hosts["web2"] = sshtest.Start(t, sshtest.Env("FAKE="+fault))
	return fakes(t, hosts)
}

// fakes is a world of hosts that run the program in testdata/fake.
func fakes(t *testing.T, hosts map[string]*sshtest.Server) *world {
	w := newWorld(t, hosts, twoResources).fake(t)
	w.Options.Catalog.Extra = []templates.Layer{{Values: map[string]any{"owner": owner()}}}
	return w
}

func TestHugeDiff(t *testing.T) {
	w := misbehaving(t, "huge diff")
	require.Equal(t, append(good[:len(good):len(good)], "web2 exec#true changed", "web2 file#large stable", "web2 done: ok"), w.run(t))
}

func TestControlCharacters(t *testing.T) {
	w := misbehaving(t, "control characters")
	require.Equal(t, append(good[:len(good):len(good)], "web2 exec#true failed", "web2 file#large stable", "web2 done: failed"), w.run(t))
	require.NotContains(t, w.text.String(), "\x1b")
	require.Contains(t, w.text.String(), "boo")
}

// TestHostThatNeverEnds is one that hears and does nothing: it is killed with
// the run.
func TestHostThatNeverEnds(t *testing.T) {
	t.Parallel()
	w := misbehaving(t, "nothing")
	stopped := make(chan struct{})
	w.recorded.watch = func(e events.Event) {
		if done, ok := e.(events.HostDone); ok && done.Host == "web1" {
			close(stopped)
		}
	}
	summary, lines := w.interrupt(t, stopped)
	require.True(t, summary.Interrupted)
	require.Subset(t, lines, good)
	require.NotContains(t, lines, "web2 done: ok", "it is not known what it did")
}
