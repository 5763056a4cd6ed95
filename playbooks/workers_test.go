package playbooks

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/playbooks/secret"
	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// A carrying worker has in each turn the same data as a worker on another machine: everything that it receives, and
// everything that it reports, has been JSON.
type carrying struct {
	t  *testing.T
	of *Runner

	asks func(handler TurnHandler) // additional questions; nil means none

	mu    sync.Mutex
	turns []Turn
	sent  strings.Builder
}

// throughWorkers processes the hosts of a runner through workers.
func throughWorkers(t *testing.T, r *Runner) *carrying {
	c := &carrying{t: t, of: r}
	r.Workers = c
	return c
}

func (c *carrying) Enter(context.Context, <-chan struct{}, []Turn) error { return nil }

func carry[T any](t *testing.T, v T) (there T, text string) {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &there))
	return there, string(data)
}

func (c *carrying) Take(ctx context.Context, stop <-chan struct{}, turn Turn, handler TurnHandler) TurnEnd {
	of := c.of
	host := of.Inventory.Host(turn.Host)
	target, err := of.target(host)
	require.NoError(c.t, err)
	watched, _ := turn.Request.(WatchRequest)
	turn, text := carry(c.t, turn)
	part, said := carry(c.t, of.Inventory.Part([]*inventory.Host{host}, func(*inventory.Host) string { return target.User }))
	target, _ = carry(c.t, target)
	needs, _ := carry(c.t, of.Needs)
	c.mu.Lock()
	c.turns = append(c.turns, turn)
	names, err := json.Marshal(needs.Names.Hosts)
	require.NoError(c.t, err)
	c.sent.WriteString(text + said + string(names))
	c.mu.Unlock()
	there, err := part.Inventory()
	require.NoError(c.t, err)
	options, _ := carry(c.t, of.Options)
	options.Catalog = of.Options.Catalog
	options.Catalog.Mask, options.Catalog.Environ = &secret.Mask{}, map[string]any{}
	if needs.Environ {
		options.Catalog.Environ = of.Options.Catalog.Environ
	}
	worker := &Runner{
		Inventory: there, Plays: of.Plays, Dialer: &dial.Dialer{}, Builds: of.Builds, FullBuilds: of.FullBuilds, BuildID: of.BuildID,
		Options: options, Now: time.Now, NewNonce: of.NewNonce,
		Names: &needs.Names, Targets: map[string]transport.Target{turn.Host: target},
		Events: events.NewStream(of.Options.Run, time.Now, back{c, handler}),
	}
	orders := make(chan WatchOrder, 1)
	worker.Controller = asker{c, handler, turn.Host, orders}
	if c.asks != nil {
		c.asks(handler)
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case o := <-watched.Orders:
				o, _ = carry(c.t, o)
				orders <- o
			case <-ended:
				return
			}
		}
	}()
	defer worker.Dialer.Close()
	var end TurnEnd
	require.NoError(c.t, worker.Turns(ctx, stop, []Turn{turn}, func(name string, e TurnEnd) {
		require.Equal(c.t, turn.Host, name)
		end, _ = carry(c.t, e)
		require.NoError(c.t, handler.CheckEnd(end))
	}))
	return end
}

// An asker is the controller of a carrying worker.
type asker struct {
	*carrying
	handler TurnHandler
	host    string
	orders  chan WatchOrder
}

func (asker) Waiting() {}

func (a asker) Orders(string) <-chan WatchOrder { return a.orders }

func (a asker) Reach(_ context.Context, lent *Lent) (transport.Target, error) {
	return a.of.target(a.of.Inventory.Host(lent.Target.Host))
}

func (a asker) lend(name string) (*Lent, error) {
	host := a.of.Inventory.Host(name)
	target, err := a.of.target(host)
	if err != nil {
		return nil, err
	}
	its, err := reach.NewWireTarget(target)
	return &Lent{Inventory: a.of.Inventory.Part([]*inventory.Host{host}, func(*inventory.Host) string { return target.User }), Target: its}, err
}

func (a asker) Answer(ctx context.Context, host string, q Question) (Answer, error) {
	require.Equal(a.t, a.host, host)
	text, err := EncodeQuestion(q)
	require.NoError(a.t, err)
	there, err := DecodeQuestion(text)
	require.NoError(a.t, err)
	if b, is := there.(Borrow); is {
		b.Lend = a.lend
		there = b
	}
	answers := make(chan Answer, 1)
	go func() {
		answer, err := a.handler.Answer(there)
		if err != nil {
			a.t.Errorf("a good worker breaks the protocol: %v", err)
		}
		answers <- answer
	}()
	select {
	case answer := <-answers:
		answer, _ = carry(a.t, answer)
		require.NoError(a.t, CheckAnswer(q, &answer))
		return answer, nil
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

// back passes the reports of a worker to the runner.
type back struct {
	*carrying
	handler TurnHandler
}

func (b back) Report(e events.Event) {
	there, _ := carry(b.t, events.Carried{Event: e})
	if events.HostOf(e) == "" { // which no worker sends
		return
	}
	var err error
	if there.Event, err = b.handler.Check(there.Event); err != nil {
		b.t.Errorf("a good worker breaks the protocol: %v", err)
		return
	}
	switch e := there.Event.(type) {
	case events.Result:
		there.Event = b.of.Kept(e)
	case events.Untold:
		rest, left := b.of.Untold(e)
		if !left {
			return
		}
		there.Event = rest
	}
	b.of.Events.Report(there.Event)
}

// TestWorkersDoTheSame takes runs over hosts directly and through workers: all reports are equal.
func TestWorkersDoTheSame(t *testing.T) {
	for _, test := range []struct{ name, manifest string }{
		{"two plays", `
- name: one
  data: {n: 3}
  ccm:
    pre_message: hello
    resources:
      - file: ["{{ Data.home }}/dir": {ensure: directory, owner: "{{ string(Data.owner) }}", group: "{{ string(Data.owner) }}", mode: "0700"}]
      - exec: ["echo {{ Groups.all | len() }} {{ Play.hosts | len() }} {{ Host.name }} {{ Data.n }}": {}]
      - exec: [touch made: {cwd: "{{ Data.home }}", creates: "{{ Data.home }}/made"}]
- name: two
  ccm: {resources: [exec: [{"true": {control: {if: "Facts.host.info.os == 'linux'"}}}]]}
`},
		{"failures", `
- name: one
  ccm: {resources: [exec: [{"test {{ Host.name }} = web2": {}}, {"echo shown; false": {provider: shell, control: {if: "Host.name == 'web2'"}}}]]}
- name: two
  ccm: {resources: [exec: [{"true": }]]}
`},
		{"batches", `
- name: one
  serial: 1
  ccm: {resources: [exec: [{"true": }]]}
`},
		{"a host alone does not compile", `
- name: one
  ccm: {resources: [exec: [{"echo {{ Host.name == 'web1' ? Facts.missing : '' }}": }]]}
`},
		{"what is registered", `
- name: one
  ccm: {resources: [exec: [{"echo {{ Host.name }}": {register: said}}, {"echo again {{ Results.said.stdout }}": }]]}
`},
		{"what is in NATS", `
- name: one
  ccm:
    resources:
      - exec: ["echo {{ kvGet('CFG', 'motd') }} {{ Host.name }} {{ registrations('eu', 'http', '*', '*')[0].Port + 1 }} {{ registrations('none', '*', '*', '*').PrometheusFileSD() }}": {}]
- name: two
  ccm: {resources: [exec: [{"echo {{ Host.name == 'web1' ? kvGet('CFG', Facts.host.info.os == '' ? '' : 'none') : '' }}": }]]}
`},
		{"variables and facts of other hosts", `
- name: one
  hostfacts: [web2]
  ccm:
    resources:
      - exec:
          - read: {command: "test '{{ Hosts.web2.nested.list[1] + 1 }} {{ Hosts.web1.flag }} {{ Hosts.web2.facts.host.info.os }} {{ Hosts | len() }}' = '42 true linux 2'", provider: shell}
          - own: {command: "test {{ Hosts[Host.name].token }} = secret-of-{{ Host.name }}", provider: shell}
          - unknown: {command: "echo {{ Hosts.web2.facts.nothing }}", control: {if: "Host.name == 'web1'"}}
- name: two
  rollout: {gate: {name: g, check: {command: "test {{ Hosts.web2.flag }} = true"}, interval: 1s}}
  ccm: {resources: [exec: [{"true": }]]}
`},
		{"facts of a host that is down", `
- name: one
  hostfacts: [down]
  hosts: web1
  ccm: {resources: [exec: [{read: {command: "echo {{ Hosts.down.facts.host.info.os }}"}}]]}
`},
		{"what is fetched", `
- name: one
  ccm:
    resources:
      - exec: ["seq 60000 >big; : >empty": {provider: shell, cwd: "{{ Data.home }}"}]
      - fetch:
          - "{{ Data.home }}/big": {}
          - "{{ Data.home }}/empty": {sensitive: true}
          - /etc/hostname: {on: web2, control: {if: "Host.name == 'web1'"}}
          - "{{ Data.home }}/none": {}
`},
		{"what runs once", `
- name: one
  ccm: {resources: [exec: [{"echo {{ Host.name }}": {once: true}}, {"true": {control: {if: "Host.name == 'web2'"}, once: true}}, {"echo all": }]]}
`},
		{"what runs elsewhere", `
- name: one
  ccm:
    resources:
      - exec: ["echo {{ Host.name }} is drained": {on: web2, register: drained}]
      - exec: ["echo {{ Host.name }} here": {on: controller}]
      - exec: ["test {{ Host.name }} = web2": {on: web2}]
      - file: ["{{ Data.home }}/new": {on: web2, ensure: directory, owner: "{{ string(Data.owner) }}", group: "{{ string(Data.owner) }}", mode: "0700"}]
      - file: ["{{ Data.home }}/new/in": {on: web2, content: x, owner: "{{ string(Data.owner) }}", group: "{{ string(Data.owner) }}", mode: "0600"}]
      - exec: ["echo {{ Results.drained.stdout }}": {require: ["exec#test {{ Host.name }} = web2"]}]
`},
		{"a rollout with a drain", `
- name: one
  hosts: web1
  rollout: {drain: {before: [exec: [{"echo {{ Host.name }} out": {on: web2}}]], after: [exec: [{"echo {{ Host.name }} in": {on: web2}}]]}}
  ccm: {resources: [exec: [{"touch made": {cwd: "{{ Data.home }}", creates: "{{ Data.home }}/made"}}]]}
`},
		{"a rollout", `
- name: one
  rollout:
    batches: [1, 100%]
    soak: 1s
    gate: {name: errors, check: {command: "test ! -e {{ Data.home }}/errors"}, on: web2, interval: 1s}
  ccm:
    resources:
      - exec:
          - touch made: {cwd: "{{ Data.home }}", creates: "{{ Data.home }}/made", alias: made, health_checks: [{name: alive, command: "true"}]}
          - "true": {subscribe: [exec#made], refreshonly: true}
- name: two
  ccm: {resources: [exec: [{"true": }]]}
`},
		{"a gate that is not passed", `
- name: one
  rollout: {batches: [1, 100%], gate: {name: errors, check: {command: "echo no; false"}, on: controller, interval: 1s}}
  ccm: {resources: [exec: [{"true": }]]}
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			run := func(workers, check bool) (lines []string, files map[string]string) {
				hosts := map[string]*sshtest.Server{"web1": sshtest.Start(t), "web2": sshtest.Start(t)}
				w := newWorld(t, hosts, test.manifest)
				w.Options.Check = check
				w.Options.Catalog.Extra = []templates.Layer{{Values: map[string]any{"owner": owner()}}}
				down := ""
				if strings.Contains(test.manifest, "Hosts.down") {
					down = "    down: {connect: {address: 127.0.0.1, port: 1}}\n"
				}
				w.moreVariables(t, hosts, down)
				w.Lookups = kept{}
				if strings.Contains(test.manifest, "fetch:") {
					w.withFull(t)
				}
				store := record.Store{Folder: t.TempDir()}
				require.NoError(t, os.Mkdir(store.FolderOf("run"), 0o700))
				w.Fetched = store.Fetched("run")
				if workers {
					c := throughWorkers(t, w.Runner)
					defer func() { require.NotEmpty(t, c.turns) }()
				}
				lines = w.run(t)
				for name, srv := range hosts {
					for i := range lines {
						lines[i] = strings.ReplaceAll(lines[i], srv.Home, "HOME-"+name)
					}
				}
				files = map[string]string{}
				for _, e := range w.recorded.list {
					if r, is := e.(events.Result); is && r.Fetched != "" {
						text, err := os.ReadFile(r.Fetched)
						require.Equal(t, check, os.IsNotExist(err))
						files[fmt.Sprint(r.Host, r.On, filepath.Base(r.Fetched), strings.Contains(r.Fetched, "sensitive"))] = string(text)
					}
				}
				return lines, files
			}
			for _, check := range []bool{false, true} {
				want, wantFiles := run(false, check)
				got, gotFiles := run(true, check)
				require.Equal(t, want, got, fmt.Sprintf("check: %v", check))
				if !check && strings.Contains(test.manifest, "- read: ") {
					require.Subset(t, want, []string{"web2 exec#read changed", "web2 exec#own changed"})
				}
				require.True(t, maps.Equal(wantFiles, gotFiles), "%v\n%v", slices.Sorted(maps.Keys(wantFiles)), slices.Sorted(maps.Keys(gotFiles)))
			}
		})
	}
}

// kept is the data of a test in NATS.
type kept struct{}

func (kept) Reach(context.Context) error { return nil }
func (kept) Snapshot() templates.NATS    { return kept{} }

func (kept) Value(_ context.Context, bucket, key string) ([]byte, error) {
	if key == "none" {
		return nil, fmt.Errorf("the bucket %q has no key %q", bucket, key)
	}
	return []byte("{{ " + key + " }}"), nil
}

func (kept) Registrations(_ context.Context, cluster, _, _, _ string) ([]any, error) {
	if cluster == "none" {
		return nil, nil
	}
	return []any{map[string]any{"Cluster": cluster, "Port": int64(8080)}}, nil
}

// TestLookupsOfWorkers sends lookups from a worker that its play does not visibly make.
func TestLookupsOfWorkers(t *testing.T) {
	w := newWorld(t, servers(t, "web1"), "ccm: {resources: [exec: [{\"echo {{ kvGet('CFG', 'motd') }}\": }]]}\n")
	w.Lookups = kept{}
	c := throughWorkers(t, w.Runner)
	var answers []Answer
	c.asks = func(handler TurnHandler) {
		for _, l := range []Lookup{{Key: []string{"CFG", "other"}}, {Registration: []string{"*", "*", "*", "*"}}, {Key: []string{"CFG"}}} {
			a, err := handler.Answer(l)
			require.NoError(t, err)
			answers = append(answers, a)
		}
	}
	w.run(t)
	var looked Looked
	require.NoError(t, json.Unmarshal(answers[0].Value, &looked))
	require.Equal(t, "{{ other }}", string(looked.Value))
	for _, a := range answers[1:] {
		require.Contains(t, a.Error, "the play does not call it")
		require.Nil(t, a.Value)
	}
}

// TestByWorkers runs other tests again, with workers.
func TestByWorkers(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"rollout": TestRollout, "stops": TestRolloutStops, "takes back": TestRolloutTakesBack, "undo": TestUndoOfARollout,
		"the sick": TestRolloutOfTheSick, "behind a failure": TestRolloutBehindAFailure, "leaves out": TestRolloutLeavesOut, "held": TestRolloutIsHeld,
		"tells at once": TestRolloutTellsAtOnceThatItHasStopped, "soaks": TestRolloutSoaks, "goes on": TestRolloutGoesOn,
		"semaphores": TestSemaphoreOnHosts, "values": TestValuesOfOtherHosts, "predicted values": TestPredictedValues,
		"secret values": TestSecretOfAnotherHost, "values that never come": TestValuesThatNeverCome, "an earlier play": TestExporterOfAnEarlierPlay,
		"interrupted": TestInterruptedWhileWaiting,
		"forks":       TestForks, "forks of hosts that wait": TestForksOfHostsThatWait, "forks and a fatal error": TestForksAndAFatalError,
		"ready first": TestCompileFirst, "ready, and well": TestCompileFirstOfHostsThatAreWell,
		"watch": TestWatchTellsDrift, "repairs": TestWatchRepairs, "repair fails": TestWatchRepairFails, "other runs": TestWatchLeavesOtherRunsAlone,
		"two wishes": TestWatchTwoWishes, "few hosts": TestWatchMendsFewHosts, "watch once": TestWatchOnce, "nothing changes": TestWatchEndsWhenNothingChanges,
		"what follows": TestWatchEndsForWhatFollows, "watch only": TestWatchOnly, "loses hosts": TestWatchLosesHosts, "waits for hosts": TestWatchWaitsForHosts,
		"quiet times":           TestWatchRepairsNothingInQuietTimes,
		"a semaphore and a cut": TestSemaphoreOutlivesTheConnection, "a semaphore and a kill": TestSemaphoreOutlivesTheHostProgram,
		"a semaphore of a lost host": TestSemaphoreOfALostHost, "a semaphore with a timeout": TestSemaphoreOfALostHostWithATimeout, "once, and lost": TestOnceOfALostHost,
		"semaphores, and resumed": TestResumeSettlesSemaphores, "without a host": TestResumeWithoutTheHostInside,
		"elsewhere, and cut": TestElsewhereIsDialledAgain, "elsewhere, and resumed": TestElsewhereIsFetchedByResume,
		"untold": TestUntold,
		"check":  TestRolloutCheckUnreachable, "host deadline": TestRolloutHostDeadline, "canary": TestRolloutWithoutCanary,
	} {
		t.Run(name, test)
	}
}

// TestWorkersAreGivenNothingElse checks the data that is sent for a host.
func TestWorkersAreGivenNothingElse(t *testing.T) {
	t.Setenv("CANARY", "of-the-environment")
	hosts := servers(t, "web1", "web2")
	w := newWorld(t, hosts, plays)
	c := throughWorkers(t, w.Runner)
	w.Options.Limit = "web1"
	w.Options.Catalog.Environ = map[string]any{"CANARY": "of-the-environment"}
	w.run(t)
	require.False(t, w.Needs.Environ)
	require.Empty(t, w.Needs.Names)
	require.NotContains(t, c.sent.String(), "web2")
	require.NotContains(t, c.sent.String(), hosts["web2"].Home)
	q := PlayRequest{}
	require.Equal(t, []Turn{{Request: q, Host: "web1", Later: []int{1, 2}}, {Request: q, Host: "web1", Play: 1, Later: []int{2}}, {Request: q, Host: "web1", Play: 2}}, c.turns)
}

// moreVariables sets variables of all kinds for hosts, one of them a secret that names its host. down is the line of
// one more host, or none.
func (w *world) moreVariables(t *testing.T, hosts map[string]*sshtest.Server, down string) {
	t.Helper()
	var list strings.Builder
	list.WriteString("all:\n  vars: {flag: true, nested: {list: [a, 41]}}\n  hosts:\n")
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		srv := hosts[name]
		fmt.Fprintf(&list, "    %s: {home: %q, token: !secret secret-of-%s, connect: {address: %q, port: %d, user: %s, private_key: %q, known_hosts: %q}}\n",
			name, srv.Home, name, srv.Host, srv.Port, srv.User, srv.KeyFile, srv.KnownHosts)
	}
	list.WriteString(down)
	inv, err := inventory.Parse("hosts.yaml", []byte(list.String()))
	require.NoError(t, err)
	w.Inventory = inv
}

// TestSecretsOfOtherHosts has a play that reads the variables of other hosts: workers do not receive secrets among
// them.
func TestSecretsOfOtherHosts(t *testing.T) {
	hosts := servers(t, "web1", "web2")
	w := newWorld(t, hosts, `
- name: one
  ccm: {resources: [exec: [{open: {command: "test {{ Hosts.web2.flag }} = true"}}, {closed: {command: "test {{ Hosts.web2.token }} = secret-of-web2"}}]]}
`)
	w.moreVariables(t, hosts, "")
	c := throughWorkers(t, w.Runner)
	w.Options.Limit = "web1"
	require.Contains(t, strings.Join(w.run(t), "\n"), "web1 failed in compile")
	require.Contains(t, w.text.String(), `the variable "token" is a secret of another host, which workers are not given`)
	require.NotContains(t, c.sent.String(), "secret-of-web2")
	w.Options.Limit = "web2" // which may know its own
	require.NotContains(t, strings.Join(w.run(t), "\n"), "failed")
}

// TestWorkersStep prompts a person about changes by workers: with the same prompts, and the same end.
func TestWorkersStep(t *testing.T) {
	const manifest = `
- name: one
  ccm:
    resources:
      - exec: [touch made: {cwd: "{{ Data.home }}", creates: "{{ Data.home }}/made", sema: ["door:1"]}, {"echo {{ Host.name }}": {on: web2}}, {"echo here": {on: controller}}]
      - exec: [{"echo again": }, {"echo hidden": {sensitive: true}}]
- name: two
  ccm: {resources: [exec: [{"true": }]]}
`
	for _, answers := range [][]string{
		{"y", "y", "y", "y", "y", "y", "y", "y"}, {"y", "c", "y", "c", "y"}, {"y", "y", "q"}, {"y", "y", "y", "y", "y", "q"}, {"q"}, nil,
	} {
		run := func(workers bool) (lines, asked []string) {
			hosts := servers(t, "web1", "web2", "web3")
			w := newWorld(t, hosts, manifest)
			w.moreVariables(t, hosts, "")
			var questions *[]string
			w.Step, questions = answering(t, answers...)
			if workers {
				throughWorkers(t, w.Runner)
			}
			w.Options.Forks = 1
			return w.run(t), *questions
		}
		want, wantAsked := run(false)
		got, gotAsked := run(true)
		require.Equal(t, want, got, "%v", answers)
		require.Equal(t, wantAsked, gotAsked)
		require.Len(t, gotAsked, max(len(answers), 1))
	}
}

// TestWorkersStepOnTheFirstHost has a worker request a prompt for a host that has no prompts.
func TestWorkersStepOnTheFirstHost(t *testing.T) {
	w := newWorld(t, servers(t, "web1"), "ccm: {resources: [exec: [{\"true\": }]]}\n")
	throughWorkers(t, w.Runner).asks = func(handler TurnHandler) {
		a, err := handler.Answer(StepPrompt{"do it?"})
		require.NoError(t, err)
		require.Equal(t, "this host is not run step by step", a.Error)
	}
	w.run(t)
}

// TestWorkersAsk reads the facts and the footprint of hosts through workers: the answers are the same as on this
// machine, also for a host that is down.
func TestWorkersAsk(t *testing.T) {
	hosts := servers(t, "web1", "web2")
	w := newWorld(t, hosts, "ccm: {resources: [exec: [{\"true\": }]]}\n")
	w.moreVariables(t, hosts, "    down: {connect: {address: 127.0.0.1, port: 1}}\n")
	w.run(t)
	w.Plays = nil
	ask := func() (found []HostFacts, left []HostFootprint) {
		w.Facts(t.Context(), w.Inventory.Hosts(), []string{"host.info.platform", "network.fqdn"}, func(f HostFacts) { found = append(found, f) })
		w.Footprints(t.Context(), w.Inventory.Hosts(), false, func(f HostFootprint) {
			for i := range f.Users {
				f.Users[i].Now = time.Time{}
			}
			left = append(left, f)
		})
		slices.SortFunc(found, func(a, b HostFacts) int { return strings.Compare(a.Host, b.Host) })
		slices.SortFunc(left, func(a, b HostFootprint) int { return strings.Compare(a.Host, b.Host) })
		return found, left
	}
	want, wantLeft := ask()
	throughWorkers(t, w.Runner)
	got, gotLeft := ask()
	require.Len(t, got, 3)
	for i := range got {
		require.Equal(t, want[i].Err == nil, got[i].Err == nil)
		require.Equal(t, slices.Sorted(maps.Keys(want[i].Facts)), slices.Sorted(maps.Keys(got[i].Facts)))
		require.Equal(t, want[i].Facts["host"] != nil, got[i].Err == nil)
		require.Equal(t, wantLeft[i].Err == nil, gotLeft[i].Err == nil)
		require.Len(t, gotLeft[i].Users, len(wantLeft[i].Users))
		for n, u := range gotLeft[i].Users {
			require.Equal(t, len(wantLeft[i].Users[n].Traces), len(u.Traces))
			for j, one := range u.Traces {
				require.True(t, one.Modified.Equal(wantLeft[i].Users[n].Traces[j].Modified))
				require.Equal(t, wantLeft[i].Users[n].Traces[j].Path, one.Path)
			}
		}
	}
	require.IsType(t, events.Unreachable{}, got[0].Err)
}

// TestWorkersStop interrupts a run on a worker: the host ends the running command, and does not start the last one.
func TestWorkersStop(t *testing.T) {
	w := newWorld(t, servers(t, "web1"), `
name: one
ccm: {resources: [exec: [{"touch begun; sleep 0.02; : {{ Item }}": {provider: shell, cwd: "{{ Data.home }}", each: "{{ 1..500 }}"}}, {"touch never": {cwd: "{{ Data.home }}"}}]]}
`)
	throughWorkers(t, w.Runner)
	home := w.Inventory.Host("web1").Vars()["home"].(string)
	stop := make(chan struct{})
	go func() {
		awaitFile(t, filepath.Join(home, "begun"))
		close(stop)
	}()
	summary, err := w.Run(t.Context(), stop)
	require.NoError(t, err)
	require.True(t, summary.Interrupted)
	require.Equal(t, 1, summary.Totals.Hosts.Interrupted)
	require.NoFileExists(t, filepath.Join(home, "never"))
}
