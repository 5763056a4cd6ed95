package templates_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

// someNATS has one key, and two services.
type someNATS struct{}

func (someNATS) Value(_ context.Context, bucket, key string) ([]byte, error) {
	if bucket+"/"+key != "B/k" {
		return nil, errors.New("no such key")
	}
	return []byte("{{ 1 + 1 }}"), nil
}

func (someNATS) Registrations(_ context.Context, cluster, _, _, _ string) ([]any, error) {
	if cluster != "eu" && cluster != "*" {
		return nil, nil
	}
	return []any{
		map[string]any{"Cluster": "eu", "Service": "web", "Protocol": "http", "Address": "192.0.2.3", "Port": int64(80), "Priority": int64(10), "TTL": "",
			"Annotations": map[string]any{"prometheus.io/scrape": "true", "zone": "a", "__meta": "x", "empty": ""}},
		map[string]any{"Cluster": "eu", "Service": "db", "Protocol": "sql", "Address": "2001:db8::1", "Port": nil, "Priority": int64(20), "TTL": "1h0m0s", "Annotations": map[string]any{}},
	}, nil
}

// languages render a text of each.
var languagesOf = map[string]func(t *testing.T, source string, env *templates.Env) (string, error){
	"expression": func(t *testing.T, source string, env *templates.Env) (string, error) {
		text, err := templates.Parse(source, templatetest.Manifest)
		require.NoError(t, err)
		return text.String(t.Context(), env)
	},
	"Jet": func(t *testing.T, source string, env *templates.Env) (string, error) {
		template, err := templates.ParseJet(source, diag.WholeFile("a.jet"), templates.Delims{}, nil)
		require.NoError(t, err)
		return template.Render(t.Context(), env)
	},
	"Go": func(t *testing.T, source string, env *templates.Env) (string, error) {
		template, err := templates.ParseGo(source, diag.WholeFile("a.tmpl"), templates.Delims{})
		require.NoError(t, err)
		return template.Render(t.Context(), env)
	},
}

const prometheus = `[
  {
    "labels": {
      "cluster": "eu",
      "protocol": "http",
      "service": "web",
      "zone": "a"
    },
    "targets": [
      "192.0.2.3:80"
    ]
  }
]`

// TestNATS queries NATS in all languages, as CCM's documents do. The results are data: a value is not a template.
func TestNATS(t *testing.T) {
	for _, c := range []struct{ language, source, want string }{
		{"expression", "{{ kvGet('B', 'k') }}", "{{ 1 + 1 }}"},
		{"expression", "{{ registrations('eu', 'http', 'web', '*')[0].Address }}:{{ registrations('eu', 'http', 'web', '*')[0].Port }}", "192.0.2.3:80"},
		{"expression", "{{ join(map(registrations('*', '*', '*', '*'), .Service), ' ') }}", "web db"},
		{"expression", "{{ len(registrations('us', '*', '*', '*')) }}", "0"},
		{"expression", "{{ registrations('eu', 'http', 'web', '*').PrometheusFileSD() }}", prometheus},
		{"Jet", `[[ kvGet("B", "k") ]]`, "{{ 1 + 1 }}"},
		{"Jet", `[[ "B" | kvGet: "k" ]]`, "{{ 1 + 1 }}"},
		{"Jet", `[[ range _, e := registrations("eu", "*", "*", "*") ]][[ e.Address ]] [[ 256 - e.Priority ]] [[ end ]]`, "192.0.2.3 246 2001:db8::1 236 "},
		{"Jet", `[[ range registrations("us", "*", "*", "*") ]]x[[ end ]]`, ""},
		{"Jet", `[[ registrations("eu", "http", "web", "*").PrometheusFileSD() ]]`, prometheus},
		{"Jet", `[[ all := registrations("eu", "http", "web", "*") ]][[ all.PrometheusFileSD() ]]`, prometheus},
		{"Go", `{{ kvGet "B" "k" }}`, "{{ 1 + 1 }}"},
		{"Go", `{{ range $e := registrations "eu" "*" "*" "*" }}{{ $e.Address }}:{{ $e.Port | default "-" }} {{ end }}`, "192.0.2.3:80 2001:db8::1:- "},
		{"Go", `{{ $r := registrations "eu" "http" "web" "*" }}{{ $r.PrometheusFileSD }}`, prometheus},
	} {
		t.Run(c.source, func(t *testing.T) {
			env := &templates.Env{Inventory: &templates.Inventory{NATS: someNATS{}}}
			got, err := languagesOf[c.language](t, c.source, env)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestNATSErrors(t *testing.T) {
	const none = " reads from NATS, but no NATS server is given\n  hint: pass --nats tls://HOST:4222 or --nats-context NAME; see docs/guide/nats.md"
	with := &templates.Inventory{NATS: someNATS{}}
	for _, c := range []struct {
		language, source string
		in               *templates.Inventory
		want             string
	}{
		{"expression", "a {{ kvGet('B', 'k') }}", nil, "site.yaml:7:17: the function \"kvGet\"" + none},
		{"expression", "{{ registrations('a', 'b', 'c', 'd') }}", &templates.Inventory{}, "site.yaml:7:15: the function \"registrations\"" + none},
		{"expression", "{{ kvGet('B', 'none') }}", with, "site.yaml:7:15: kvGet: no such key"},
		{"expression", "{{ kvGet('B', nil) }}", with, "site.yaml:7:15: kvGet: argument 2 must be a string, not nil"},
		{"Jet", `[[ kvGet("B", "none") ]]`, with, "a.jet:1:4: kvGet: no such key"},
		{"Jet", `[[ kvGet("B") ]]`, with, `a.jet:1:4: "kvGet" takes 2 arguments, not 1`},
		{"Jet", `[[ x := "x" ]][[ x.PrometheusFileSD() ]]`, with, `a.jet:1:18: "PrometheusFileSD" is a method of the result of registrations(…), not of a string`},
		{"Go", "\n{{ kvGet \"B\" \"none\" }}", with, "a.tmpl:2:4: kvGet: no such key"},
	} {
		t.Run(c.source, func(t *testing.T) {
			_, err := languagesOf[c.language](t, c.source, &templates.Env{Inventory: c.in})
			require.EqualError(t, err, c.want)
		})
	}
}

// TestNATSCalls checks that NATS queries are known before any host is contacted, including queries in called templates.
func TestNATSCalls(t *testing.T) {
	text, err := templates.Parse(`{{ kvGet('a', 'b') }} {{ jet('[[ registrations("a", "b", "c", "d") ]]') }}`, templatetest.Manifest)
	require.NoError(t, err)
	files, err := templates.Open(t.TempDir())
	require.NoError(t, err)
	defer files.Close()
	calls := text.Inputs(files).NATS
	require.Len(t, calls, 2)
	require.Equal(t, "kvGet", calls[0].Function)
	require.Equal(t, "site.yaml:7:15", calls[0].At.String())
	require.Equal(t, "registrations", calls[1].Function)
}
