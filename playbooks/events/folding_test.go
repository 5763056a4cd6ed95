package events_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// foldedFleet returns a run on n hosts. The results of a host are in its order, hosts are mixed. results returns the
// results of one host.
func foldedFleet(seed uint64, n int, results func(i int, host string) []events.Event) scene {
	r := rand.New(rand.NewPCG(seed, 1))
	var hosts []string
	var left [][]events.Event
	for i := range n {
		host := fmt.Sprintf("web%04d", i+1)
		hosts = append(hosts, host)
		left = append(left, append(results(i, host), events.HostDone{Host: host, Duration: time.Duration(i) * time.Millisecond}))
	}
	var addresses []string
	for i := range hosts {
		addresses = append(addresses, fmt.Sprint("10.0.0.", i))
	}
	all := []events.Event{events.RunStart{Hosts: n, Manifests: []string{"site.yaml"}, Plays: []events.SelectedPlay{{Name: "site", Hosts: hosts, Addresses: addresses}}}, events.PlayStart{Play: "site", Hosts: hosts, Number: 1, Batch: 1, Batches: 1}}
	alive := r.Perm(n)
	for len(alive) > 0 {
		k := r.IntN(len(alive))
		i := alive[k]
		all = append(all, left[i][0])
		if left[i] = left[i][1:]; len(left[i]) == 0 {
			alive[k] = alive[len(alive)-1]
			alive = alive[:len(alive)-1]
		}
	}
	return scene{events: all}
}

var took = regexp.MustCompile(`; [0-9.]+m?s\n$`)

func folded(s scene, o events.TextOptions) string {
	var out bytes.Buffer
	o.Fold = 4
	s.play(events.NewText(&out, o))
	return took.ReplaceAllString(out.String(), "\n")
}

// TestFoldedRun has 5,000 hosts with three diffs on one screen.
func TestFoldedRun(t *testing.T) {
	diffs := func(i int, host string) []events.Event {
		var all []events.Event
		for n := range 30 {
			all = append(all, file(host, fmt.Sprintf("/etc/%d", n), events.Stable))
		}
		return append(all, with(file(host, "/etc/motd", events.Changed, "content"), func(r *events.Result) {
			r.Diff = fmt.Sprintf("--- /etc/motd\n+++ /etc/motd\n@@ -1 +1 @@\n-old %d\n+welcome to %s\n", i%3, host)
		}))
	}
	text := folded(foldedFleet(1, 5000, diffs), events.TextOptions{Diff: true})
	require.Less(t, strings.Count(text, "\n"), 60, text)
	require.Contains(t, text, "(1667; {host}: of each)\n")
	require.Contains(t, text, "+welcome to {host}\n")
	require.Equal(t, 3, strings.Count(text, "-old "))
	again := folded(foldedFleet(2, 5000, diffs), events.TextOptions{Diff: true})
	require.Equal(t, text, again, "two runs over the same state print the same")
}

func TestFolded(t *testing.T) {
	changed := func(host, path string) events.Result { return file(host, path, events.Changed, "content") }
	for _, test := range []struct {
		name    string
		results func(i int, host string) []events.Event
		options events.TextOptions
		want    string
	}{
		{"all alike", func(i int, host string) []events.Event {
			return []events.Event{changed(host, "/a"), changed(host, "/b")}
		}, events.TextOptions{}, `== site: 4 hosts
web[0001-0004] (4)
  changed  file#/a  content
  changed  file#/b  content

4 hosts: 2 changed, 0 stable (up to 3ms)
    web[0001-0004]
4 hosts: 4 ok; 8 resources: 8 changed, 0 stable
`},
		{"two ways", func(i int, host string) []events.Event {
			return []events.Event{changed(host, "/a"), changed(host, fmt.Sprint("/", i/2))}
		}, events.TextOptions{}, `== site: 4 hosts
web[0001-0002] (2)
  changed  file#/a  content
  changed  file#/0  content
web[0003-0004] (2)
  changed  file#/a  content
  changed  file#/1  content

4 hosts: 2 changed, 0 stable (up to 3ms)
    web[0001-0004]
4 hosts: 4 ok; 8 resources: 8 changed, 0 stable
`},
		{"a failure on all", func(i int, host string) []events.Event {
			return []events.Event{with(file(host, "/a", events.Failed), func(r *events.Result) { r.Error = "no space left on device\nat all" })}
		}, events.TextOptions{Recorded: true}, `== site: 4 hosts
web0002  failed   file#/a
    no space left on device
    at all
web[0001-0004] (4)
  failed   file#/a  (error shown above)

4 hosts: 0 changed, 0 stable, 1 failed (failed: file#/a, up to 3ms)
    web[0001-0004]
to continue: ccm-push resume r1
4 hosts: 0 ok, 4 failed; 4 resources: 0 changed, 0 stable, 4 failed
`},
		{"a failure on one", func(i int, host string) []events.Event {
			if i == 1 {
				return []events.Event{events.Unreachable{Host: host, Error: "dial 10.0.0.1:22: connection refused"}}
			}
			return nil
		}, events.TextOptions{}, `== site: 4 hosts
web0002  unreachable  dial 10.0.0.1:22: connection refused

web0002: 0 changed, 0 stable (unreachable: connection refused, 1ms)
4 hosts: 3 ok, 1 unreachable; 0 resources: 0 changed, 0 stable
`},
		{"quiet", func(i int, host string) []events.Event {
			if i == 1 {
				return []events.Event{changed(host, "/a"), with(file(host, "/b", events.Failed), func(r *events.Result) { r.Error = "full" })}
			}
			return []events.Event{changed(host, "/a")}
		}, events.TextOptions{Quiet: true}, `web0002  failed   file#/b
    full
4 hosts: 3 ok, 1 failed; 5 resources: 4 changed, 0 stable, 1 failed
`},
		{"keys that nobody has compared", func(i int, host string) []events.Event {
			key := strings.Repeat(string(rune('a'+i)), 43)
			return []events.Event{events.Unreachable{Host: host, Error: fmt.Sprintf("host key 10.0.0.%d:22: the host key is unknown: ssh-ed25519 SHA256:%s", i, key), Hint: "compare it: ccm-push trust " + host}}
		}, events.TextOptions{}, `== site: 4 hosts
web0002  unreachable  host key 10.0.0.1:22: the host key is unknown: ssh-ed25519 SHA256:` + strings.Repeat("b", 43) + `
    hint: compare it: ccm-push trust web0002
web[0001-0004] (4; {address}, {key}: of each)
  unreachable  host key {address}:22: the host key is unknown: ssh-ed25519 {key}

4 hosts: 0 changed, 0 stable (unreachable: the host key is unknown, up to 3ms)
    web[0001-0004]
4 hosts: 0 ok, 4 unreachable; 0 resources: 0 changed, 0 stable
`},
		{"an address that differs", func(i int, host string) []events.Event {
			return []events.Event{with(changed(host, "/a"), func(r *events.Result) { r.Message = fmt.Sprintf("listens on 10.0.0.%d:80", i) })}
		}, events.TextOptions{}, `== site: 4 hosts
web[0001-0004] (4; {address}: of each)
  changed  file#/a  listens on {address}:80: content

4 hosts: 1 changed, 0 stable (up to 3ms)
    web[0001-0004]
4 hosts: 4 ok; 4 resources: 4 changed, 0 stable
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, folded(foldedFleet(1, 4, test.results), test.options))
		})
	}
}

// TestFoldedOutput puts equal outputs of an ad-hoc command together.
func TestFoldedOutput(t *testing.T) {
	text := folded(foldedFleet(1, 40, func(i int, host string) []events.Event {
		return []events.Event{with(result(host, "exec", "uname -r", events.Changed), func(r *events.Result) {
			r.Command = &events.Command{Stdout: "6.1.0\n"}
			if i == 7 {
				r.Command.Stdout = "5.10.0\n"
			}
		})}
	}), events.TextOptions{AdHoc: true})
	require.Equal(t, "== web[0001-0007,0009-0040] (39): exit 0\n6.1.0\n== web0008: exit 0\n5.10.0\n40 hosts: 40 ok\n", text)
}

// TestFailuresThatDiffer are one cause, of which each host has written something of its own: some
// are shown whole, the others with one line.
func TestFailuresThatDiffer(t *testing.T) {
	fails := func(i int, host string) []events.Event {
		return []events.Event{with(result(host, "exec", "migrate", events.Failed), func(r *events.Result) {
			r.Error = "exit code 3"
			r.Command = &events.Command{Stderr: fmt.Sprintf("process %d\nno database\n", i+1000), ExitCode: 3}
		})}
	}
	text := folded(foldedFleet(1, 500, fails), events.TextOptions{Recorded: true})
	require.Equal(t, `== site: 500 hosts
web0230  failed   exec#migrate
    exit code 3
    stderr | process 1229
    stderr | no database
web0490  failed   exec#migrate
    exit code 3
    stderr | process 1489
    stderr | no database
web0307  failed   exec#migrate
    exit code 3
    stderr | process 1306
    stderr | no database
web0406  failed   exec#migrate
    exit code 3
    (its output differs from the hosts above; to see it: ccm-push runs show r1 -v)
web[0001-0500] (500)
  failed   exec#migrate  (error shown above)

500 hosts: 0 changed, 0 stable, 1 failed (failed: exec#migrate, up to 499ms)
    web[0001-0500]
to continue: ccm-push resume r1
500 hosts: 0 ok, 500 failed; 500 resources: 0 changed, 0 stable, 500 failed
`, text)
	two := func(i int, host string) []events.Event {
		all := fails(i, host)
		r := all[0].(events.Result)
		r.Error = []string{"exit code 3", "it cannot begin"}[i%2]
		return []events.Event{r}
	}
	require.Contains(t, folded(foldedFleet(1, 6, two), events.TextOptions{}), `
web[0001,0003,0005] (3)
  failed   exec#migrate
      exit code 3
web[0002,0004,0006] (3)
  failed   exec#migrate
      it cannot begin
`, "each cause has its hosts")
	require.Contains(t, folded(foldedFleet(1, 5, fails), events.TextOptions{}), "    (its output differs from the hosts above; to see it, pass -v)\n")
	require.Equal(t, 500, strings.Count(folded(foldedFleet(1, 500, fails), events.TextOptions{Verbose: 1}), "stderr | process"))
	errors := func(i int, host string) []events.Event {
		return []events.Event{with(file(host, "/a", events.Failed), func(r *events.Result) { r.Error = fmt.Sprintf("no\nsector %d", i+1000) })}
	}
	require.Equal(t, 9, strings.Count(folded(foldedFleet(1, 9, errors), events.TextOptions{}), "sector 100"), "an error is no output")
}

// TestBatchOfOneHost checks that a batch of a single host is printed as it happens. The other batches of the run are
// folded.
func TestBatchOfOneHost(t *testing.T) {
	hosts := []string{"web1", "web2", "web3", "web4"}
	var out bytes.Buffer
	text := events.NewText(&out, events.TextOptions{Fold: 4})
	text.Report(events.RunStart{Hosts: 4, Plays: []events.SelectedPlay{{Name: "site", Hosts: hosts}}})
	text.Report(events.PlayStart{Play: "site", Hosts: hosts[:1], Number: 1, Batch: 1, Batches: 2})
	text.Report(file("web1", "/a", events.Changed, "content"))
	require.Equal(t, "== site, batch 1 of 2: 1 host\nweb1  changed  file#/a  content\n", out.String())
	out.Reset()
	text.Report(events.PlayStart{Play: "site", Hosts: hosts[1:], Number: 1, Batch: 2, Batches: 2})
	for _, host := range hosts[1:] {
		text.Report(file(host, "/a", events.Changed, "content"))
	}
	require.Equal(t, "== site, batch 2 of 2: 3 hosts\n", out.String())
	text.Report(events.Summary{})
	require.Contains(t, out.String(), "web[2-4] (3)\n  changed  file#/a  content\n")
}

// TestManyHostsOnOneScreen checks that the output of forty hosts with equal outcomes has at most eight lines more than
// the output of one of them.
func TestManyHostsOnOneScreen(t *testing.T) {
	five := func(check bool) func(int, string) []events.Event {
		return func(_ int, host string) []events.Event {
			var all []events.Event
			for n := range 5 {
				all = append(all, with(file(host, fmt.Sprint("/etc/", n), events.Changed, "content"), func(r *events.Result) {
					r.Check = check
					r.Diff = fmt.Sprintf("--- /etc/%d\n+++ /etc/%d\n@@ -1 +1,3 @@\n-old\n+one\n+two\n+%s\n", n, n, host)
				}))
			}
			return all
		}
	}
	for _, test := range []struct {
		name    string
		results func(int, string) []events.Event
		options events.TextOptions
	}{
		{"five changes", five(false), events.TextOptions{}},
		{"a check run with diffs", five(true), events.TextOptions{Diff: true}},
		{"uname", func(_ int, host string) []events.Event {
			return []events.Event{with(result(host, "exec", "uname -r", events.Changed), func(r *events.Result) { r.Command = &events.Command{Stdout: "6.1.0\n"} })}
		}, events.TextOptions{AdHoc: true}},
		{"one failure", func(i int, host string) []events.Event {
			all := five(false)(i, host)
			if i == 0 {
				all = append(all[:3], with(file(host, "/etc/last", events.Failed), func(r *events.Result) { r.Error = "no space left on device" }))
			}
			return all
		}, events.TextOptions{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			one := folded(foldedFleet(1, 1, test.results), test.options)
			many := folded(foldedFleet(1, 40, test.results), test.options)
			require.LessOrEqual(t, strings.Count(many, "\n"), strings.Count(one, "\n")+8, "%s\n%s", one, many)
		})
	}
}

// TestNamesInWords takes a name for one where it stands alone: these texts differ.
func TestNamesInWords(t *testing.T) {
	for text, alike := range map[string]bool{"%s": true, "%s.example.org": true, "/srv/%s/x": true, "%s-x": false, "x%s": false, "%s2": false} {
		out := folded(foldedFleet(1, 4, func(_ int, host string) []events.Event {
			return []events.Event{with(file(host, "/a", events.Changed), func(r *events.Result) { r.Message = fmt.Sprintf(text, host) })}
		}), events.TextOptions{})
		require.Equal(t, alike, strings.Count(out, "changed  file#/a") == 1, out)
	}
}
