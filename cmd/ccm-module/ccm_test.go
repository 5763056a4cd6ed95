package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/modtest"
)

var update = flag.Bool("update", false, "write the golden files")

// owned returns the properties that every file has.
func owned() string {
	return fmt.Sprintf(`"owner":"%d","group":"%d","mode":"0644"`, os.Geteuid(), os.Getegid())
}

func ask(kind, properties string) string {
	return fmt.Sprintf(`{"protocol":"io.choria.ccm.v1.resource.ensure.request","type":%q,"properties":%s}`, kind, properties)
}

// answerTo runs the program's run command, which for CCM never fails.
func answerTo(t testing.TB, request string, args ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, command(t.Context(), append([]string{"run"}, args...), strings.NewReader(request), &out))
	return out.Bytes()
}

func TestCCMRefusals(t *testing.T) {
	for _, tc := range []struct{ name, request, want string }{
		{"no protocol that is known", `{"protocol":"x"}`, `invalid protocol "x"`},
		{"an empty protocol", `{"protocol":"","type":"file"}`, `invalid protocol ""`},
		{"the protocol of an answer", `{"protocol":"io.choria.ccm.v1.resource.ensure.response"}`, `invalid protocol "io.choria.ccm.v1.resource.ensure.response"`},
		{"no type", ask("", `{}`), "missing type in request"},
		{"no properties", `{"protocol":"io.choria.ccm.v1.resource.ensure.request","type":"file"}`, "missing properties in request"},
		{"properties that are null", ask("file", `null`), "missing properties in request"},
		{"YAML", "protocol: io.choria.ccm.v1.resource.ensure.request\ntype: file\n", "the request is not a JSON object; hosts do not read YAML: write the request as JSON"},
		{"half a request", `{"protocol":"io.choria.ccm.v1.resource.ensure.request",`, "reading the request: unexpected end of JSON input"},
		{"a type that is a number", `{"protocol":"io.choria.ccm.v1.resource.ensure.request","type":1}`, "reading the request: json: cannot unmarshal number into Go struct field .type of type string"},
		{"an unknown type", ask("cat", `{"name":"x"}`), "invalid resource: unknown resource type cat"},
		{"no name", ask("exec", `{}`), "invalid resource: name: name is required"},
		{"an unknown property", ask("exec", `{"name":"true","nope":1}`), `invalid resource: json: unknown field "nope"`},
		{"a bad value", ask("link", `{"name":"/x","ensure":"gone","target":"y"}`), `invalid resource: ensure: "gone" is not one of "present", "absent"`},
		{"another property", ask("file", `{"name":"x",`+owned()+`}`), `invalid resource: name: file path must be absolute (write a path that begins with /)`},
		{"properties that are text", ask("file", `"x"`), "the properties are not a JSON object"},
		{"two resources", ask("exec", `[{"true":{}},{"false":{}}]`), "multiple resources found"},
		{"two in one", ask("exec", `[{"true":{},"false":{}}]`), "multiple resources found"},
		{"no resource", ask("exec", `[]`), "multiple resources found"},
		{"a list of names", ask("exec", `["true"]`), `the list in "properties" holds something else than resources with their properties`},
		{"require", ask("exec", `{"name":"true","require":["file#/x"]}`), "invalid resource: require needs a manifest: here is one resource alone, and no expressions"},
		{"event", ask("service", `{"name":"a","refreshonly":true}`), "invalid resource: CCM has refreshonly only for exec: an event of type service needs a manifest of ccm-push"},
		{"control", ask("exec", `{"name":"true","control":{"if":"true"}}`), "invalid resource: control needs a manifest: here is one resource alone, and no expressions"},
		{"an alias that is a number", ask("exec", `{"name":"true","alias":1}`), "invalid resource: alias: 1 is not a string"},
		{"an unknown provider", ask("exec", `{"name":"true","provider":"perl"}`), `invalid resource: provider: "perl" is not one of "posix", "shell"`},
		{"an unknown provider of a type with one", ask("file", `{"name":"/tmp","ensure":"absent","force":true,"provider":"nfs"}`), "invalid resource: provider not found"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var answer ccmResponse
			require.NoError(t, json.Unmarshal(answerTo(t, tc.request), &answer))
			require.Equal(t, ccmResponse{Protocol: ccmResponseProtocol, Error: tc.want}, answer)
		})
	}
}

// varying matches the values that differ from run to run.
var varying = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`"event_id": "[0-9A-Za-z]{27}"`), `"event_id": "ID"`},
	{regexp.MustCompile(`"(timestamp|mtime)": "\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"`), `"$1": "TIME"`},
	{regexp.MustCompile(`"duration": \d+`), `"duration": 1`},
	{regexp.MustCompile(`"(owner|group)": "[^"]+"`), `"$1": "ME"`},
}

// TestCCMAnswers compares whole answers with golden files.
func TestCCMAnswers(t *testing.T) {
	for _, tc := range []struct {
		name, kind, properties string
		check                  bool
		tree                   []modtest.Node
	}{
		{name: "file-created", kind: "file", properties: `{"name":"$ROOT/f","content":"hi\n",` + owned() + `}`},
		{name: "file-predicted", kind: "file", properties: `{"name":"$ROOT/f","content":"hi\n","alias":"motd",` + owned() + `}`, check: true},
		{name: "file-stable", kind: "file", properties: `{"name":"$ROOT/f","provider":"posix",` + owned() + `}`, tree: []modtest.Node{{Path: "f", Text: "x"}}},
		{name: "file-removed", kind: "file", properties: `{"name":"$ROOT/f","ensure":"absent"}`, tree: []modtest.Node{{Path: "f", Text: "x"}}},
		{name: "file-directory", kind: "file", properties: `[{"$ROOT/d":{"ensure":"directory",` + owned() + `}}]`},
		{name: "file-failed", kind: "file", properties: `{"name":"$ROOT/none/f","content":"x",` + owned() + `}`},
		{name: "file-sensitive", kind: "file", properties: `{"name":"$ROOT/f","content":"hunter2","sensitive":true,` + owned() + `}`},
		{name: "exec-run", kind: "exec", properties: `{"name":"make it","command":"touch $ROOT/made","creates":"$ROOT/made"}`},
		{name: "exec-guarded", kind: "exec", properties: `{"name":"false","creates":"/","onlyif":"true","unless":"true"}`},
		{name: "exec-every-time", kind: "exec", properties: `{"name":"exit 3","provider":"shell","returns":[3],"require":[]}`},
		{name: "exec-failed", kind: "exec", properties: `{"name":"exit 3","provider":"shell"}`},
		{name: "exec-predicted", kind: "exec", properties: `{"name":"true"}`, check: true},
		{name: "link-created", kind: "link", properties: `{"name":"$ROOT/l","target":"nothing"}`},
		{name: "line-added", kind: "line", properties: `{"name":"$ROOT/f","line":"x"}`, tree: []modtest.Node{{Path: "f"}}},
		{name: "line-predicted", kind: "line", properties: `{"name":"$ROOT/f","line":"x"}`, tree: []modtest.Node{{Path: "f"}}, check: true},
		{name: "archive-predicted", kind: "archive", properties: `{"name":"$ROOT/a.tar.gz","url":"http://127.0.0.1/a.tar.gz","username":"me","password":"hunter2","headers":{"X":"hunter2"},"mode":"0600",` + strings.ReplaceAll(owned(), `,"mode":"0644"`, "") + `,"creates":"$ROOT/a"}`, check: true},
		{name: "archive-removed", kind: "archive", properties: `{"name":"$ROOT/a.tar.gz","ensure":"absent"}`, tree: []modtest.Node{{Path: "a.tar.gz", Text: "x"}}},
		{
			name: "scaffold-purged", kind: "scaffold", tree: []modtest.Node{{Path: "d", Dir: true}, {Path: "d/old", Text: "x"}, {Path: "d/a", Text: "x"}},
			properties: `{"name":"$ROOT/d","purge":true,"tree":{"mode":493,"nodes":[{"path":"a","mode":420,"content":"x"},{"path":"b","mode":420,"content":"y"}]}}`,
		},
		{
			name: "scaffold-predicted", kind: "scaffold", tree: []modtest.Node{{Path: "d", Dir: true}, {Path: "d/old", Text: "x"}, {Path: "d/a", Text: "x"}}, check: true,
			properties: `{"name":"$ROOT/d","purge":true,"tree":{"mode":493,"nodes":[{"path":"a","mode":420,"content":"x"},{"path":"b","mode":420,"content":"y"}]}}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := modtest.Root(t)
			modtest.Build(t, root, tc.tree)
			before := modtest.Snapshot(t, root)
			var args []string
			if tc.check {
				args = []string{"--noop"}
			}
			text := string(answerTo(t, strings.ReplaceAll(ask(tc.kind, tc.properties), "$ROOT", root), args...))
			require.NotContains(t, text, "hunter2")
			if tc.check {
				require.Equal(t, before, modtest.Snapshot(t, root), "a check run has changed something")
			}
			conforms(t, text)
			text = strings.ReplaceAll(text, root, "/ROOT")
			for _, v := range varying {
				text = v.what.ReplaceAllString(text, v.with)
			}
			golden := filepath.Join("testdata", "ccm", tc.name+".json")
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(golden), 0o755))
				require.NoError(t, os.WriteFile(golden, []byte(text), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), text)
		})
	}
}

// conforms checks an answer against CCM's published schema.
func conforms(t testing.TB, text string) {
	t.Helper()
	var answer map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(text), &answer), text)
	require.Len(t, answer, 2, text)
	require.JSONEq(t, `"`+ccmResponseProtocol+`"`, string(answer["protocol"]))
	if refusal, refused := answer["error"]; refused {
		require.Greater(t, len(refusal), 2, text)
		return
	}
	var event map[string]any
	require.NoError(t, json.Unmarshal(answer["state"], &event), text)
	known := map[string]string{ // the required ones are in capitals
		"protocol": "STRING", "event_id": "STRING", "timestamp": "STRING", "type": "STRING", "provider": "STRING", "name": "STRING",
		"alias": "string", "requested_ensure": "STRING", "final_ensure": "STRING", "duration": "NUMBER", "properties": "object", "status": "object",
		"noop_message": "string", "error": "array", "changed": "BOOLEAN", "refreshed": "boolean", "failed": "BOOLEAN", "skipped": "boolean",
		"noop": "BOOLEAN", "unmet_requirements": "array",
	}
	for name, kind := range known {
		value, given := event[name]
		if !given || value == nil {
			require.NotEqual(t, strings.ToUpper(kind), kind, "%s is missing in %s", name, text)
			continue
		}
		have := map[string]string{"string": "string", "float64": "number", "bool": "boolean", "[]interface {}": "array", "map[string]interface {}": "object"}[fmt.Sprintf("%T", value)]
		require.Equal(t, strings.ToLower(kind), have, name)
	}
	for name := range event {
		require.Contains(t, known, name, "the schema allows no other fields")
	}
	require.Equal(t, ccmEventProtocol, event["protocol"])
	_, err := time.Parse(time.RFC3339Nano, event["timestamp"].(string))
	require.NoError(t, err)
}

// TestCCMFieldOrder checks that the fields are in CCM's order.
func TestCCMFieldOrder(t *testing.T) {
	text := answerTo(t, ask("exec", `{"name":"true","alias":"a"}`))
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^    "([a-z_]+)":`).FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	require.Equal(t, strings.Fields(`protocol event_id timestamp type provider name alias requested_ensure final_ensure duration
		properties status error changed refreshed failed skipped noop unmet_requirements`), names)
}

// TestOwnRequestStaysAsItIs checks a request without a protocol, whose failure sets the exit status.
func TestOwnRequestStaysAsItIs(t *testing.T) {
	var out bytes.Buffer
	run := func(request string, args ...string) error {
		out.Reset()
		return command(t.Context(), append([]string{"run"}, args...), strings.NewReader(request), &out)
	}
	require.NoError(t, run(`{"type":"exec","properties":{"name":"false"}}`, "--noop"))
	require.Contains(t, out.String(), `"message":"Would have executed"`)
	require.Equal(t, exitError(2), run(`{"type":"exec","properties":{"name":"false"}}`))
	require.Contains(t, out.String(), `"status":"failed"`)
	require.EqualError(t, run(`type: exec`), `reading the resource: invalid character 'y' in literal true (expecting 'r') (it looks like {"type":"file","properties":{"name":"/etc/motd",…}})`)
	require.EqualError(t, run(`{`), `reading the resource: unexpected EOF (it looks like {"type":"file","properties":{"name":"/etc/motd",…}})`)
	require.Empty(t, out.String())
	require.EqualError(t, run(`{}`, "--dry"), "usage: ccm-module run [--check] < resource.json")
	require.EqualError(t, run(strings.Repeat(" ", maxRequest+1)), "the resource is larger than 64 MiB")
}

// TestKSUID compares with an id of github.com/segmentio/ksuid, whose README has the time of
// 0ujtsYcgvSTl8PAuAdqWYSMnLOv.
func TestKSUID(t *testing.T) {
	at := time.Date(2017, 10, 10, 4, 0, 47, 0, time.UTC)
	require.Equal(t, "0ujts", newKSUID(at)[:5])
	var last string
	seen := map[string]bool{}
	for i := range 1000 {
		id := newKSUID(at.Add(time.Duration(i) * time.Second))
		require.Len(t, id, 27)
		require.Greater(t, id, last)
		require.False(t, seen[id])
		last, seen[id] = id, true
	}
}

// FuzzReadCCM passes any bytes to the reader of requests, in check mode, and checks that the answer always fits CCM's
// schema.
func FuzzReadCCM(f *testing.F) {
	for _, seed := range []string{
		`{"protocol":"x"}`, ask("file", `null`), ask("exec", `[{"true":{}}]`), ask("exec", `{"name":"true","alias":"a","provider":"shell","sensitive":true}`),
		ask("file", `{"name":"/x","ensure":"absent","provider":"posix","require":[],"control":{}}`), "protocol: io.choria.ccm.v1.",
		ask("user", `{"name":"a","password_hash":"$6$x"}`), ask("apply", `{"name":"x.yaml"}`),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if !isCCM(input) {
			return
		}
		task, err := readCCM(t.Context(), input)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.NotEmpty(t, task.entry.Name)
		require.True(t, json.Valid(task.effective), "%s", task.effective)
		text, err := json.Marshal(ccmResponse{Protocol: ccmResponseProtocol, State: &ccmEvent{Protocol: ccmEventProtocol, EventID: newKSUID(time.Now()), Properties: task.effective, Type: task.entry.Type, Provider: "p", Name: task.entry.Name, Error: []string{}, UnmetRequirements: []string{}}})
		require.NoError(t, err)
		conforms(t, string(text))
	})
}

func TestRunRefusesNestedManifests(t *testing.T) {
	_, _, err := readResource(t.Context(), []byte(`{"type":"apply","properties":{"name":"web"}}`))
	require.EqualError(t, err, "type apply works only in manifests: the controller replaces the resource with the resources of the nested manifest")
}
