package http

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/exec"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// A keeper is a server that stores the bodies of PUT, and records its requests.
type keeper struct {
	mu    sync.Mutex
	kept  map[string]string
	asked []string
}

func (k *keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	user, password, _ := r.BasicAuth()
	k.asked = append(k.asked, strings.Join([]string{r.Method, r.Host, r.URL.RequestURI(), user + password, r.Header.Get("X-Token"), r.Header.Get("Content-Type")}, "|"))
	switch r.URL.Path {
	case "/away":
		http.Redirect(w, r, "/health?secret", http.StatusFound)
		return
	case "/health":
		io.WriteString(w, `{"state":"up","checks":[{"name":"database","ok":true}],"load":0.5,"a.b":1}`)
		return
	case "/broken":
		http.Error(w, "no\ndatabase", http.StatusServiceUnavailable)
		return
	case "/slow":
		<-r.Context().Done()
		return
	}
	switch r.Method {
	case http.MethodPut, http.MethodPost:
		text, _ := io.ReadAll(r.Body)
		if k.kept == nil {
			k.kept = map[string]string{}
		}
		k.kept[r.URL.Path] = string(text)
		w.WriteHeader(http.StatusCreated)
	case http.MethodDelete:
		delete(k.kept, r.URL.Path)
	default:
		text, ok := k.kept[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, text)
	}
}

// said returns the requests since the last call.
func (k *keeper) said() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	asked := k.asked
	k.asked = nil
	return asked
}

func serve(t *testing.T) (*keeper, string) {
	k := new(keeper)
	s := httptest.NewServer(k)
	t.Cleanup(s.Close)
	return k, s.URL
}

func on(t *testing.T, properties string) *HTTP {
	t.Helper()
	return modtest.Decode(t, modules.Registry{Type()}, "http", properties, "").(*HTTP)
}

func TestConverges(t *testing.T) {
	k, url := serve(t)
	put := func(name, more string) string {
		return fmt.Sprintf(`{"name":"put","url":"%s/%s","method":"PUT"%s}`, url, name, more)
	}
	sent := func(name string) string { return "sent PUT to " + url + "/" + name }
	modtest.Converges(t, Type(),
		modtest.Fixture{Name: "healthy", Properties: fmt.Sprintf(`{"name":"a","url":"%s/health","values":{"state":"up","checks.0.ok":"true","load":0.5,"checks.0":{"name":"database","ok":true}}}`, url)},
		modtest.Fixture{Name: "another state", Properties: fmt.Sprintf(`{"name":"a","url":"%s/health","values":{"state":"down"}}`, url), Err: `"state" is "up", not "down"`},
		modtest.Fixture{Name: "no such value", Properties: fmt.Sprintf(`{"name":"a","url":"%s/health","values":{"checks.1.ok":true}}`, url), Err: `the answer has no "checks.1.ok"`},
		modtest.Fixture{Name: "an error", Properties: fmt.Sprintf(`{"name":"a","url":"%s/broken"}`, url), Err: `it answers 503 Service Unavailable: no database`},
		modtest.Fixture{Name: "an error that is right", Properties: fmt.Sprintf(`{"name":"a","url":"%s/broken","status":[503]}`, url)},
		modtest.Fixture{Name: "a redirection", Properties: fmt.Sprintf(`{"name":"a","url":"%s/away"}`, url), Err: `it answers 302 Found to ` + url + `/health?…`},
		modtest.Fixture{Name: "too slow", Properties: fmt.Sprintf(`{"name":"a","url":"%s/slow","timeout":"50ms"}`, url), Err: `no answer in 50ms`},
		modtest.Fixture{Name: "no JSON", Properties: fmt.Sprintf(`{"name":"a","url":"%s/broken","status":[503],"values":{"a":1}}`, url), Err: `it answers no JSON: invalid character 'o' in literal null (expecting 'u')`},
		modtest.Fixture{Name: "each time", Properties: put("each", `,"body":"x"`), Action: sent("each")},
		modtest.Fixture{Name: "only when something has changed", Properties: put("x", `,"refreshonly":true`)},
	)
	k.said()
	// The state is on the server, so it is set again for each part of the suite.
	guarded := on(t, put("guarded", fmt.Sprintf(`,"json":{"port":8080},"unless":"%s/guarded","unless_values":{"port":8080}`, url)))
	for _, want := range []string{sent("guarded"), ""} {
		plan, err := guarded.Check(t.Context(), modules.ReadOnly(modtest.Host()))
		require.NoError(t, err)
		require.Equal(t, want, plan.Action)
		if plan.Pending() {
			require.NoError(t, guarded.Apply(t.Context(), modtest.Host(), plan))
			require.NoError(t, guarded.Verify(t.Context(), modtest.Host(), plan))
		}
	}
	host := strings.TrimPrefix(url, "http://")
	require.Equal(t, []string{
		"GET|" + host + "|/guarded||", "PUT|" + host + "|/guarded|||application/json", "GET|" + host + "|/guarded||", "GET|" + host + "|/guarded||",
	}, trimmed(k.said()))

	stubborn := on(t, put("other", fmt.Sprintf(`,"unless":"%s/none"`, url)))
	plan, err := stubborn.Check(t.Context(), modules.ReadOnly(modtest.Host()))
	require.NoError(t, err)
	require.NoError(t, stubborn.Apply(t.Context(), modtest.Host(), plan))
	require.EqualError(t, stubborn.Verify(t.Context(), modtest.Host(), plan), "the request was sent, but "+url+"/none does not report the desired state yet")
}

// trimmed takes away fields at the end that are empty, of requests of which the last one is.
func trimmed(asked []string) []string {
	for i, a := range asked {
		if strings.HasPrefix(a, "GET") {
			asked[i] = strings.TrimSuffix(a, "|")
		}
	}
	return asked
}

// TestRequestSecrets checks that secrets are sent to the server, and are in no error.
func TestRequestSecrets(t *testing.T) {
	k, url := serve(t)
	r := on(t, fmt.Sprintf(`{"name":"a","url":"%s/broken?key=s3cret","headers":{"X-Token":"s3cret","Host":"app"},"username":"ann","password":"s3cret"}`, url))
	_, err := r.Check(t.Context(), modules.ReadOnly(modtest.Host()))
	require.EqualError(t, err, "it answers 503 Service Unavailable: no database")
	require.Equal(t, []string{"GET|app|/broken?key=s3cret|anns3cret|s3cret|"}, k.said())
	other, elsewhere := serve(t)
	r.ReadOnly, r.Unless = new(bool), elsewhere+"/health"
	_, err = r.Check(t.Context(), modules.ReadOnly(modtest.Host()))
	require.NoError(t, err)
	require.Equal(t, []string{"GET|" + strings.TrimPrefix(elsewhere, "http://") + "|/health|||"}, other.said(), "another server is told secrets")
	r.ReadOnly, r.Unless = nil, ""
	r.URL = "http://127.0.0.1:1/?key=s3cret"
	_, err = r.Check(t.Context(), modules.ReadOnly(modtest.Host()))
	require.EqualError(t, err, "dial tcp 127.0.0.1:1: connect: connection refused")
	r.ReadOnly = new(bool)
	plan, err := r.Check(t.Context(), modules.ReadOnly(modtest.Host()))
	require.NoError(t, err)
	require.Equal(t, "sent GET to http://127.0.0.1:1/?…", plan.Action)
	for _, f := range modules.Fields(r) {
		if f.Name == "headers" || f.Name == "password" || f.Name == "body" || f.Name == "json" {
			require.True(t, f.Secret, f.Name)
		}
	}
}

// TestAuthorities checks that only the authorities of the file are trusted.
func TestAuthorities(t *testing.T) {
	s := httptest.NewTLSServer(new(keeper))
	t.Cleanup(s.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	properties := fmt.Sprintf(`{"name":"a","url":"%s/health","ca":%q}`, s.URL, ca)
	look := func(properties string) error {
		_, err := on(t, properties).Check(t.Context(), modules.ReadOnly(modtest.Host()))
		return err
	}
	require.ErrorContains(t, look(properties), "ca: open "+ca)
	require.NoError(t, os.WriteFile(ca, []byte("x"), 0o600))
	require.EqualError(t, look(properties), fmt.Sprintf("ca: %q has no certificates in PEM", ca))
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	require.NoError(t, look(properties))
	require.ErrorContains(t, look(fmt.Sprintf(`{"name":"a","url":"%s/health"}`, s.URL)), "certificate signed by unknown authority")
}

func TestSocket(t *testing.T) {
	at := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", at)
	require.NoError(t, err)
	k := new(keeper)
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: k}}
	s.Start()
	t.Cleanup(s.Close)
	_, err = on(t, fmt.Sprintf(`{"name":"a","url":"http://docker/health","socket":%q}`, at)).Check(t.Context(), modules.ReadOnly(modtest.Host()))
	require.NoError(t, err)
	require.Equal(t, []string{"GET|docker|/health|||"}, k.said())
}

// TestPredicts uses a server on the host itself, which may change anything there: the predictions after a request are
// uncertain.
func TestPredicts(t *testing.T) {
	_, url := serve(t)
	put := fmt.Sprintf(`{"name":"put","url":"%[1]s/site","method":"PUT","json":{"port":1},"unless":"%[1]s/site","unless_values":{"port":1}}`, url)
	look := modtest.Step{Type: "http", Properties: fmt.Sprintf(`{"name":"look","url":"%s/health"}`, url)}
	modtest.Predicts(t, modules.Registry{file.Type(), exec.Type(), Type()}, modtest.Scenario{
		Steps: []modtest.Step{look, {Type: "http", Properties: put}, {Type: "http", Properties: put}, look},
		Want:  []string{"stable", "changed unknown", "stable unknown", "stable unknown"},
	})
}

// TestTells sends an answer to other resources.
func TestTells(t *testing.T) {
	_, url := serve(t)
	r, said := on(t, fmt.Sprintf(`{"name":"a","url":"%s/health"}`, url)), new(told)
	h := modules.ReadOnly(modtest.Host())
	h.Report = said
	_, err := r.Check(t.Context(), h)
	require.NoError(t, err)
	require.JSONEq(t, `{"status":200,"json":{"state":"up","checks":[{"name":"database","ok":true}],"load":0.5,"a.b":1}}`, string(said.state))
	modtest.Describes(t, h, r, fmt.Sprintf(`{"ensure":"present","name":"a","url":"%s/health","status":200}`, url))
}

type told struct {
	modules.Discard
	state json.RawMessage
}

func (t *told) State(s modules.State) { t.state = s.Last() }

func TestValidate(t *testing.T) {
	no := false
	modtest.Validates(t, []modtest.Verdict[HTTP]{
		{Name: "a request", Of: HTTP{Name: "x", URL: "https://h/x"}},
		{Name: "no URL", Of: HTTP{Name: "x", URL: "h/x"}, Err: "url: this is not an http or https URL (write one such as http://127.0.0.1:8080/health)"},
		{Name: "a user", Of: HTTP{Name: "x", URL: "https://ann:x@h/"}, Err: `url: the URL contains a user name (write "username" and "password")`},
		{Name: "a header", Of: HTTP{Name: "x", URL: "https://h", Headers: map[string]string{"A B": ""}}, Err: `headers: headers: "A B" is not a header name`},
		{Name: "two headers", Of: HTTP{Name: "x", URL: "https://h", Headers: map[string]string{"A": "b\r\nC: d"}}, Err: `headers: headers: the value of "A" is more than one line`},
		{Name: "a header of its own", Of: HTTP{Name: "x", URL: "https://h", Headers: map[string]string{"content-length": "1"}}, Err: `headers: headers: "content-length" cannot be set`},
		{Name: "status", Of: HTTP{Name: "x", URL: "https://h", Status: []int{99}}, Err: "status[0]: 99 is outside 100-599"},
		{Name: "two bodies", Of: HTTP{Name: "x", URL: "https://h", Body: "x", JSON: map[string]any{"a": 1}}, Err: `json: "body" and "json" are two things to send`},
		{Name: "a guard of what looks", Of: HTTP{Name: "x", URL: "https://h", Unless: "https://h"}, Err: "readonly: a request that only looks is always sent (write 'readonly: false' if it changes something)"},
		{Name: "a GET that changes", Of: HTTP{Name: "x", URL: "https://h", Unless: "https://h", ReadOnly: &no}},
		{Name: "timeout", Of: HTTP{Name: "x", URL: "https://h", Timeout: "1"}, Err: `timeout: invalid duration "1" (write a duration from 10ms to 1h, such as 500ms, 10s or 5m)`},
	})
}

func FuzzDecode(f *testing.F) {
	for _, text := range []string{`{"a":[1,"\"["]}`, `[`, `1 2`, strings.Repeat("[", maxDepth+1), `"\\"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := decode(text)
		if err != nil {
			return
		}
		again, err := json.Marshal(v)
		require.NoError(t, err)
		back, err := decode(string(again))
		require.NoError(t, err)
		require.True(t, equal(v, back))
	})
}
