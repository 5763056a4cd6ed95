package events

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/dsc"
)

// toldDocument is a document for reports.
func toldDocument() *dsc.Document {
	d := &dsc.Document{Known: map[string]any{"known": 1}}
	properties := yamlpos.From(&yamlpos.Node{}, map[string]any{"want": 1})
	for _, i := range [][2]string{{"dsc", "x"}, {"dsc", "y"}, {"dsc", "outputs"}, {"file", "x"}, {"file", "motd"}} {
		d.Instances = append(d.Instances, &dsc.Instance{
			Type: "Owner/" + i[0], Entry: i[0], Name: i[1], Properties: properties, Output: i[1] == "outputs",
		})
	}
	return d
}

// told is the time of all events.
var told = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func dscLines(events ...Event) string {
	var out bytes.Buffer
	d := NewDSC(&out)
	d.Add("app", toldDocument())
	s := NewStream("run", func() time.Time { return told }, d)
	for _, e := range events {
		s.Report(e)
	}
	return out.String()
}

const dscHead = `"metadata":{"Microsoft.DSC":{"operation":"set","executionType":"actual","startDatetime":"2026-01-02T03:04:05.000Z","endDatetime":"2026-01-02T03:04:05.000Z","duration":"PT0S"}}`

func result(name string, change func(*Result)) Result {
	r := Result{Play: "app", Host: "web1", Type: "dsc", Name: name, Status: Stable, Duration: 1500 * time.Millisecond,
		State: &ResourceState{Before: json.RawMessage(`{"a":1}`)}}
	if change != nil {
		change(&r)
	}
	return r
}

func TestDSC(t *testing.T) {
	took := `"metadata":{"Microsoft.DSC":{"duration":"PT1.5S"}}`
	for _, c := range []struct {
		name   string
		events []Event
		want   string
	}{
		{"nothing", nil, `{` + dscHead + `,"results":[],"messages":[],"hadErrors":false,"outputs":{"known":1}}`},
		{"stable", []Event{result("x", nil)}, `{` + dscHead + `,"results":[{` + took + `,"name":"x","type":"Owner/dsc","result":{"beforeState":{"a":1},"afterState":{"a":1},"changedProperties":null}}],"messages":[],"hadErrors":false,"outputs":{"known":1}}`},
		{"changed", []Event{result("x", func(r *Result) {
			r.Status, r.Changes = Changed, []Change{{Property: "b"}, {Property: "a.x"}, {Property: "a.y"}}
			r.State.After = json.RawMessage(`{"a":2}`)
		})}, `{` + dscHead + `,"results":[{` + took + `,"name":"x","type":"Owner/dsc","result":{"beforeState":{"a":1},"afterState":{"a":2},"changedProperties":["a","b"]}}],"messages":[],"hadErrors":false,"outputs":{"known":1}}`},
		{"a built-in type", []Event{result("/x", func(r *Result) { r.Type, r.Alias, r.State = "file", "motd", nil })},
			`{` + dscHead + `,"results":[{` + took + `,"name":"motd","type":"Owner/file","result":{"beforeState":null,"afterState":null,"changedProperties":null}}],"messages":[],"hadErrors":false,"outputs":{"known":1}}`},
		{"a condition that does not hold", []Event{result("x", func(r *Result) { r.State, r.Status, r.Message = nil, Skipped, "its condition is false" })},
			`{` + dscHead + `,"results":[],"messages":[{"name":"x","type":"Owner/dsc","message":"skipped: its condition is false","level":"information"}],"hadErrors":false,"outputs":{"known":1}}`},
		{"failed and skipped", []Event{result("x", func(r *Result) { r.Status, r.Error = Failed, "no\u009b" }), result("y", func(r *Result) { r.Status, r.Because = Skipped, "dsc#x" })},
			`{` + dscHead + `,"results":[],"messages":[{"name":"x","type":"Owner/dsc","message":"no\u009b","level":"error"},{"name":"y","type":"Owner/dsc","message":"skipped: dsc#x","level":"information"}],"hadErrors":true,"outputs":{"known":1}}`},
		{"levels", []Event{result("x", func(r *Result) { r.Messages = []Note{{"warning", "a"}, {"info", "b"}, {"trace", "c"}} })},
			`{` + dscHead + `,"results":[{` + took + `,"name":"x","type":"Owner/dsc","result":{"beforeState":{"a":1},"afterState":{"a":1},"changedProperties":null}}],"messages":[{"name":"x","type":"Owner/dsc","message":"a","level":"warning"},{"name":"x","type":"Owner/dsc","message":"b","level":"information"},{"name":"x","type":"Owner/dsc","message":"c","level":"information"}],"hadErrors":false,"outputs":{"known":1}}`},
		{"outputs", []Event{result("outputs", func(r *Result) { r.State.Before = json.RawMessage(`{"output":{"told":[2]}}`) })},
			`{` + dscHead + `,"results":[],"messages":[],"hadErrors":false,"outputs":{"known":1,"told":[2]}}`},
		{"secrets", []Event{result("x", func(r *Result) {
			r.Sensitive, r.Type, r.Changes = true, "file", []Change{{"content", "s3cret", "s3cret"}}
		})},
			`{` + dscHead + `,"results":[{` + took + `,"name":"x","type":"Owner/file","result":{"beforeState":null,"afterState":null,"changedProperties":null}}],"messages":[],"hadErrors":false,"outputs":{"known":1}}`},
		{"unreachable", []Event{Unreachable{Host: "web1", Error: "refused"}}, `{` + dscHead + `,"results":[],"messages":[{"name":"","type":"","message":"refused","level":"error"}],"hadErrors":true,"outputs":{"known":1}}`},
		{"another play", []Event{result("x", func(r *Result) { r.Play, r.State = "other", nil })},
			`{` + dscHead + `,"results":[{` + took + `,"name":"x","type":"dsc","result":{"beforeState":null,"afterState":null,"changedProperties":null}}],"messages":[],"hadErrors":false,"outputs":{"known":1}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := append([]Event{RunStart{Hosts: 1}, PlayStart{Play: "app", Hosts: []string{"web1"}}}, c.events...)
			require.Equal(t, c.want+"\n", dscLines(append(all, HostDone{Host: "web1"})...))
		})
	}
}

func TestDSCOfACheckRun(t *testing.T) {
	got := dscLines(RunStart{Hosts: 2, Check: true}, PlayStart{Hosts: []string{"web1", "web2"}},
		result("x", func(r *Result) {
			r.Check, r.Status, r.Changes, r.Because = true, Changed, []Change{{Property: "a"}}, "dsc#w"
		}),
		HostDone{Host: "web1"}, Summary{NotStarted: []string{"web2"}})
	head := `"metadata":{"Microsoft.DSC":{"operation":"test","executionType":"actual","startDatetime":"2026-01-02T03:04:05.000Z","endDatetime":"2026-01-02T03:04:05.000Z","duration":"PT0S"}}`
	require.Equal(t, `{"host":"web1",`+head+`,"results":[{"metadata":{"Microsoft.DSC":{"duration":"PT1.5S"}},"name":"x","type":"Owner/dsc","result":{"desiredState":{"want":1},"actualState":{"a":1},"inDesiredState":false,"differingProperties":["a"]}}],"messages":[{"name":"x","type":"Owner/dsc","message":"this prediction is uncertain: it depends on dsc#w","level":"information"}],"hadErrors":false}
{"host":"web2",`+head+`,"results":[],"messages":[{"name":"","type":"","message":"the run ended before it started this host","level":"error"}],"hadErrors":true}
`, got)
}
