package playbooks

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// A market is an exchange whose hosts are in the hands of a test.
type market struct {
	*exchange
	plays []*selection
}

// newMarket makes the exchange of a manifest.
func newMarket(t *testing.T, site string) *market {
	inv, err := inventory.Parse("hosts.yaml", []byte(tradingHosts))
	require.NoError(t, err)
	list, err := manifest.Parse(t.Context(), "site.yaml", []byte(site), builtin.Types())
	require.NoError(t, err)
	r := &Runner{Inventory: inv, Plays: list}
	hosts, err := r.Select()
	require.NoError(t, err)
	m := &market{}
	for i, p := range list {
		m.plays = append(m.plays, &selection{play: p, hosts: hosts[i]})
	}
	m.exchange = newExchange(m.plays)
	for _, s := range m.plays {
		m.due(s, names(s.hosts))
	}
	return m
}

// gives is a catalog of what exports stdout, and so on, and receives nothing.
func gives(refs ...string) *catalog.Compiled {
	c := &catalog.Compiled{Imports: map[int][]catalog.Import{}}
	for _, ref := range refs {
		typeName, name, _ := strings.Cut(ref, "#")
		c.Catalog.Entries = append(c.Catalog.Entries, modules.Entry{Type: typeName, Name: name, Export: []string{"stdout"}})
	}
	return c
}

// receives adds a resource that receives a property from another host.
func receives(c *catalog.Compiled, ref, host, from string) *catalog.Compiled {
	typeName, name, _ := strings.Cut(ref, "#")
	i := len(c.Catalog.Entries)
	c.Catalog.Entries = append(c.Catalog.Entries, modules.Entry{Type: typeName, Name: name, Export: []string{"stdout"}})
	c.Imports[i] = []catalog.Import{{Property: "cwd", Host: host, Ref: from, Key: "stdout"}}
	return c
}

func sentResult(i int, value string) *modules.Result {
	return &modules.Result{Index: i, Status: modules.Changed, Sent: map[string]json.RawMessage{"stdout": json.RawMessage(value)}}
}

const tradingSite = `
- name: p
  ccm:
    resources:
      - exec:
          - token: {command: a, export: [stdout]}
          - b: {command: b, export: [stdout], recv: {cwd: {host: app1, from: exec#token.stdout}}}
`

// TestGiven is how each way in which the giver can end is told to the receiver.
func TestGiven(t *testing.T) {
	none := func(err string) *modules.Given { return &modules.Given{Error: "receiving cwd: " + err} }
	value := func(text string) *modules.Given {
		return &modules.Given{Values: map[string]json.RawMessage{"cwd": json.RawMessage(text)}}
	}
	unknown := &modules.Given{Values: map[string]json.RawMessage{}, Unknown: true}
	for _, c := range []struct {
		name string
		act  func(m *market, c *catalog.Compiled) // the part of app1
		want *modules.Given
	}{
		{"a value", func(m *market, c *catalog.Compiled) {
			m.trade(m.plays[0], "app1", c).told(sentResult(0, `"{{ Facts }} \u001b[1m"`), &c.Catalog)
		}, value(`"{{ Facts }} \u001b[1m"`)},
		{"any JSON", func(m *market, c *catalog.Compiled) {
			m.trade(m.plays[0], "app1", c).told(sentResult(0, `{"port":[1,null]}`), &c.Catalog)
		}, value(`{"port":[1,null]}`)},
		{"of a sensitive resource", func(m *market, c *catalog.Compiled) {
			c.Catalog.Entries[0].Sensitive = true
			m.trade(m.plays[0], "app1", c).told(sentResult(0, `1`), &c.Catalog)
		}, &modules.Given{Values: map[string]json.RawMessage{"cwd": json.RawMessage("1")}, Sensitive: true}},
		{"failed", func(m *market, c *catalog.Compiled) {
			m.trade(m.plays[0], "app1", c).told(&modules.Result{Status: modules.Failed, Error: "what app1 says"}, &c.Catalog)
		}, none("exec#token of app1 has failed, so there is no stdout")},
		{"skipped", func(m *market, c *catalog.Compiled) {
			m.trade(m.plays[0], "app1", c).told(&modules.Result{Status: modules.Skipped}, &c.Catalog)
		}, none("exec#token of app1 was skipped, so there is no stdout")},
		{"nothing to send", func(m *market, c *catalog.Compiled) {
			m.trade(m.plays[0], "app1", c).told(&modules.Result{Status: modules.Stable}, &c.Catalog)
		}, none("exec#token of app1 has sent no stdout: it did nothing now, and nothing is remembered of an earlier run; let it run once, by removing what its creates, onlyif or unless finds, or read the value in another way")},
		{"too large", func(m *market, c *catalog.Compiled) {
			m.trade(m.plays[0], "app1", c).told(sentResult(0, `"`+strings.Repeat("x", maxValue)+`"`), &c.Catalog)
		}, none("stdout of exec#token of app1 is too large: it has 65538 bytes, and 64 KiB are allowed")},
		{"too much", func(m *market, c *catalog.Compiled) {
			m.hosts["app1"].size = maxValues
			m.trade(m.plays[0], "app1", c).told(sentResult(0, `1`), &c.Catalog)
		}, none("stdout of exec#token of app1 is too large: all values of that host together have more than 1024 KiB")},
		{"foretold", func(m *market, c *catalog.Compiled) {
			c.Catalog.Check = true
			m.trade(m.plays[0], "app1", c).told(sentResult(0, `1`), &c.Catalog)
		}, unknown},
		{"foretold to be stable, and remembered", func(m *market, c *catalog.Compiled) {
			c.Catalog.Check = true
			r := sentResult(0, `1`)
			r.Status = modules.Stable
			m.trade(m.plays[0], "app1", c).told(r, &c.Catalog)
		}, value("1")},
		{"foretold to be stable, perhaps", func(m *market, c *catalog.Compiled) {
			c.Catalog.Check = true
			r := sentResult(0, `1`)
			r.Status, r.Uncertain = modules.Stable, true
			m.trade(m.plays[0], "app1", c).told(r, &c.Catalog)
		}, unknown},
		{"unreachable", func(m *market, c *catalog.Compiled) { m.over(m.plays[0], "app1") },
			none("app1 has failed, or its run has ended, before exec#token was done there: see what is said of it")},
		{"lost on the way", func(m *market, c *catalog.Compiled) {
			m.trade(m.plays[0], "app1", c)
			m.over(m.plays[0], "app1")
		}, none("app1 has failed, or its run has ended, before exec#token was done there: see what is said of it")},
		{"without the resource", func(m *market, c *catalog.Compiled) {
			c.Catalog.Entries[0].Name = "other"
			m.trade(m.plays[0], "app1", c)
		}, none("app1 has no resource that is called exec#token and exports stdout")},
		{"with several", func(m *market, c *catalog.Compiled) {
			c.Catalog.Entries[1].Name = "token"
			m.trade(m.plays[0], "app1", c)
		}, none("exec#token means 2 resources of app1: name one of them")},
		{"in a later batch", func(m *market, c *catalog.Compiled) { m.hosts["app1"].parts[0].due = false },
			none("app1 has its turn in a later batch of the play: put exec#token into a play before this one")},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMarket(t, tradingSite)
				web1 := m.trade(m.plays[0], "web1", receives(gives(), "exec#b", "app1", "exec#token"))
				var given *modules.Given
				var waiting sync.WaitGroup
				if before := strings.Contains(c.name, "batch"); before {
					c.act(m, nil)
					waiting.Go(func() { given = web1.need(t.Context(), 0) })
				} else {
					waiting.Go(func() { given = web1.need(t.Context(), 0) })
					synctest.Wait()
					c.act(m, gives("exec#token", "exec#b"))
				}
				waiting.Wait()
				require.Equal(t, c.want, given)
			})
		})
	}
}

// TestCircleOnTheWay is one that only the catalogs show.
func TestCircleOnTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMarket(t, tradingSite)
		given := map[string]*modules.Given{}
		var waiting sync.WaitGroup
		var mu sync.Mutex
		circle := []string{"app1", "web1", "app2"}
		var trades []*trade
		for i, host := range circle { // each receives from the next one before it gives
			c := receives(gives(), "exec#b", circle[(i+1)%3], "exec#token")
			c.Catalog.Entries = append(c.Catalog.Entries, gives("exec#token").Catalog.Entries...)
			trades = append(trades, m.trade(m.plays[0], host, c))
		}
		for i, host := range circle {
			waiting.Go(func() {
				got := trades[i].need(t.Context(), 0)
				mu.Lock()
				defer mu.Unlock()
				given[host] = got
				m.over(m.plays[0], host) // what follows fails, whatever it is
			})
			synctest.Wait()
		}
		waiting.Wait() // a deadlock would fail the test
		const gone = "receiving cwd: %s has failed, or its run has ended, before exec#token was done there: see what is said of it"
		require.Equal(t, "receiving cwd: hosts wait for each other in a circle: a resource of app1 waits for exec#token of web1, one of web1 for exec#token of app2, one of app2 for exec#token of app1", given["app1"].Error)
		require.Equal(t, fmt.Sprintf(gone, "app1"), given["app2"].Error)
		require.Equal(t, fmt.Sprintf(gone, "app2"), given["web1"].Error)
	})
}

// TestEarlierPlay is a value that is older than the play.
func TestEarlierPlay(t *testing.T) {
	m := newMarket(t, onePlay("a", "app1", "", token)+onePlay("b", "all", "", key))
	c := gives("exec#token")
	m.trade(m.plays[0], "app1", c).told(sentResult(0, `"x"`), &c.Catalog)
	m.over(m.plays[0], "app1")
	got := m.trade(m.plays[1], "web1", receives(gives(), "exec#b", "app1", "exec#token")).need(t.Context(), 0)
	require.Equal(t, &modules.Given{Values: map[string]json.RawMessage{"cwd": json.RawMessage(`"x"`)}}, got)
}

func TestWaitingEndsWithTheCatalog(t *testing.T) {
	m := newMarket(t, tradingSite)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := m.trade(m.plays[0], "web1", receives(gives(), "exec#b", "app1", "exec#token")).need(ctx, 0)
	require.Equal(t, "receiving cwd: context canceled", got.Error)
}

// TestQueueHurries has hosts that wait for others which have no place yet: with any
// number of places all come to their end, and those that work are never more.
func TestQueueHurries(t *testing.T) {
	for forks := 1; forks <= 4; forks++ {
		synctest.Test(t, func(t *testing.T) {
			const n = 20
			var mu sync.Mutex
			ended := map[string]chan struct{}{}
			q := &queue{stop: func() bool { return false }}
			for i := range n {
				name := fmt.Sprint("h", i)
				q.waiting, ended[name] = append(q.waiting, name), make(chan struct{})
			}
			working, peak := 0, 0
			count := func(d int) {
				mu.Lock()
				defer mu.Unlock()
				working += d
				peak = max(peak, working)
			}
			q.work = func(host string) {
				defer close(ended[host])
				var i int
				fmt.Sscanf(host, "h%d", &i)
				if i+1 < n { // waits for the one that comes after it
					next := fmt.Sprint("h", i+1)
					q.hurry(next)
					<-ended[next]
				}
				count(1)
				synctest.Wait()
				count(-1)
			}
			q.run(forks)
			require.Empty(t, q.waiting)
			require.Zero(t, q.running)
			require.Equal(t, 1, peak)
		})
	}
}

func TestGiversFirst(t *testing.T) {
	inv, err := inventory.Parse("hosts.yaml", []byte(tradingHosts))
	require.NoError(t, err)
	list, err := manifest.Parse(t.Context(), "site.yaml", []byte(onePlay("p", "all", "", token, strings.ReplaceAll(key, "app1", "web1"))), builtin.Types())
	require.NoError(t, err)
	require.Equal(t, []string{"web1", "app1", "app2", "web2"}, names(giversFirst(list[0], inv.Hosts())))
}

// TestExchangeOfMany is a law: hosts that receive whatever from whomever, as many at
// once as there are places, all come to their end, whoever dies on the way. Where
// each receives only what stands earlier, and nobody dies, all get what they ask for.
func TestExchangeOfMany(t *testing.T) {
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 7))
			circles, deaths := seed%3 == 1, seed%3 == 2
			hosts, resources := 2+rnd.IntN(6), 1+rnd.IntN(6)
			m := manyMarket(t, hosts)
			catalogs := map[string]*catalog.Compiled{}
			dies := map[string]int{}
			for h := range hosts {
				name := fmt.Sprintf("h%d", h)
				c := gives()
				for k := range resources {
					from := rnd.IntN(max(1, k))
					if circles {
						from = rnd.IntN(resources)
					}
					if k == 0 && !circles || rnd.IntN(2) == 0 {
						c.Catalog.Entries = append(c.Catalog.Entries, gives(fmt.Sprintf("exec#r%d", k)).Catalog.Entries...)
						continue
					}
					receives(c, fmt.Sprintf("exec#r%d", k), fmt.Sprintf("h%d", rnd.IntN(hosts)), fmt.Sprintf("exec#r%d", from))
				}
				catalogs[name] = c
				dies[name] = resources
				if deaths && rnd.IntN(2) == 0 {
					dies[name] = rnd.IntN(resources)
				}
			}
			s := m.plays[0]
			q := &queue{stop: func() bool { return false }}
			var names []string
			for h := range hosts {
				names = append(names, fmt.Sprintf("h%d", h))
			}
			rnd.Shuffle(hosts, func(i, j int) { names[i], names[j] = names[j], names[i] })
			q.waiting = names
			q.work = func(name string) {
				defer m.over(s, name)
				c := catalogs[name]
				trade := m.trade(s, name, c)
				for k := range resources {
					if k == dies[name] {
						return
					}
					status := modules.Changed
					for _, imp := range c.Imports[k] {
						given := trade.need(t.Context(), k)
						if given.Error != "" {
							require.True(t, circles || deaths, given.Error)
							status = modules.Failed
							continue
						}
						require.JSONEq(t, fmt.Sprintf("%q", imp.Host+"/"+imp.Ref), string(given.Values["cwd"]))
					}
					r := sentResult(k, fmt.Sprintf("%q", name+"/exec#r"+fmt.Sprint(k)))
					if r.Status = status; status == modules.Failed {
						r.Sent = nil
					}
					trade.told(r, &c.Catalog)
				}
			}
			m.serves(q.hurry)
			q.run(1 + rnd.IntN(3)) // a deadlock fails the test
			require.Empty(t, q.waiting)
		})
	}
}

// manyMarket is an exchange of hosts called h0, h1, … that all may do the same.
func manyMarket(t *testing.T, hosts int) *market {
	var list strings.Builder
	list.WriteString("all:\n  hosts:\n")
	for h := range hosts {
		fmt.Fprintf(&list, "    h%d:\n", h)
	}
	inv, err := inventory.Parse("hosts.yaml", []byte(list.String()))
	require.NoError(t, err)
	var site strings.Builder
	site.WriteString("ccm:\n  resources:\n    - exec:\n")
	for k := range 6 {
		fmt.Fprintf(&site, "        - r%d: {command: a, export: [stdout], recv: {cwd: {host: h0, from: exec#r0.stdout}}}\n", k)
	}
	plays, err := manifest.Parse(t.Context(), "site.yaml", []byte(site.String()), builtin.Types())
	require.NoError(t, err)
	s := &selection{play: plays[0], hosts: inv.Hosts()}
	m := &market{plays: []*selection{s}, exchange: newExchange([]*selection{s})}
	m.due(s, names(s.hosts))
	return m
}
