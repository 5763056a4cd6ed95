package playbooks

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/playbooks/registry"
	"github.com/ccm-push/ccm-push/playbooks/share"
	"github.com/ccm-push/ccm-push/transport/dial"
)

// sharedPlay has every kind of resource that workers ask about: web1 has the play, web2 sends values.
const sharedPlay = `
- name: one
  ccm:
    resources:
      - exec: ["echo token": {alias: token, export: [stdout], sema: ["door:1"]}]
      - exec: ["true": {once: true, alias: first}]
      - exec: ["echo said": {register: said, register_when_stable: [{cluster: eu, service: web, protocol: http, address: 192.0.2.3, port: 80, priority: 1}]}]
      - file: ["$FILE": {on: controller, content: "{{ Facts.host.info.os }}", owner: "$ID", group: "$ID", mode: "0600", alias: here}]
      - exec: ["true": {on: web2, alias: there}]
`

type breachCase struct {
	name string
	kind string // kind of ask
	ask  Question
	want string
}

// breaches returns the questions that a worker must not ask about a host of sharedPlay.
func breaches(file string) []breachCase {
	deep := &yamlpos.Node{Kind: yamlpos.Map}
	for range 100 {
		deep = &yamlpos.Node{Kind: yamlpos.Map, Pairs: []yamlpos.Pair{{Key: &yamlpos.Node{Text: "x"}, Value: deep}}}
	}
	list := yamlpos.Portable{Node: &yamlpos.Node{Kind: yamlpos.List}}
	at := func(index int) place { return place{Index: index} }
	return []breachCase{
		{"nothing", "", nil, "sent an unknown request"},
		{"values of a play that is not there", "known", Known{Play: 7}, "sent values of part 0 of play 8"},
		{"values of a play below zero", "known", Known{Play: -1}, "sent values of part 0 of play 0"},
		{"values of a part that is not there", "known", Known{Part: 1}, "sent values of part 1 of play 1"},
		{"values of a repair", "known", Known{Part: repairPart}, "sent values of part 1024 of play 1"},
		{"deep facts", "known", Known{Facts: yamlpos.Portable{Node: deep}}, "nested more than 64 levels deep"},
		{"facts that are a list", "known", Known{Facts: list}, "they are not a map"},
		{"a result of an odd status", "known", Known{Results: []*wire.Result{{Status: "odd"}}}, `the status "odd"`},
		{"the controller for an entry of the host", "here", Here{place: at(0)}, "requested that resource 0 of web1 run on the controller"},
		{"the controller for an entry of another host", "here", Here{place: at(4)}, "where it does not run"},
		{"the controller for an entry that is not there", "here", Here{place: at(99)}, "where it does not run"},
		{"the controller below zero", "here", Here{place: at(-1)}, "where it does not run"},
		{"a refresh by nothing", "here", Here{place: at(3), Refresh: []string{"exec#$(id)"}}, "to which it does not subscribe"},
		{"a host that no entry runs on", "borrow", Borrow{place: at(0), On: "web2"}, `requested "web2", where resource 0 of web1 does not run`},
		{"another host for an entry", "borrow", Borrow{place: at(4), On: "web1"}, `requested "web1"`},
		{"the controller as a host", "borrow", Borrow{place: at(3), On: "controller"}, `requested "controller"`},
		{"a result of nothing that is lent", "return", Return{Borrow{place: at(4), On: "web2"}, &wire.Result{Status: "odd"}}, `the status "odd"`},
		{"a catalog that begins below zero", "joins", Joins{From: -1}, "begins with -1"},
		{"values of another host that the play does not receive", "joins",
			Joins{Entries: []wire.Entry{{}}, Imports: map[int][]catalog.Import{0: {{Property: "content", Host: "web2", Ref: "exec#token", Key: "stdout"}}}}, "which the play does not"},
		{"values for no entry", "joins", Joins{Imports: map[int][]catalog.Import{3: {{}}}}, "receives values for resource 3 of 0"},
		{"values to others, before a catalog", "exports", Exports{Result: wire.Result{Index: 5}}, "sent values of resource 5"},
		{"values to others, below zero", "exports", Exports{Result: wire.Result{Index: -1}}, "sent values of resource -1"},
		{"a semaphore of another play", "claims", Claims{Semaphores: []string{"database:1"}}, `claims the semaphore "database:1"`},
		{"the semaphore with another size", "claims", Claims{Semaphores: []string{"door:100"}}, `claims the semaphore "door:100"`},
		{"no semaphore", "claims", Claims{}, "claims 0 semaphores"},
		{"a semaphore below zero", "claims", Claims{Index: -1, Semaphores: []string{"door:1"}}, "named resource -1"},
		{"a long name", "claims", Claims{Semaphores: []string{"door:1"}, Name: strings.Repeat("x", 1<<20)}, "sent a resource of 1048576 bytes"},
		{"the end of what another host runs once", "once", OnceNews{Ended: "elsewhere", Result: &wire.Result{}}, `named "elsewhere", which does not run once`},
		{"an end without a result", "once", OnceNews{Ended: "x"}, "without a result"},
		{"what does not run once", "awaits", Awaits{"nothing"}, `named "nothing"`},
		{"a look-up of nothing", "lookup", Lookup{}, "looks up 0 and 0 words"},
		{"a look-up of two things", "lookup", Lookup{Key: []string{"a", "b"}, Registration: []string{"a"}}, "looks up 2 and 1 words"},
		{"a file that is not fetched", "file", FilePart{Host: "web1", Name: "/b", Data: []byte("a"), Keep: true}, "which the play does not fetch"},
		{"a file of another host", "file", FilePart{Host: "web2", Name: "/b"}, "which the play does not fetch"},
		{"a long question for a person", "step", StepPrompt{strings.Repeat("x", 1<<20)}, "sent a question for a person of 1048576 bytes"},
		{"facts for a play that is not there", "other_facts", FactsOfOthers{3}, "named play 4"},
		{"facts for a play below zero", "other_facts", FactsOfOthers{-1}, "named play 0"},
		{"values for an entry that receives none", "imports", Imports{Index: 0, Properties: []string{"content"}}, "requested values of resource 0"},
		{"values for an entry below zero", "imports", Imports{Index: -1}, "requested values of resource -1"},
		{"the release of an entry below zero", "release", Release{-5}, "named resource -5"},
		{"the release of an entry that no host has", "release", Release{maxMessageEntries}, "named resource 100000"},
		{"catalogs of others, without --compile-first", "ready", Ready{}, "without --compile-first"},
		{"what is not watched", "watched", Watched{}, "which this turn does not allow"},
	}
}

// TestQuestionBreaches sends every forbidden question of a worker, about a host whose play has every kind of resource.
// The play succeeds, since the questions have no effect.
func TestQuestionBreaches(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	w := newWorld(t, servers(t, "web1", "web2"), strings.NewReplacer("$FILE", file, "$ID", fmt.Sprint(owner())).Replace(strings.Replace(sharedPlay, "- name: one", "- name: one\n  hosts: web1", 1)))
	w.Fetched = record.Store{Folder: t.TempDir()}.Fetched("run")
	c := throughWorkers(t, w.Runner)
	asked := 0
	c.asks = func(handler TurnHandler) {
		facts := yamlpos.Portable{Node: yamlpos.From(&yamlpos.Node{}, map[string]any{"host": map[string]any{"info": map[string]any{"os": "x"}}})}
		a, err := handler.Answer(Known{Facts: facts})
		require.NoError(t, err)
		require.Empty(t, a.Error)
		for _, b := range breaches(file) {
			asked++
			a, err := handler.Answer(b.ask)
			require.ErrorContains(t, err, b.want, b.name)
			require.Zero(t, a, b.name)
			require.IsType(t, &BreachError{}, err)
		}
		for _, e := range []events.Event{
			events.RunStart{}, events.Summary{}, events.HostDone{Host: "web1"}, events.ResourceStart{Host: "web1", Play: "one"}, events.PlayStart{Play: "one"},
			events.Result{Host: "web1", Play: "two"}, events.Message{Host: "web1", Play: "two"}, events.Result{Host: "web1", Play: "one", Index: -1},
			events.Result{Host: "web1", Play: "one", Type: "fetch", Name: "/b", Fetched: "/b"},
			events.Result{Host: "web1", Play: "one", Type: "exec", Name: "true", Status: events.Stable, Registers: []registry.Registration{{Cluster: "production", Service: "db", Protocol: "postgres", Address: "203.0.113.66"}}},
		} {
			asked++
			_, err := handler.Check(e)
			require.Error(t, err, "%#v", e)
		}
		for _, end := range []TurnEnd{
			{Took: -1}, {Failure: &events.Carried{Event: events.HostFailed{Host: "web2"}}}, {Failure: &events.Carried{Event: events.Summary{}}},
			{}, {Result: json.RawMessage(`{"good":true}`)}, {Result: json.RawMessage(`{} {}`)}, {Result: json.RawMessage(`{"changes":1}`)},
		} {
			asked++
			require.Error(t, handler.CheckEnd(end), "%#v", end)
		}
	}
	lines := w.run(t)
	require.Greater(t, asked, 40)
	require.Contains(t, lines, "web1 done: ok")
	require.FileExists(t, file)
}

// TestMessagesAreChecked fails when a kind of questions has no breach case, or no case of an answer that does not fit.
func TestMessagesAreChecked(t *testing.T) {
	cases := map[string]bool{}
	for _, b := range breaches("/x") {
		cases[b.kind] = true
	}
	for _, b := range answerBreaches() {
		kind, _, err := kindOf(questionKinds, b.to)
		require.NoError(t, err)
		cases["to "+kind] = true
	}
	good := askedQuestions()
	for name := range questionKinds {
		require.True(t, cases[name], "%s: write a case in breaches", name)
		require.True(t, cases["to "+name], "%s: write a case in answerBreaches", name)
		of, _, err := kindOf(questionKinds, good[name])
		require.NoError(t, err)
		require.Equal(t, name, of, "write a question in askedQuestions")
	}
	for text, want := range map[string]string{
		`{}`: "sent an unknown request", `{"catalog":{}}`: "sent an unknown request", `{"ready":{},"step":{"text":"x"}}`: "sent two requests in one",
		`{"here":{"catalog":1}}`: `unknown field "catalog"`, `{"here":1}`: "is not readable", `1`: "is not readable", `{"ready":{}} 1`: "more after its end",
	} {
		_, err := DecodeQuestion([]byte(text))
		require.ErrorContains(t, err, want, text)
		require.IsType(t, &BreachError{}, err)
	}
}

// TestValuesOfABadWorker sends values from a worker that look like commands. They are only data: the file on the
// controller contains them byte for byte, and its other properties are as in the play.
func TestValuesOfABadWorker(t *testing.T) {
	for i, value := range []string{"$(touch PWNED)", "`touch PWNED`", "'; touch PWNED; '", "a\nb", "--reference=/etc/shadow", "{{ 1 + 1 }}", "[[ 1 + 1 ]]", "\x1b]0;x\x07"} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "file")
			manifest := fmt.Sprintf("ccm: {resources: [{file: [{%q: {content: \"{{ Facts.host.info.os }}\", on: controller, owner: \"%d\", group: \"%[2]d\", mode: \"0600\"}}]}]}\n", file, owner())
			w := newWorld(t, servers(t, "web1"), manifest)
			c := throughWorkers(t, w.Runner)
			c.asks = func(handler TurnHandler) {
				facts := yamlpos.Portable{Node: yamlpos.From(&yamlpos.Node{}, map[string]any{"host": map[string]any{"info": map[string]any{"os": value}}})}
				a, err := handler.Answer(Known{Facts: facts})
				require.NoError(t, err)
				require.Empty(t, a.Error)
				a, err = handler.Answer(Here{})
				require.NoError(t, err)
				require.Empty(t, a.Error)
				var result wire.Result
				require.NoError(t, json.Unmarshal(a.Value, &result))
				require.Equal(t, wire.Changed, result.Status, result.Error)
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				require.Equal(t, value, string(text))
			}
			w.run(t)
			require.NoFileExists(t, "PWNED")
		})
	}
}

// FuzzQuestion sends arbitrary questions of a worker: each is answered or refused, and none ends the coordinator.
func FuzzQuestion(f *testing.F) {
	for _, b := range breaches("/x") {
		text, err := EncodeQuestion(b.ask)
		if b.kind == "" {
			continue
		}
		require.NoError(f, err)
		f.Add(text, "watch")
		f.Add(text, "play")
	}
	f.Add([]byte(`{"watched":{}}`), "watch")
	f.Add([]byte(`{"imports":{"index":0,"properties":["content"]}}`), "play")
	f.Add([]byte(`{"release":{"index":-5}}`), "play")
	f.Add([]byte(`{"known":{"facts":{"k":2,"p":[null,null]}}}`), "play")
	f.Fuzz(func(t *testing.T, text []byte, kind string) {
		q, err := DecodeQuestion(text)
		if err != nil {
			return
		}
		if b, is := q.(Borrow); is {
			b.Lend = func(host string) (*Lent, error) { return waysTo(host), nil }
			q = b
		}
		request, err := decodeKind[Request](requestKinds, fmt.Appendf(nil, `{%q:{}}`, kind))
		if err != nil {
			return
		}
		a := bareAnswerer(t, request)
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			_, _ = a.Answer(q)
		}()
		select {
		case <-answered:
		case <-time.After(20 * time.Second):
			t.Fatal("it is never answered")
		}
	})
}

// bareAnswerer answers about web1 of sharedPlay, in a run that has reached no host and does not wait.
func bareAnswerer(t testing.TB, request Request) *answerer {
	text := strings.NewReplacer("$FILE", filepath.Join(t.TempDir(), "file"), "$ID", fmt.Sprint(owner())).Replace(sharedPlay)
	plays, err := load.Parse(t.Context(), "site.yaml", []byte(text), builtin.Types())
	require.NoError(t, err)
	plays[0].Folder = t.TempDir()
	inv, err := inventory.Parse("hosts.yaml", []byte("all: {hosts: {web1: {}, web2: {}}}"))
	require.NoError(t, err)
	r := &Runner{Inventory: inv, Plays: plays, Now: time.Now, Dialer: &dial.Dialer{}, Options: Options{Check: true}}
	r.Events = events.NewStream("run", time.Now)
	compiler, err := catalog.New(plays[0], catalog.Options{})
	require.NoError(t, err)
	t.Cleanup(compiler.Close)
	values, err := r.inventoryValues(nil)
	require.NoError(t, err)
	stop := make(chan struct{})
	close(stop)
	f := &fleet{runner: r, stop: stop, states: map[string]*hostState{}, lent: map[string]bool{}}
	f.sessions, f.once, f.commons = share.NewSessions(&f.waits), share.NewOnce(&f.waits), ownCommons{f}
	f.plays = []*selection{{play: plays[0], compiler: compiler, values: values[0], hosts: inv.Hosts()}}
	f.exchange = share.NewExchange(plays, [][]*inventory.Host{inv.Hosts()})
	f.exchange.WaitIn(&f.waits)
	f.exchange.PlayBegins(0, inv.Hosts())
	f.exchange.BatchBegins(0, []string{"web1", "web2"})
	f.once.Begin([]string{"web1", "web2"}, false, func(string) {})
	p := f.playOn(f.plays[0].whole(), &hostState{host: inv.Host("web1")})
	ctx, cancel := context.WithCancel(t.Context())
	a, closed := p.answering(ctx, Turn{Request: request, Host: "web1"})
	t.Cleanup(func() { closed(false) })
	time.AfterFunc(50*time.Millisecond, cancel)
	return a
}

// TestEventsOfWorkers sorts all events: a worker may report some of its hosts, and the coordinator reports the others itself.
func TestEventsOfWorkers(t *testing.T) {
	reported := []string{"output", "result", "message", "reconnect", "untold", "armed", "watchdog", "confirmed", "reverted"}
	own := []string{
		"run_start", "play_start", "resource_start", "site_waits", "host_done", "summary", // of the run
		"unreachable", "host_failed", "interrupted", // by the end of a turn
		"rollout_plan", "host_rolling", "host_rolled", "gate", "rollout_stop", "rollout_pause", "rollout_said", // decided by the coordinator
		"watch_start", "watched", "drift", "repaired", "fighting", "repair_waits", "unwatched",
	}
	a := &answerer{fleet: &fleet{}, of: &selection{play: &manifest.Play{Name: "one"}}, host: "web1"}
	for _, def := range events.Schema().Defs {
		e, err := events.Decode(fmt.Appendf(nil, `{"event":%q,"time":"2026-01-02T03:04:05.000Z","run":"r","play":"one","host":"web1"}`, def.Name))
		require.NoError(t, err, def.Name)
		for _, handler := range []TurnHandler{a, NoQuestions{Turn{Host: "web1"}}} { // handlers of a play, and of a host that only reports facts
			_, err = handler.Check(e)
			switch {
			case slices.Contains(reported, def.Name):
				require.NoError(t, err, def.Name)
			case slices.Contains(own, def.Name):
				require.ErrorContains(t, err, "which only the coordinator reports", def.Name)
			default:
				require.Fail(t, "a new event", "%s: may a worker report it?", def.Name)
			}
		}
	}
	_, err := NoQuestions{Turn{Host: "web1"}}.Check(events.Result{Host: "web1", Fetched: "/etc/shadow"})
	require.ErrorContains(t, err, "hands over files of web1, which has no play")
}

// TestResultsOfWorkers checks results that do not fit the request of their turn.
func TestResultsOfWorkers(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, one := range map[string]struct {
		request     Request
		result, bad string
	}{
		"play":      {PlayRequest{}, `{"changes":true,"restarts":["service#a"]}`, `{"sick":"x"}`},
		"predict":   {PredictRequest{}, `{"changes":true,"sick":"x"}`, `{"sick":"` + long + `"}`},
		"roll":      {RollRequest{}, `{"failed":true}`, `{"good":true}`},
		"health":    {HealthRequest{}, `"x"`, `"` + long + `"`},
		"gate":      {GateRequest{}, `{"good":true,"text":"x"}`, `{"text":"` + long + `"}`},
		"settle":    {SettleRequest{}, `{}`, `{"failed":true}`},
		"watch":     {WatchRequest{}, `{}`, `{"changes":true}`},
		"login":     {LoginRequest{}, `{}`, `{"facts":1}`},
		"facts":     {FactsQuery{}, `{"k":2}`, `1`},
		"footprint": {FootprintQuery{}, `[]`, `{}`},
	} {
		turn := Turn{Request: one.request, Host: "web1"}
		require.Equal(t, name, turn.Kind())
		there, _ := carry(t, turn)
		require.Equal(t, turn, there)
		for _, handler := range []TurnHandler{&answerer{host: "web1", turn: turn}, NoQuestions{turn}} {
			require.NoError(t, handler.CheckEnd(TurnEnd{Result: json.RawMessage(one.result)}), name)
			require.NoError(t, handler.CheckEnd(TurnEnd{Stopped: true}), name)
			for _, bad := range []string{one.bad, "", "{", one.result + " 1"} {
				require.IsType(t, &BreachError{}, handler.CheckEnd(TurnEnd{Result: json.RawMessage(bad)}), name)
			}
		}
	}
	require.Len(t, requestKinds, 10)
}

// FuzzTurn reads turns from arbitrary JSON: a turn that was read is the same after it was sent again.
func FuzzTurn(f *testing.F) {
	for name := range requestKinds {
		f.Add(fmt.Appendf(nil, `{"host":"web1","play":1,"request":{%q:{}}}`, name))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var turn Turn
		if json.Unmarshal(text, &turn) == nil {
			there, _ := carry(t, turn)
			require.Equal(t, turn.Kind(), there.Kind())
		}
	})
}
