package events_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

func TestYAML(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{"b":1,"a":{"list":["x",null,true,1.50,123456789012345678901234567890],"none":[],"empty":{}}}`,
			"b: 1\na:\n  list:\n    - x\n    - null\n    - true\n    - 1.50\n    - 123456789012345678901234567890\n  none: []\n  empty: {}\n"},
		{`["yes","12:30","1","~","","a: b","- x","#"]`, "- \"yes\"\n- \"12:30\"\n- \"1\"\n- \"~\"\n- \"\"\n- 'a: b'\n- '- x'\n- '#'\n"},
		{`"a\nb\n"`, "|\n  a\n  b\n"},
		{`["\u001b[31m","\u009b2K","\u202eevil","\u2028"]`, `- "\e[31m"` + "\n" + `- "\x9B2K"` + "\n" + `- "\u202eevil"` + "\n" + `- "\L"` + "\n"},
		{`{"\u001b":1}`, "\"\\e\": 1\n"},
		{`5`, "5\n"},
		{"{\x1b", "{\\x1b\n"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, events.YAML(json.RawMessage(tt.in)), tt.in)
	}
}

// TestDeepYAML has a host that makes the most of little: indented, each number would
// have 200 blanks before it.
func TestDeepYAML(t *testing.T) {
	in := strings.Repeat("[", 100) + strings.Repeat("0,", 1000) + `"a b\nc"` + strings.Repeat("]", 100)
	out := events.YAML(json.RawMessage(in))
	require.Less(t, len(out), 3*len(in))
	var want, got any
	require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(in, "0,", `"x",`)), &want))
	require.NoError(t, yaml.Unmarshal([]byte(events.YAML(json.RawMessage(strings.ReplaceAll(in, "0,", `"x",`)))), &got))
	require.Equal(t, want, got)
}

// FuzzYAML checks that the text for people has the host's data, and no control characters.
func FuzzYAML(f *testing.F) {
	for _, s := range []string{`{"a":[1,"x\u001b\u202e",null]}`, `"\ud800"`, `[1e3,-0]`, `"a\tb \u0085c"`, `"` + strings.Repeat("long ", 100) + `"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out := events.YAML(json.RawMessage(in))
		require.Equal(t, events.Block(out), out)
		var want any
		if json.Unmarshal([]byte(in), &want) != nil || strings.ContainsAny(in, "0123456789") { // numbers have types in YAML
			return
		}
		var got any
		require.NoError(t, yaml.Unmarshal([]byte(out), &got), "%s", out)
		a, err := json.Marshal(want)
		require.NoError(t, err)
		b, err := json.Marshal(got)
		require.NoError(t, err, "%s", out)
		require.Equal(t, string(a), string(b), "%s", out)
	})
}

func answer(host, text string) events.Result {
	return events.Result{Host: host, Type: "dsc", Name: "a/b", Status: events.Stable, Certain: true, State: &events.ResourceState{Before: json.RawMessage(text)}}
}

func TestAnswers(t *testing.T) {
	tests := []struct {
		name  string
		hosts int
		e     []events.Event
		want  string
	}{
		{"one host", 1, []events.Event{answer("web1", `{"a":1}`), events.HostDone{Host: "web1"}}, "a: 1\n"},
		{"several answers of one", 1, []events.Event{answer("web1", `{"a":1}`), answer("web1", `{"a":2}`), events.HostDone{Host: "web1"}}, "a: 1\n---\na: 2\n"},
		{"several hosts", 4, []events.Event{
			answer("web1", `{"a":1}`), answer("web3", `{"a":2}`), events.HostDone{Host: "web1"}, answer("web2", `{"a":1}`),
			events.HostDone{Host: "web3"}, events.HostDone{Host: "web2"}, events.Result{Host: "web4", Status: events.Failed}, events.HostDone{Host: "web4"},
		}, "---\n# web[1-2]\na: 1\n---\n# web3\na: 2\n"},
		{"no answers", 1, []events.Event{events.HostDone{Host: "web1"}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			a := events.NewAnswers(&out)
			for _, e := range append(append([]events.Event{events.RunStart{Hosts: tt.hosts}}, tt.e...), events.Summary{}) {
				a.Report(e)
			}
			require.NoError(t, a.Err())
			require.Equal(t, tt.want, out.String())
		})
	}
}

// TestAnswersAreNotHeldForEver when hosts say much, and each something else.
func TestAnswersAreNotHeldForEver(t *testing.T) {
	var out bytes.Buffer
	a := events.NewAnswers(&out)
	a.Report(events.RunStart{Hosts: 100})
	for _, name := range []string{"a", "b", "c"} {
		a.Report(answer(name, `"`+strings.Repeat(name, 10<<20)+`"`))
		a.Report(events.HostDone{Host: name})
	}
	require.Greater(t, out.Len(), 20<<20)
	require.Less(t, out.Len(), 31<<20)
}

func TestProblems(t *testing.T) {
	var out bytes.Buffer
	p := events.Problems{Reporter: events.NewText(&out, events.TextOptions{AdHoc: true})}
	p.Report(answer("web1", `{}`))
	p.Report(events.Summary{Totals: events.Totals{Hosts: events.HostTotals{OK: 1}}})
	require.Empty(t, out.String())
	said := answer("web1", `{}`)
	said.Messages = []events.Note{{Level: "warning", Text: "odd"}}
	p.Report(said)
	p.Report(events.Result{Host: "web2", Type: "dsc", Name: "a/b", Status: events.Failed, Certain: true, Error: "no such resource", ErrorKind: "unknown"})
	p.Report(events.Result{Host: "web3", Type: "dsc", Name: "a/b", Status: events.Failed, Certain: true, Error: "no", ErrorKind: "failed"})
	require.Equal(t, "web1  stable   dsc#a/b\n    warning: odd\nweb2  failed   dsc#a/b\n    no such resource [unknown]\nweb3  failed   dsc#a/b\n    no\n", out.String())
}

func TestRestarts(t *testing.T) {
	needs := func(host string, what ...string) events.Result {
		r := events.Result{Host: host, Type: "dsc", Name: "x", Status: events.Changed, Certain: true}
		for _, one := range what {
			r.Restart = append(r.Restart, json.RawMessage(one))
		}
		return r
	}
	var out bytes.Buffer
	text := events.NewText(&out, events.TextOptions{})
	text.Report(events.RunStart{Hosts: 3})
	for _, e := range []events.Result{
		needs("web1", `{"service":"sshd"}`, `{"system":"web1"}`), needs("web2", `{"service":"sshd"}`, `{"process":{"name":"app","id":7}}`),
		needs("web1", `{"service":"sshd"}`), needs("web3", `{"system":"web3"}`, `{"process":{"name":"app","id":8}}`, `"\u001b"`, `{"service":"\u001b[2J"}`),
	} {
		text.Report(e)
	}
	out.Reset()
	text.Report(events.Summary{})
	require.Contains(t, out.String(), "restart required: service sshd on 2 hosts\n    web[1-2]\nrestart required: the system on 2 hosts\n    web[1,3]\n"+
		"restart required: process app on 2 hosts\n    web[2-3]\nrestart required: \"\\u001b\" on web3\nrestart required: service \\x1b[2J on web3\n")
}

// TestStateIsForTheCurious shows it with -v, and whole with -vv.
func TestStateIsForTheCurious(t *testing.T) {
	r := events.Result{Host: "web1", Type: "dsc", Name: "x", Status: events.Changed, Certain: true, Message: "set", Tries: 2,
		State: &events.ResourceState{Before: json.RawMessage(`{"a":"` + strings.Repeat("x", 300) + `"}`), After: json.RawMessage(`{"a":1}`)}}
	for verbose, want := range []string{
		"web1  changed  dsc#x  set; 2 tries\n",
		"web1  changed  dsc#x  set; 2 tries  0ms\n    before: {\"a\":\"" + strings.Repeat("x", 194) + "…\n    after: {\"a\":1}\n",
		"web1  changed  dsc#x  set; 2 tries  0ms\n    before: {\"a\":\"" + strings.Repeat("x", 300) + "\"}\n    after: {\"a\":1}\n",
	} {
		var out bytes.Buffer
		events.NewText(&out, events.TextOptions{Verbose: verbose}).Report(r)
		require.Equal(t, want, out.String())
	}
}

// TestStateOfChanges checks that the state before is not printed twice, except with -vv.
func TestStateOfChanges(t *testing.T) {
	r := events.Result{Host: "web1", Type: "dsc", Name: "x", Status: events.Changed, Certain: true, Message: "set", Changes: []events.Change{{Property: "a", Have: "2", Want: "1"}},
		State: &events.ResourceState{Before: json.RawMessage(`{"a":2,"b":3}`), After: json.RawMessage(`{"a":1,"b":3}`)}}
	for verbose, want := range []string{
		"web1  changed  dsc#x  set: a 2 -> 1\n",
		"web1  changed  dsc#x  set: a 2 -> 1  0ms\n    a: 2 -> 1\n    after: {\"a\":1,\"b\":3}\n",
		"web1  changed  dsc#x  set: a 2 -> 1  0ms\n    a: 2 -> 1\n    before: {\"a\":2,\"b\":3}\n    after: {\"a\":1,\"b\":3}\n",
	} {
		var out bytes.Buffer
		events.NewText(&out, events.TextOptions{Verbose: verbose}).Report(r)
		require.Equal(t, want, out.String())
	}
}
