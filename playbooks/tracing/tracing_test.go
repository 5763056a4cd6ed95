package tracing

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "rewrite the golden file")

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }

func stamp(ms int) events.Stamp { return events.Stamp{Time: at(ms), Run: "r1"} }

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// tell reports a run on two hosts: web1 has three results, two of them together, and web2 is not reached.
func tell(t *Trace) {
	t.Report(events.RunStart{Stamp: stamp(0), Manifests: []string{"site.yaml"}, Hosts: 2, Plays: []events.SelectedPlay{{Name: "web", Hosts: []string{"web1", "web2"}, Addresses: []string{"10.0.0.1", ""}}}})
	t.Report(events.PlayStart{Stamp: stamp(1), Play: "web", Number: 1, Batch: 1, Batches: 1, Hosts: []string{"web1", "web2"}})
	t.Report(events.Unreachable{Stamp: stamp(30), Play: "web", Host: "web2", Error: "hunter2", Hint: "hunter2"})
	t.Report(events.HostDone{Stamp: stamp(30), Host: "web2", State: events.StateUnreachable, Duration: ms(29), Steps: []events.Step{{Phase: "connect", Play: 1, Began: at(1), Took: ms(29)}}})
	secret := events.Result{Play: "web", Host: "web1", Type: "exec", Name: "migrate", Status: events.Failed, Error: "hunter2", Message: "hunter2", Diff: "hunter2", Command: &events.Command{Stdout: "hunter2"}}
	secret.Stamp, secret.Duration = stamp(60), ms(5)
	t.Report(secret)
	t.ReportAll([]events.Event{
		events.Result{Stamp: stamp(90), Play: "web", Host: "web1", Type: "file", Name: "/etc/motd", Status: events.Changed, Cause: events.Drift, Duration: ms(20)},
		events.Result{Stamp: stamp(90), Play: "web", Host: "web1", Type: "file", Name: "/etc/issue", Status: events.Stable, Duration: ms(3)},
	})
	t.Report(events.HostDone{Stamp: stamp(95), Host: "web1", State: events.StateFailed, Duration: ms(94), Counts: events.Counts{Changed: 1, Failed: 1, Stable: 1}, Steps: []events.Step{
		{Phase: "login", Play: 1, Began: at(10), Took: ms(10)}, {Phase: "connect", Play: 1, Began: at(1), Took: ms(20)},
		{Phase: "start", Play: 1, Began: at(21), Took: ms(20)}, {Phase: "compile", Play: 1, Began: at(41), Took: ms(2)}, {Phase: "apply", Play: 1, Began: at(50), Took: ms(42)},
	}})
	t.Report(events.Summary{Stamp: stamp(100), Totals: events.Totals{Hosts: events.HostTotals{Failed: 1, Unreachable: 1}, Resources: events.ResourceTotals{Counts: events.Counts{Changed: 1}}}})
}

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func configOf(t *testing.T, pairs ...string) Config {
	c, err := FromEnvironment(environment(pairs...))
	require.NoError(t, err)
	return c
}

// spansOf reads requests, which may hold nothing that this package does not know.
func spansOf(t *testing.T, text []byte) []span {
	var all []span
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	for {
		var r request
		if err := d.Decode(&r); err == io.EOF {
			return all
		} else {
			require.NoError(t, err)
		}
		for _, resource := range r.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				all = append(all, scope.Spans...)
			}
		}
	}
}

// UnmarshalJSON is for the tests alone.
func (n *unixNano) UnmarshalJSON(text []byte) error {
	s, err := strconv.Unquote(string(text))
	if err != nil {
		return err
	}
	nanos, err := strconv.ParseInt(s, 10, 64)
	*n = unixNano(time.Unix(0, nanos).UTC())
	return err
}

func TestFileGolden(t *testing.T) {
	var file bytes.Buffer
	trace := New(configOf(t, "OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=staging,team=a%2Cb"), "1.0", &file)
	tell(trace)
	require.NoError(t, trace.Err())
	require.NoError(t, trace.Close())
	var indented bytes.Buffer
	require.NoError(t, json.Indent(&indented, file.Bytes(), "", " "))
	path := filepath.Join("testdata", "trace.json")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, indented.Bytes(), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run: go test ./playbooks/tracing -update")
	require.Equal(t, string(want), indented.String())
	require.NotContains(t, file.String(), "hunter2")
}

// tree prints spans below their parents, with when they began and ended.
func tree(spans []span, parent, indent string) string {
	slices.SortStableFunc(spans, func(a, b span) int {
		return cmp.Or(time.Time(a.Start).Compare(time.Time(b.Start)), strings.Compare(a.Name, b.Name))
	})
	var b strings.Builder
	for _, s := range spans {
		if s.ParentID != parent {
			continue
		}
		state := ""
		if s.Status != nil {
			state = " failed"
		}
		fmt.Fprintf(&b, "%s%s %d-%d%s\n", indent, s.Name, time.Time(s.Start).Sub(began).Milliseconds(), time.Time(s.End).Sub(began).Milliseconds(), state)
		b.WriteString(tree(spans, s.SpanID, indent+"  "))
	}
	return b.String()
}

// TestTree has every span below its parent, and resources that came together one after the other.
func TestTree(t *testing.T) {
	var file bytes.Buffer
	trace := New(configOf(t), "1.0", &file)
	tell(trace)
	spans := spansOf(t, file.Bytes())
	require.Equal(t, `ccm-push run 0-100 failed
  host web1 1-95 failed
    connect 1-21
      login 10-20
    start 21-41
    compile 41-43
    apply 50-92
      exec#migrate 55-60 failed
      file#/etc/motd 67-87
      file#/etc/issue 87-90
  host web2 1-30 failed
    connect 1-30
`, tree(spans, "", ""))
	ids := map[string]bool{}
	for _, s := range spans {
		ids[s.SpanID] = true
		require.Len(t, s.SpanID, 16)
		require.Len(t, s.TraceID, 32)
		require.Equal(t, spans[0].TraceID, s.TraceID)
	}
	require.Len(t, ids, len(spans))
}

// TestParallel has resources that cannot have run one after the other end together.
func TestParallel(t *testing.T) {
	var file bytes.Buffer
	trace := New(configOf(t), "1.0", &file)
	trace.Report(events.RunStart{Stamp: stamp(0)})
	trace.Report(events.PlayStart{Stamp: stamp(1), Number: 1, Hosts: []string{"a"}})
	trace.ReportAll([]events.Event{
		events.Result{Stamp: stamp(50), Host: "a", Type: "exec", Name: "x", Duration: ms(40)},
		events.Result{Stamp: stamp(50), Host: "a", Type: "exec", Name: "y", Duration: ms(30)},
	})
	trace.Report(events.HostDone{Stamp: stamp(60), Host: "a", State: events.StateOK, Steps: []events.Step{{Phase: "apply", Play: 1, Began: at(5), Took: ms(46)}}})
	trace.Report(events.Summary{Stamp: stamp(61)})
	require.Equal(t, `ccm-push run 0-61
  host a 5-60
    apply 5-51
      exec#x 10-50
      exec#y 20-50
`, tree(spansOf(t, file.Bytes()), "", ""))
}

// TestSeveralConnections has the login of each connection below it, and results of a second play
// below its own phase.
func TestSeveralConnections(t *testing.T) {
	var file bytes.Buffer
	trace := New(configOf(t), "1.0", &file)
	trace.Report(events.RunStart{Stamp: stamp(0)})
	for n := 1; n <= 2; n++ {
		trace.Report(events.PlayStart{Stamp: stamp(n * 100), Number: n, Hosts: []string{"a"}})
		trace.Report(events.Result{Stamp: stamp(n*100 + 60), Host: "a", Type: "exec", Name: "x", Duration: ms(10)})
	}
	step := func(phase string, play, from, took int) events.Step {
		return events.Step{Phase: phase, Play: play, Began: at(from), Took: ms(took)}
	}
	trace.Report(events.HostDone{Stamp: stamp(280), Host: "a", State: events.StateOK, Steps: []events.Step{
		step("login", 1, 105, 5), step("connect", 1, 101, 10), step("apply", 1, 120, 50),
		step("connect", 2, 201, 3), step("login", 2, 215, 5), step("connect", 2, 210, 11), step("apply", 2, 225, 50),
	}})
	trace.Report(events.Summary{Stamp: stamp(300)})
	require.Equal(t, `ccm-push run 0-300
  host a 101-280
    connect 101-111
      login 105-110
    apply 120-170
      exec#x 150-160
    connect 201-204
    connect 210-221
      login 215-220
    apply 225-275
      exec#x 250-260
`, tree(spansOf(t, file.Bytes()), "", ""))
}

func TestNamesAreBounded(t *testing.T) {
	name := cut(strings.Repeat("a", maxName-1) + strings.Repeat("é", 100))
	require.Equal(t, strings.Repeat("a", maxName-1)+"…", name)
}

// A server is a collector that keeps the requests.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	bodies   bytes.Buffer
	requests []*http.Request
}

func serve(t *testing.T, answer http.HandlerFunc) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.bodies.Write(body)
		s.requests = append(s.requests, r)
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func ok(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") }

// TestCollector sends what a file gets, with the headers and the parent of the environment.
func TestCollector(t *testing.T) {
	s := serve(t, ok)
	trace := New(configOf(t, "OTEL_EXPORTER_OTLP_ENDPOINT", s.URL+"/base/", "OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b, x=y",
		"TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), "1.0", nil)
	trace.Connect(t.Context())
	tell(trace)
	require.NoError(t, trace.Close())
	require.Len(t, s.requests, 1)
	r := s.requests[0]
	require.Equal(t, "POST /base/v1/traces", r.Method+" "+r.URL.Path)
	require.Equal(t, "application/json", r.Header.Get("Content-Type"))
	require.Equal(t, "a b", r.Header.Get("api-key"))
	require.Equal(t, "y", r.Header.Get("x"))
	spans := spansOf(t, s.bodies.Bytes())
	require.Len(t, spans, 12)
	require.True(t, strings.HasPrefix(tree(spans, "b7ad6b7169203331", ""), "ccm-push run 0-100 failed\n  host web1"))
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", spans[0].TraceID)
}

// TestManySpans: they are sent in parts, during the run.
func TestManySpans(t *testing.T) {
	s := serve(t, ok)
	trace := New(configOf(t, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", s.URL+"/x"), "1.0", nil)
	trace.Connect(t.Context())
	trace.Report(events.RunStart{Stamp: stamp(0)})
	for i := range 3*maxSpans + 1 {
		trace.Report(events.Result{Stamp: stamp(i), Host: "a", Type: "exec", Name: strconv.Itoa(i)})
	}
	trace.Report(events.Summary{Stamp: stamp(9999)})
	require.NoError(t, trace.Close())
	require.Len(t, s.requests, 4)
	require.Equal(t, "/x", s.requests[0].URL.Path)
	require.Len(t, spansOf(t, s.bodies.Bytes()), 3*maxSpans+2)
}

// TestCollectorThatFails: it is reported in one line, and costs only spans.
func TestCollectorThatFails(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"refuses", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "hunter2", http.StatusUnauthorized) },
			"12 of 12 spans of the trace were not taken by URL/v1/traces: 401 Unauthorized"},
		{"leads elsewhere", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
			"12 of 12 spans of the trace were not taken by URL/v1/traces: 302 Found"},
		{"takes a part", func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too\n\u001b[31mold"}}`)
		}, `3 of 12 spans of the trace were not taken by URL/v1/traces: too\n\x1b[31mold`},
		{"answers no JSON", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "thanks") }, ""},
		{"hangs up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			"12 of 12 spans of the trace were not taken by URL/v1/traces: EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, c.answer)
			trace := New(configOf(t, "OTEL_EXPORTER_OTLP_ENDPOINT", strings.Replace(s.URL, "://", "://ann:hunter2@", 1)+"?token=hunter2"), "1.0", nil)
			trace.Connect(t.Context())
			tell(trace)
			err := trace.Close()
			require.NoError(t, trace.Err())
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, strings.ReplaceAll(c.want, "URL", s.URL))
		})
	}
}

// TestSilentCollector never answers: neither reporting nor the end waits for it.
func TestSilentCollector(t *testing.T) {
	done := make(chan struct{})
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-done:
		}
	})
	defer close(done)
	trace := New(configOf(t, "OTEL_EXPORTER_OTLP_ENDPOINT", s.URL), "1.0", nil)
	trace.Connect(t.Context())
	trace.collector.drain = time.Millisecond
	trace.Report(events.RunStart{Stamp: stamp(0)})
	const results = (maxWaiting + 10) * maxSpans
	for i := range results {
		trace.Report(events.Result{Stamp: stamp(i), Host: "a", Type: "exec", Name: strconv.Itoa(i)})
	}
	trace.Report(events.Summary{Stamp: stamp(99999)})
	require.EqualError(t, trace.Close(), fmt.Sprintf("%d of %d spans of the trace were not taken by %s/v1/traces: it did not answer in time", results+1, results+1, s.URL))
}

// TestDeadCollector is given up after a few requests.
func TestDeadCollector(t *testing.T) {
	s := serve(t, ok)
	s.Close()
	trace := New(configOf(t, "OTEL_EXPORTER_OTLP_ENDPOINT", s.URL), "1.0", nil)
	trace.Connect(t.Context())
	tell(trace)
	require.ErrorContains(t, trace.Close(), "connection refused")
}

func TestFromEnvironment(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, c := range []struct {
		name      string
		env       []string
		want, err string
	}{
		{"nothing", nil, "", ""},
		{"base", []string{endpoint, "http://c:4318"}, "http://c:4318/v1/traces", ""},
		{"base with a path", []string{endpoint, "https://c/otlp/"}, "https://c/otlp/v1/traces", ""},
		{"traces alone", []string{endpoint, "http://c", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://d/t"}, "http://d/t", ""},
		{"disabled", []string{endpoint, "http://c", "OTEL_SDK_DISABLED", "TRUE"}, "", ""},
		{"another exporter", []string{endpoint, "http://c", "OTEL_TRACES_EXPORTER", "none"}, "", ""},
		{"not sampled", []string{endpoint, "http://c", "TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}, "", ""},
		{"no URL", []string{endpoint, "c:4318?hunter2"}, "", "OTEL_EXPORTER_OTLP_ENDPOINT is not a URL that begins with http:// or https://"},
		{"grpc", []string{endpoint, "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}, "", `the variable "OTEL_EXPORTER_OTLP_PROTOCOL" is grpc, but ccm-push sends traces only over HTTP: set this variable to http/json, and OTEL_EXPORTER_OTLP_TRACES_ENDPOINT to an HTTP endpoint (port 4318)`},
		{"no headers", []string{endpoint, "http://c", "OTEL_EXPORTER_OTLP_HEADERS", "hunter2"}, "", "OTEL_EXPORTER_OTLP_HEADERS: the value is not a list such as KEY=VALUE,KEY=VALUE; write %2C for a comma in a value"},
		{"attributes of others", []string{"OTEL_RESOURCE_ATTRIBUTES", "a=%zz"}, "", ""},
		{"no attributes", []string{endpoint, "http://c", "OTEL_RESOURCE_ATTRIBUTES", "a=%zz"}, "", "OTEL_RESOURCE_ATTRIBUTES: the value is not a list such as KEY=VALUE,KEY=VALUE; write %2C for a comma in a value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := FromEnvironment(environment(c.env...))
			if c.err != "" {
				require.EqualError(t, err, c.err)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, c.want, got.Endpoint)
			require.Equal(t, "service.name", got.resource[len(got.resource)-1].Key)
		})
	}
}

func TestResourceAttributes(t *testing.T) {
	for _, c := range []struct {
		env  []string
		want map[string]string
	}{
		{nil, map[string]string{"service.name": "ccm-push"}},
		{[]string{"OTEL_RESOURCE_ATTRIBUTES", "service.name=a,b=c%2Cd"}, map[string]string{"service.name": "a", "b": "c,d"}},
		{[]string{"OTEL_RESOURCE_ATTRIBUTES", "service.name=a", "OTEL_SERVICE_NAME", "b"}, map[string]string{"service.name": "b"}},
	} {
		got := map[string]string{}
		for _, a := range configOf(t, c.env...).resource {
			got[a.Key] = *a.Value.String
		}
		require.Equal(t, c.want, got)
		require.True(t, maps.Equal(c.want, got))
	}
}

func TestParent(t *testing.T) {
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for text, want := range map[string]parent{
		"00-" + trace + "-" + span + "-01":                    {trace, span, false},
		"00-" + trace + "-" + span + "-00":                    {trace, span, true},
		"cc-" + trace + "-" + span + "-01-more":               {trace, span, false},
		"00-" + trace + "-" + span + "-01-more":               {},
		"ff-" + trace + "-" + span + "-01":                    {},
		"00-" + strings.ToUpper(trace) + "-" + span + "-01":   {},
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01":  {},
		"00-" + trace + "-" + strings.Repeat("0", 16) + "-01": {},
		"00-" + trace + "-" + span:                            {},
		"00-" + trace[:30] + "-" + span + "-01":               {},
		"00-" + strings.Repeat("x", 32) + "-" + span + "-01":  {},
		"": {},
	} {
		require.Equal(t, want, parentOf(text), text)
	}
}
