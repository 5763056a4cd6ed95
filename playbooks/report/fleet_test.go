package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/report"
)

// fleet is a run on n hosts. Of each there are 30 stable resources, a change that names the host
// with one of 3 diffs, and long ones; some hosts fail in ways of their own.
func fleet(n int) []events.Event {
	var hosts, addresses []string
	for i := range n {
		hosts = append(hosts, fmt.Sprintf("web%04d.example.org", i+1))
		addresses = append(addresses, fmt.Sprintf("10.0.%d.%d", i/256, i%256))
	}
	all := []events.Event{
		events.RunStart{Manifests: []string{"site.yaml"}, Version: "1.0", Hosts: n, Plays: []events.SelectedPlay{{Name: "web tier", Hosts: hosts, Addresses: addresses}}},
		events.PlayStart{Play: "web tier", Hosts: hosts, Number: 1, Batch: 1, Batches: 1},
	}
	for i, host := range hosts {
		switch {
		case i%10 == 7:
			all = append(all, events.Unreachable{Play: "web tier", Host: host, Error: "dial " + addresses[i] + ":22: connection refused", Hint: "is sshd running on " + host + "?"})
		default:
			for k := range 30 {
				all = append(all, result(host, "file", fmt.Sprint("/etc/", k), events.Stable))
			}
			all = append(all, result(host, "file", "/etc/motd", events.Changed, diff(fmt.Sprintf(motd, host)+strings.Repeat("+more\n", i%3))))
			all = append(all, result(host, "file", "/etc/issue", events.Changed, diff(strings.Repeat(fmt.Sprintf("+line of %s\n", host), 200))))
		}
		if i%20 == 3 {
			all = append(all, result(host, "exec", fmt.Sprint("migrate ", i%400), events.Failed, fault(fmt.Sprint("exit code ", i, " on ", host))))
		}
		all = append(all, done(host, time.Duration(i+1)*time.Millisecond))
	}
	return append(all, events.Summary{})
}

// TestMarkdownOfManyHosts is a comment that can be read, however many hosts there are.
func TestMarkdownOfManyHosts(t *testing.T) {
	text := written(t, collect(fleet(5000)...), (*report.Run).Markdown)
	require.Less(t, strings.Count(text, "\n"), 60, text)
	require.Less(t, len(text), 16<<10)
	require.Contains(t, text, "**5000 hosts**: 4250 ok, 250 failed, 500 unreachable")
	require.Contains(t, text, "`unreachable`: `dial {address}:22: connection refused` on `web[")
	require.Contains(t, text, " more (500)\n")
	require.Contains(t, text, "<details><summary>4 distinct diffs</summary>")
	require.Equal(t, 1, strings.Count(text, "`file#/etc/motd` `content` on `web[0001-0007"), text)
}

// TestHTMLOfManyHosts is a page that a browser shows at once.
func TestHTMLOfManyHosts(t *testing.T) {
	text := written(t, collect(fleet(1000)...), (*report.Run).HTML)
	t.Logf("%d bytes", len(text))
	require.Less(t, len(text), 3_000_000)
	require.Equal(t, 1000, strings.Count(text, `<a class="cell `))
	require.Equal(t, 1000, strings.Count(text, `<tr id="h`))
	require.Equal(t, 200, strings.Count(text, "line of {host}"), "a diff that differs in the name alone stands there once")
	require.Contains(t, text, `<td>file#/etc/motd</td><td>content</td><td class="set"><details><summary>web[0001-0007,0009-0017,0019-0027,0029-0037,0039-0047,… (900)</summary>web[0001-0007,<wbr>0009-0017,<wbr>`)
	var unreached []string
	for i := 7; i < 1000; i += 10 {
		unreached = append(unreached, fmt.Sprintf("web%04d.example.org", i+1))
	}
	pattern, _ := events.Fold(unreached, 4000)
	require.Contains(t, strings.ReplaceAll(text, "<wbr>", ""), `<p class="set">`+pattern+" (100)</p>", "it is there as a whole, to be copied")
	require.Contains(t, text, `<p class="entry"><b>exec#migrate 23 failed</b>`, "what has no more to show does not open")
}

// TestDistinctDiffs has a diff of its own on each of 1,000 hosts: the page has a bound.
func TestDistinctDiffs(t *testing.T) {
	all := []events.Event{events.RunStart{Manifests: []string{"site.yaml"}, Hosts: 1000}}
	for i := range 1000 {
		host := fmt.Sprint("web", i)
		all = append(all, result(host, "file", "/etc/motd", events.Changed, diff(strings.Repeat(fmt.Sprintf("+%d\n", int(1e9)+i), 5000))),
			result(host, "file", fmt.Sprint("/srv/", int(1e9)+i), events.Changed), result(host, "exec", "x", events.Failed, fault(strings.Repeat(fmt.Sprint("<", int(1e9)+i, ">"), 1000))), done(host, time.Second))
	}
	run := collect(append(all, events.Summary{})...)
	require.Less(t, len(written(t, run, (*report.Run).HTML)), 3_000_000)
	require.Less(t, strings.Count(written(t, run, (*report.Run).Markdown), "\n"), 60)
}
