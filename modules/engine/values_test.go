package engine_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// letItRun is the hint if an earlier run has left no value.
const letItRun = `; to run the resource again, remove "creates", "onlyif" and "unless" for one run`

// A shelf is a note store that is kept between runs.
type shelf struct {
	text  []byte
	broke error
}

func (s *shelf) Read() ([]byte, error)     { return s.text, s.broke }
func (s *shelf) MayWrite() error           { return s.broke }
func (s *shelf) SetAside() (string, error) { return "", s.broke }
func (s *shelf) Replace(text []byte) error {
	s.text = text
	return s.broke
}

// A gauge reports its state and has a query.
type gauge struct {
	Name  string            `json:"name"`
	Port  any               `json:"port"`
	Fine  bool              `json:"fine"`
	Into  map[string]string `json:"into"`
	Reply string            `json:"reply"`
	done  bool
}

func (g *gauge) Validate() error {
	if g.Into["a"] == "bad" {
		return modules.Errorf("into.a", "%q is bad", "bad")
	}
	return nil
}

func (g *gauge) state() json.RawMessage {
	b, _ := json.Marshal(map[string]any{"port": g.Port, "in": []any{map[string]any{"x": g.done || g.Fine}}, "into": g.Into})
	return b
}

func (g *gauge) Check(_ context.Context, h modules.Host) (modules.Plan, error) {
	h.Report.State(modules.State{Before: g.state()})
	if g.Fine || g.done {
		return modules.Plan{}, nil
	}
	return modules.Plan{Action: "measured"}, nil
}

func (g *gauge) Apply(context.Context, modules.Host, modules.Plan) error {
	g.done = true
	return nil
}

func (g *gauge) Queries() []string { return []string{"get", "list"} }

func (g *gauge) Query(_ context.Context, _ modules.Host, query string) (json.RawMessage, error) {
	if query == "list" {
		return nil, errors.New("nothing to list")
	}
	return json.RawMessage(g.Reply), nil
}

// play runs entries with a memory. $ stands for dir.
func play(t *testing.T, dir string, cat wire.Catalog, change func(*engine.Engine)) []wire.Result {
	t.Helper()
	e := enginetest.New(modules.Type{Name: "gauge", New: func() modules.Resource { return new(gauge) }})
	if change != nil {
		change(e)
	}
	results, _ := enginetest.Run(t, e, dir, enginetest.In(dir, cat))
	slices.SortFunc(results, func(a, b wire.Result) int { return cmp.Compare(a.Index, b.Index) })
	return results
}

func gaugeOf(properties string) wire.Entry {
	return wire.Entry{Type: "gauge", Name: "g", Properties: json.RawMessage(`{"name":"g",` + properties + `}`)}
}

// token is a command that makes a token once, and a file that gets it.
func token() wire.Catalog {
	make := command("echo t0ken; echo careful >&2; touch $/made", `"creates":"$/made"`)
	make.Alias = "token"
	return wire.Catalog{Entries: []wire.Entry{
		make,
		receiving(file("$/token", `"mode":"0600"`), wire.Receive{Property: "content", From: 0, Key: "stdout"}),
	}}
}

func TestReceive(t *testing.T) {
	for _, parallel := range []int{1, 4} {
		dir, kept := t.TempDir(), &shelf{}
		remember := func(e *engine.Engine) { e.Sent = kept }
		cat := token()
		check := token()
		cat.Parallel, check.Check = parallel, true

		results := play(t, dir, check, remember)
		require.Equal(t, "changed? changed?", brief(results))
		require.Equal(t, "Would have received content from exec#token; known after apply", results[1].Message)
		require.Equal(t, "exec#token", results[1].Because)
		require.Empty(t, kept.text, "a check run keeps nothing")

		results = play(t, dir, cat, remember)
		require.Equal(t, "changed changed", brief(results))
		text, err := os.ReadFile(filepath.Join(dir, "token"))
		require.NoError(t, err)
		require.Equal(t, "t0ken\n", string(text))

		require.Equal(t, "stable stable", brief(play(t, dir, cat, remember)))
		require.Equal(t, "stable stable", brief(play(t, dir, check, remember)), "exactly")

		require.NoError(t, os.WriteFile(filepath.Join(dir, "token"), []byte("other"), 0o600))
		require.Equal(t, "stable changed", brief(play(t, dir, check, remember)), "exactly")
		require.Equal(t, "stable changed", brief(play(t, dir, cat, remember)))

		results = play(t, dir, cat, nil)
		require.Equal(t, "stable failed", brief(results))
		require.Equal(t, `exec#token has not sent "stdout": the resource has never run on this host, or its output was lost`+letItRun, results[1].Error)

		kept.broke = errors.New("it is another's")
		results = play(t, dir, cat, remember)
		require.Equal(t, "stable failed", brief(results))
		require.Equal(t, []modules.Note{{Level: "warning", Text: "the values sent in earlier runs cannot be read: it is another's"}}, results[0].Messages)

		require.NoError(t, os.Remove(filepath.Join(dir, "made")))
		results = play(t, dir, cat, remember)
		require.Equal(t, "changed stable", brief(results), "it has run")
		require.Equal(t, "its sent values are not stored for runs in which it changes nothing: it is another's", results[0].Messages[1].Text)
	}
}

func TestReceiveValues(t *testing.T) {
	from := func(property, key string) wire.Receive {
		return wire.Receive{Property: property, From: 0, Key: key}
	}
	into := gaugeOf(`"fine":true`)
	say := func(change func(*wire.Entry)) wire.Entry {
		return with(command(`printf 'a\n\n'; printf b >&2`, ""), func(e *wire.Entry) {
			e.Alias = "say"
			if change != nil {
				change(e)
			}
		})
	}
	for _, test := range []struct {
		name    string
		entries []wire.Entry
		want    string // state and error of the last
	}{
		{"as written", []wire.Entry{say(nil), receiving(into, from("port", "stdout"))}, `{"in":[{"x":true}],"into":null,"port":"a\n\n"}`},
		{"trimmed", []wire.Entry{say(nil), receiving(into, from("port", "stdout_trimmed"))}, `{"in":[{"x":true}],"into":null,"port":"a"}`},
		{"stderr", []wire.Entry{say(nil), receiving(into, from("port", "stderr"))}, `{"in":[{"x":true}],"into":null,"port":"b"}`},
		{"both", []wire.Entry{say(nil), receiving(into, from("port", "output"))}, `{"in":[{"x":true}],"into":null,"port":"a\n\nb"}`},
		{"the exit code", []wire.Entry{say(nil), receiving(into, from("port", "exit_code"))}, `{"in":[{"x":true}],"into":null,"port":0}`},
		{"below a property", []wire.Entry{say(nil), receiving(into, from("into.a", "stderr"), from("into.b", "stdout_trimmed"))}, `{"in":[{"x":true}],"into":{"a":"b","b":"a"},"port":null}`},
		{"a member of a state", []wire.Entry{gaugeOf(`"port":80`), receiving(into, from("port", "state.port"))}, `{"in":[{"x":true}],"into":null,"port":80}`},
		{"deep in a state that is new", []wire.Entry{gaugeOf(`"port":80`), receiving(into, from("port", "state.in.0.x"))}, `{"in":[{"x":true}],"into":null,"port":true}`},
		{"whole", []wire.Entry{gaugeOf(`"fine":true`), receiving(into, from("port", "state.in"))}, `{"in":[{"x":true}],"into":null,"port":[{"x":true}]}`},

		{"no such member", []wire.Entry{gaugeOf(`"port":80`), receiving(into, from("port", "state.in.1.x"))}, `gauge#g has not sent "state.in.1.x": its sent value has no "1"`},
		{"no state", []wire.Entry{say(nil), receiving(into, from("port", "state.port"))}, `exec#say has not sent "state.port": it does not report its state`},
		{"nothing of the kind", []wire.Entry{gaugeOf(`"port":80`), receiving(into, from("port", "stdout"))}, `gauge#g has not sent "stdout": the resource has no value with this name, or the value is too long or not text`},
		{"too long", []wire.Entry{command("head -c 70000 /dev/zero", ""), receiving(into, from("port", "stdout"))}, `exec#head -c 70000 /dev/zero has not sent "stdout": the resource has no value with this name, or the value is too long or not text`},
		{"no text", []wire.Entry{command(`printf '\\377'`, ""), receiving(into, from("port", "stdout"))}, `exec#printf '\\377' has not sent "stdout": the resource has no value with this name, or the value is too long or not text`},
		{"excluded", []wire.Entry{with(say(nil), func(e *wire.Entry) { e.Excluded = true }), receiving(into, from("port", "stdout"))}, `exec#say has not sent "stdout": it was skipped`},
		{"hidden", []wire.Entry{say(func(e *wire.Entry) { e.Hidden = true }), receiving(into, from("port", "stdout"))}, `exec#say has not sent "stdout": it was skipped`},
		{"noop", []wire.Entry{say(func(e *wire.Entry) { e.Check = true }), receiving(into, from("port", "stdout"))}, `exec#say has not sent "stdout": the resource has never run on this host, or its output was lost` + letItRun},
		{"another type", []wire.Entry{say(nil), receiving(into, from("fine", "stdout"))}, `"fine" cannot be the string that exec#say has sent as "stdout"`},
		{"another type for a content", []wire.Entry{say(nil), receiving(file("$/x", ""), from("content", "exit_code"))}, `"content" cannot be the number that exec#say has sent as "exit_code"`},
		{"not valid", []wire.Entry{command("printf bad", ""), receiving(into, from("into.a", "stdout"))}, `into.a: "bad" is bad; exec#printf bad has sent this value as "stdout"`},
		{"not valid at all", []wire.Entry{say(nil), receiving(file("$/x", `"ensure":"present"`), from("mode", "stderr"))}, `mode: mode "b" is not an octal number (write an octal string such as mode: "0644"); exec#say has sent this value as "stderr"`},
		{"into no object", []wire.Entry{say(nil), receiving(gaugeOf(`"port":80`), from("port.a", "stderr"))}, `"port.a" cannot be received: its parent is not an object`},
		{"from a failure", []wire.Entry{command("exit 3", ""), receiving(into, from("port", "stdout"))}, ``},
		{"from nowhere", []wire.Entry{say(nil), receiving(into, wire.Receive{Property: "port", From: -1})}, `port comes from another host, which only a controller can query`},
	} {
		t.Run(test.name, func(t *testing.T) {
			results := play(t, t.TempDir(), wire.Catalog{Entries: test.entries}, func(e *engine.Engine) { e.Sent = &shelf{} })
			last := results[len(results)-1]
			switch {
			case strings.HasPrefix(test.want, "{"):
				require.Empty(t, last.Error)
				require.JSONEq(t, test.want, string(last.State.Last()))
			case test.want == "":
				require.Equal(t, wire.Skipped, last.Status)
			default:
				require.Equal(t, test.want, last.Error)
			}
		})
	}
}

func TestReceiveSecret(t *testing.T) {
	cat := token()
	cat.Diff = true
	cat.Entries[0].Sensitive = true
	results := play(t, t.TempDir(), cat, nil)
	require.Equal(t, "changed changed", brief(results))
	b, err := json.Marshal(results)
	require.NoError(t, err)
	require.NotContains(t, string(b), "t0ken")
	require.Equal(t, "[sensitive]", results[1].Changes[0].Want)

	cat.Entries[1].Receive[0].Property = "mode"
	cat.Entries[1].Properties = file("$/token", "").Properties
	results = play(t, t.TempDir(), cat, nil)
	require.Equal(t, "changed failed", brief(results))
	require.Equal(t, `"mode" cannot take the value that exec#token has sent as "stdout"`, results[1].Error)
}

func TestReceiveFromOtherHosts(t *testing.T) {
	cat := wire.Catalog{Entries: []wire.Entry{receiving(gaugeOf(`"fine":true`), wire.Receive{Property: "port", From: -1})}}
	check := clone(cat)
	check.Check = true
	named := clone(check)
	named.Entries[0].Receive = []wire.Receive{{Property: "port", From: -1, Key: "stdout", Sender: "exec#token of db1"}}
	for _, test := range []struct {
		name  string
		cat   wire.Catalog
		given wire.Imported
		err   error
		want  string
	}{
		{"a value", cat, wire.Imported{Values: map[string]json.RawMessage{"port": json.RawMessage("81")}}, nil, `stable {"in":[{"x":true}],"into":null,"port":81}`},
		{"a value in a check run", check, wire.Imported{Values: map[string]json.RawMessage{"port": json.RawMessage("81")}}, nil, `stable {"in":[{"x":true}],"into":null,"port":81}`},
		{"a secret", cat, wire.Imported{Sensitive: true, Values: map[string]json.RawMessage{"port": json.RawMessage("81")}}, nil, `stable `},
		{"nobody knows yet", check, wire.Imported{Unknown: true}, nil, `changed? Would have received port from another host; known after apply`},
		{"nobody knows yet, by name", named, wire.Imported{Unknown: true}, nil, `changed? Would have received port from exec#token of db1; known after apply`},
		{"nobody knows at all", cat, wire.Imported{Unknown: true}, nil, `failed port was not sent by another host`},
		{"nothing", cat, wire.Imported{}, nil, `failed port was not sent by another host`},
		{"an error", cat, wire.Imported{Error: "web1 is unreachable"}, nil, `failed web1 is unreachable`},
		{"the end", cat, wire.Imported{}, errors.New("the run was interrupted"), `failed the run was interrupted`},
	} {
		t.Run(test.name, func(t *testing.T) {
			results := play(t, t.TempDir(), test.cat, func(e *engine.Engine) {
				e.Import = func(_ context.Context, index int) (*wire.Imported, error) {
					require.Zero(t, index)
					return &test.given, test.err
				}
			})
			r := results[0]
			state := ""
			if r.State != nil {
				state = string(r.State.Last())
			}
			require.Equal(t, test.want, brief(results)+" "+cmp.Or(r.Error, r.Message, state))
		})
	}
}

func TestExport(t *testing.T) {
	entry := command("printf a", `"creates":"$/made"`)
	entry.Export = []string{"stdout", "exit_code", "state"}
	cat := wire.Catalog{Entries: []wire.Entry{entry}}
	kept := &shelf{}
	remember := func(e *engine.Engine) { e.Sent = kept }
	dir := t.TempDir()

	check := clone(cat)
	check.Check = true
	require.Nil(t, play(t, dir, check, remember)[0].Sent)

	r := play(t, dir, cat, remember)[0]
	require.Equal(t, map[string]json.RawMessage{"stdout": json.RawMessage(`"a"`), "exit_code": json.RawMessage("0")}, r.Sent)
	require.Equal(t, []modules.Note{{Level: "warning", Text: "state is not sent: it does not report its state"}}, r.Messages)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "made"), nil, 0o600))
	r = play(t, dir, check, remember)[0]
	require.Equal(t, wire.Status(""), r.Status)
	require.Equal(t, map[string]json.RawMessage{"stdout": json.RawMessage(`"a"`), "exit_code": json.RawMessage("0")}, r.Sent)

	large := gaugeOf(`"port":"` + strings.Repeat("x", 65<<10) + `"`)
	large.Export = []string{"state.port"}
	r = play(t, dir, wire.Catalog{Entries: []wire.Entry{large}}, remember)[0]
	require.Nil(t, r.Sent)
	require.Equal(t, "state.port is not sent: 66562 bytes of JSON are too large for other hosts", r.Messages[0].Text)
}

func TestSentIsBounded(t *testing.T) {
	kept := &shelf{}
	dir := t.TempDir()
	for i := range 26 {
		entry := command("head -c 60000 /dev/zero | tr '\\\\0' "+string(rune('A'+i)), "")
		entry.Export = []string{"stdout"}
		r := play(t, dir, wire.Catalog{Entries: []wire.Entry{entry}}, func(e *engine.Engine) { e.Sent = kept })[0]
		require.Equal(t, wire.Changed, r.Status, r.Error)
		require.Less(t, len(kept.text), 1<<20)
		require.Contains(t, string(kept.text), strings.Repeat(string(rune('A'+i)), 60000))
	}
	require.NotContains(t, string(kept.text), "AAAA", "the oldest")
}

func TestDamagedSent(t *testing.T) {
	for _, text := range []string{"null", "[]", `{"a":1}`, "{"} {
		kept := &shelf{text: []byte(text)}
		dir := t.TempDir()
		results := play(t, dir, token(), func(e *engine.Engine) { e.Sent = kept })
		require.Equal(t, "changed changed", brief(results), text)
		require.Contains(t, string(kept.text), "t0ken")
	}
}
