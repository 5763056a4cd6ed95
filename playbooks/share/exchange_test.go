package share

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newExchange makes the exchange of a manifest, all of whose hosts are due.
func newExchange(t *testing.T, site string) *Exchange {
	run := runOf(t, fourHosts, site, "")
	x := NewExchange(run.Plays, run.Hosts)
	for n, hosts := range run.Hosts {
		x.BatchBegins(n, names(hosts))
	}
	return x
}

func names(hosts []*inventory.Host) (list []string) {
	for _, h := range hosts {
		list = append(list, h.Name)
	}
	return list
}

// exporting returns a catalog of entries that export stdout, and receive nothing.
func exporting(refs ...string) *catalog.Compiled {
	c := &catalog.Compiled{Imports: map[int][]catalog.Import{}}
	for _, ref := range refs {
		typeName, name, _ := strings.Cut(ref, "#")
		c.Catalog.Entries = append(c.Catalog.Entries, wire.Entry{Type: typeName, Name: name, Export: []string{"stdout"}})
	}
	return c
}

// importing adds a resource that receives a property from another host.
func importing(c *catalog.Compiled, ref, host, from string) *catalog.Compiled {
	typeName, name, _ := strings.Cut(ref, "#")
	i := len(c.Catalog.Entries)
	c.Catalog.Entries = append(c.Catalog.Entries, wire.Entry{Type: typeName, Name: name, Export: []string{"stdout"}})
	c.Imports[i] = []catalog.Import{{Property: "cwd", Host: host, Ref: from, Key: "stdout"}}
	return c
}

func sentResult(i int, value string) *wire.Result {
	return &wire.Result{Index: i, Status: wire.Changed, Sent: map[string]json.RawMessage{"stdout": json.RawMessage(value)}}
}

const oneImport = `
- name: p
  ccm:
    resources:
      - exec:
          - token: {command: a, export: [stdout]}
          - b: {command: b, export: [stdout], recv: {cwd: {host: app1, from: exec#token.stdout}}}
`

// TestImport checks what an importer gets for each outcome of the exporter.
func TestImport(t *testing.T) {
	none := func(err string) *wire.Imported { return &wire.Imported{Error: "receiving cwd: " + err} }
	value := func(text string) *wire.Imported {
		return &wire.Imported{Values: map[string]json.RawMessage{"cwd": json.RawMessage(text)}}
	}
	unknown := &wire.Imported{Values: map[string]json.RawMessage{}, Unknown: true}
	for _, c := range []struct {
		name string
		act  func(m *Exchange, c *catalog.Compiled) // the part of app1
		want *wire.Imported
	}{
		{"a value", func(m *Exchange, c *catalog.Compiled) {
			m.Join(0, "app1", c).Export(sentResult(0, `"{{ Facts }} \u001b[1m"`), &c.Catalog)
		}, value(`"{{ Facts }} \u001b[1m"`)},
		{"any JSON", func(m *Exchange, c *catalog.Compiled) {
			m.Join(0, "app1", c).Export(sentResult(0, `{"port":[1,null]}`), &c.Catalog)
		}, value(`{"port":[1,null]}`)},
		{"of a sensitive resource", func(m *Exchange, c *catalog.Compiled) {
			c.Catalog.Entries[0].Sensitive = true
			m.Join(0, "app1", c).Export(sentResult(0, `1`), &c.Catalog)
		}, &wire.Imported{Values: map[string]json.RawMessage{"cwd": json.RawMessage("1")}, Sensitive: true}},
		{"failed", func(m *Exchange, c *catalog.Compiled) {
			m.Join(0, "app1", c).Export(&wire.Result{Status: wire.Failed, Error: "what app1 says"}, &c.Catalog)
		}, none(`exec#token of app1 has failed, so it has sent no "stdout"`)},
		{"skipped", func(m *Exchange, c *catalog.Compiled) {
			m.Join(0, "app1", c).Export(&wire.Result{Status: wire.Skipped}, &c.Catalog)
		}, none(`exec#token of app1 was skipped, so it has sent no "stdout"`)},
		{"nothing to send", func(m *Exchange, c *catalog.Compiled) {
			m.Join(0, "app1", c).Export(&wire.Result{Status: wire.Stable}, &c.Catalog)
		}, none(`exec#token of app1 has sent no "stdout": the resource did nothing in this run, and no earlier output is recorded; to run the resource again, remove "creates", "onlyif" and "unless" for one run`)},
		{"too large", func(m *Exchange, c *catalog.Compiled) {
			m.Join(0, "app1", c).Export(sentResult(0, `"`+strings.Repeat("x", maxValue)+`"`), &c.Catalog)
		}, none("\"stdout\" of exec#token of app1 is too large: it has 65538 bytes, and 64 KiB are allowed")},
		{"too much", func(m *Exchange, c *catalog.Compiled) {
			m.hosts["app1"].size = maxValues
			m.Join(0, "app1", c).Export(sentResult(0, `1`), &c.Catalog)
		}, none(`"stdout" of exec#token of app1 is too large: all values of that host together have more than 1024 KiB`)},
		{"predicted", func(m *Exchange, c *catalog.Compiled) {
			c.Catalog.Check = true
			m.Join(0, "app1", c).Export(sentResult(0, `1`), &c.Catalog)
		}, unknown},
		{"predicted to be stable, and remembered", func(m *Exchange, c *catalog.Compiled) {
			c.Catalog.Check = true
			r := sentResult(0, `1`)
			r.Status = wire.Stable
			m.Join(0, "app1", c).Export(r, &c.Catalog)
		}, value("1")},
		{"predicted to be stable, perhaps", func(m *Exchange, c *catalog.Compiled) {
			c.Catalog.Check = true
			r := sentResult(0, `1`)
			r.Status, r.Grade = wire.Stable, modules.Unknown
			m.Join(0, "app1", c).Export(r, &c.Catalog)
		}, unknown},
		{"unreachable", func(m *Exchange, c *catalog.Compiled) { m.Over(0, "app1") },
			none("the host app1 failed, or its run ended, before exec#token was finished: see the messages of this host")},
		{"lost on the way", func(m *Exchange, c *catalog.Compiled) {
			m.Join(0, "app1", c)
			m.Over(0, "app1")
		}, none("the host app1 failed, or its run ended, before exec#token was finished: see the messages of this host")},
		{"without the resource", func(m *Exchange, c *catalog.Compiled) {
			c.Catalog.Entries[0].Name = "other"
			m.Join(0, "app1", c)
		}, none(`app1 has no resource that is called exec#token and exports "stdout"`)},
		{"with several", func(m *Exchange, c *catalog.Compiled) {
			c.Catalog.Entries[1].Name = "token"
			m.Join(0, "app1", c)
		}, none("exec#token matches 2 resources of app1: write the name of one of them")},
		{"in a later batch", func(m *Exchange, c *catalog.Compiled) { m.hosts["app1"].plays[0].batchBegun = false },
			none("the host app1 is in a later batch of the play: move exec#token into an earlier play")},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newExchange(t, oneImport)
				web1 := m.Join(0, "web1", importing(exporting(), "exec#b", "app1", "exec#token"))
				var given *wire.Imported
				var waiting sync.WaitGroup
				if before := strings.Contains(c.name, "batch"); before {
					c.act(m, nil)
					waiting.Go(func() { given = web1.Import(t.Context(), 0) })
				} else {
					waiting.Go(func() { given = web1.Import(t.Context(), 0) })
					synctest.Wait()
					c.act(m, exporting("exec#token", "exec#b"))
				}
				waiting.Wait()
				require.Equal(t, c.want, given)
				require.Equal(t, c.want, web1.Import(t.Context(), 0), "it asks again, since its connection was lost")
			})
		})
	}
}

// TestCircleOfCatalogs is one that only the catalogs show.
func TestCircleOfCatalogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newExchange(t, oneImport)
		given := map[string]*wire.Imported{}
		var waiting sync.WaitGroup
		var mu sync.Mutex
		circle := []string{"app1", "web1", "app2"}
		var participants []*Participant
		for i, host := range circle { // each receives from the next one before it exports
			c := importing(exporting(), "exec#b", circle[(i+1)%3], "exec#token")
			c.Catalog.Entries = append(c.Catalog.Entries, exporting("exec#token").Catalog.Entries...)
			participants = append(participants, m.Join(0, host, c))
		}
		for i, host := range circle {
			waiting.Go(func() {
				got := participants[i].Import(t.Context(), 0)
				mu.Lock()
				defer mu.Unlock()
				given[host] = got
				m.Over(0, host) // every later entry fails
			})
			synctest.Wait()
		}
		waiting.Wait() // a deadlock would fail the test
		const gone = "receiving cwd: the host %s failed, or its run ended, before exec#token was finished: see the messages of this host"
		require.Equal(t, "receiving cwd: hosts wait for each other in a circle: a resource of app1 waits for exec#token of web1, one of web1 for exec#token of app2, one of app2 for exec#token of app1", given["app1"].Error)
		require.Equal(t, fmt.Sprintf(gone, "app1"), given["app2"].Error)
		require.Equal(t, fmt.Sprintf(gone, "app2"), given["web1"].Error)
	})
}

// TestEarlierPlay is a value that is older than the play.
func TestEarlierPlay(t *testing.T) {
	m := newExchange(t, onePlay("a", "app1", "", token)+onePlay("b", "all", "", key))
	c := exporting("exec#token")
	m.Join(0, "app1", c).Export(sentResult(0, `"x"`), &c.Catalog)
	m.Over(0, "app1")
	got := m.Join(1, "web1", importing(exporting(), "exec#b", "app1", "exec#token")).Import(t.Context(), 0)
	require.Equal(t, &wire.Imported{Values: map[string]json.RawMessage{"cwd": json.RawMessage(`"x"`)}}, got)
}

func TestWaitingEndsWithTheCatalog(t *testing.T) {
	m := newExchange(t, oneImport)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := m.Join(0, "web1", importing(exporting(), "exec#b", "app1", "exec#token")).Import(ctx, 0)
	require.Equal(t, "receiving cwd: context canceled", got.Error)
}

func TestExportersFirst(t *testing.T) {
	run := runOf(t, fourHosts, onePlay("p", "all", "", token, strings.ReplaceAll(key, "app1", "web1")), "")
	require.Equal(t, []string{"web1", "app1", "app2", "web2"}, names(ExportersFirst(run.Plays[0], run.Inventory.Hosts())))
}

// TestNil has plays of which none receives anything.
func TestNil(t *testing.T) {
	run := runOf(t, fourHosts, onePlay("p", "all", "", token), "")
	x := NewExchange(run.Plays, run.Hosts)
	require.Nil(t, x)
	x.StartWith(nil)
	x.PlayBegins(0, nil)
	x.BatchBegins(0, []string{"web1"})
	x.Over(0, "web1")
	require.Nil(t, x.Join(0, "web1", exporting("exec#token")))
}

// TestLostEarlier has a host that was lost in an earlier play.
func TestLostEarlier(t *testing.T) {
	run := runOf(t, fourHosts, oneImport, "")
	x := NewExchange(run.Plays, run.Hosts)
	alive := slices.DeleteFunc(slices.Clone(run.Hosts[0]), func(h *inventory.Host) bool { return h.Name == "app1" })
	x.PlayBegins(0, alive)
	x.BatchBegins(0, names(alive))
	got := x.Join(0, "web1", importing(exporting(), "exec#b", "app1", "exec#token")).Import(t.Context(), 0)
	require.Equal(t, "receiving cwd: the host app1 failed, or its run ended, before exec#token was finished: see the messages of this host", got.Error)
}

// TestExchangeOfMany checks an invariant: hosts with random imports, as many at once as there are places, all end, even
// if some die. If each imports only from earlier entries, and no host dies, all get their values.
func TestExchangeOfMany(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 7))
			circles, deaths := seed%3 == 1, seed%3 == 2
			hosts, resources := 2+rnd.IntN(6), 1+rnd.IntN(6)
			m := manyHosts(t, hosts)
			catalogs := map[string]*catalog.Compiled{}
			dies := map[string]int{}
			for h := range hosts {
				name := fmt.Sprintf("h%d", h)
				c := exporting()
				for k := range resources {
					from := rnd.IntN(max(1, k))
					if circles {
						from = rnd.IntN(resources)
					}
					if k == 0 && !circles || rnd.IntN(2) == 0 {
						c.Catalog.Entries = append(c.Catalog.Entries, exporting(fmt.Sprintf("exec#r%d", k)).Catalog.Entries...)
						continue
					}
					importing(c, fmt.Sprintf("exec#r%d", k), fmt.Sprintf("h%d", rnd.IntN(hosts)), fmt.Sprintf("exec#r%d", from))
				}
				catalogs[name] = c
				dies[name] = resources
				if deaths && rnd.IntN(2) == 0 {
					dies[name] = rnd.IntN(resources)
				}
			}
			var names []string
			for h := range hosts {
				names = append(names, fmt.Sprintf("h%d", h))
			}
			rnd.Shuffle(hosts, func(i, j int) { names[i], names[j] = names[j], names[i] })
			var worked atomic.Int64
			q := NewQueue(names, func(name string, _ *WayIn) {
				defer worked.Add(1)
				defer m.Over(0, name)
				c := catalogs[name]
				participant := m.Join(0, name, c)
				for k := range resources {
					if k == dies[name] {
						return
					}
					status := wire.Changed
					for _, imp := range c.Imports[k] {
						given := participant.Import(t.Context(), k)
						if given.Error != "" {
							require.True(t, circles || deaths, given.Error)
							status = wire.Failed
							continue
						}
						require.JSONEq(t, fmt.Sprintf("%q", imp.Host+"/"+imp.Ref), string(given.Values["cwd"]))
					}
					r := sentResult(k, fmt.Sprintf("%q", name+"/exec#r"+fmt.Sprint(k)))
					if r.Status = status; status == wire.Failed {
						r.Sent = nil
					}
					participant.Export(r, &c.Catalog)
				}
			}, func() bool { return false })
			m.StartWith(q.StartNow)
			atOnce := 1 + rnd.IntN(3)
			q.Run(atOnce, atOnce) // a deadlock fails the test
			require.EqualValues(t, hosts, worked.Load())
		})
	}
}

// manyHosts is an exchange of hosts called h0, h1, … that all may do the same.
func manyHosts(t *testing.T, hosts int) *Exchange {
	var list strings.Builder
	list.WriteString("all:\n  hosts:\n")
	for h := range hosts {
		fmt.Fprintf(&list, "    h%d:\n", h)
	}
	var site strings.Builder
	site.WriteString("ccm:\n  resources:\n    - exec:\n")
	for k := range 6 {
		fmt.Fprintf(&site, "        - r%d: {command: a, export: [stdout], recv: {cwd: {host: h0, from: exec#r0.stdout}}}\n", k)
	}
	run := runOf(t, list.String(), site.String(), "")
	x := NewExchange(run.Plays, run.Hosts)
	x.BatchBegins(0, names(run.Hosts[0]))
	return x
}
