package templates_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

// hostOfThree returns the environment of web1's expressions, with a list of the roots that were built.
func hostOfThree() (env *templates.Env, built *[]string) {
	built = new([]string)
	lazy := func(name string, value map[string]any) *templates.Lazy {
		return templates.NewLazy(func() map[string]any {
			*built = append(*built, name)
			return value
		})
	}
	ip := func(n int) map[string]any { return map[string]any{"ip": fmt.Sprint("192.0.2.", n), "port": int64(80)} }
	refused := ip(9)
	refused["url"] = templates.Unusable("write it", "the variable %q is odd", "url")
	env = templatetest.Host(nil)
	env.Inventory = &templates.Inventory{
		Host:   lazy("Host", map[string]any{"name": "web1", "groups": []any{"eu", "web"}, "vars": ip(1)}),
		Groups: lazy("Groups", map[string]any{"web": []any{"web2", "web1"}, "db": []any{"db1.example.com"}}),
		Hosts:  lazy("Hosts", map[string]any{"web1": ip(1), "web2": ip(2), "db1.example.com": refused}),
		Play:   lazy("Play", map[string]any{"name": "site", "hosts": []any{"web2", "web1"}}),
		Run:    lazy("Run", map[string]any{"id": "r1", "check": true, "user": "ann"}),
	}
	return env, built
}

func inventoryCases() []struct{ expression, jet, golang, want, built string } {
	return []struct{ expression, jet, golang, want, built string }{
		{"{{ Host.name }}", "[[ host.name ]]", "{{ .host.name }}", "web1", "[Host]"},
		{"{{ 'web' in Host.groups }}", "[[ Host.groups[1] == \"web\" ]]", `{{ has "web" .Host.groups }}`, "true", "[Host]"},
		{"{{ Host.vars.port + 1 }}", "[[ host.vars.port + 1 ]]", "{{ add .host.vars.port 1 }}", "81", "[Host]"},
		{"{{ Groups.web | join(',') }}", "[[ range _, h := groups.web ]][[ h ]],[[ end ]]", `{{ join "," .groups.web }}`, "web2,web1", "[Groups]"},
		{"{{ Groups['db'][0] }}", `[[ Groups["db"][0] ]]`, "{{ index .Groups.db 0 }}", "db1.example.com", "[Groups]"},
		{"{{ Hosts['db1.example.com'].ip }}", `[[ hosts["db1.example.com"].ip ]]`, `{{ (index .hosts "db1.example.com").ip }}`, "192.0.2.9", "[Hosts]"},
		{"{{ map(Groups.web, Hosts[#].ip) | join(' ') }}", "[[ range _, h := groups.web ]][[ hosts[h].ip ]] [[ end ]]",
			"{{ range .groups.web }}{{ (index $.hosts .).ip }} {{ end }}", "192.0.2.2 192.0.2.1", "[Groups Hosts]"},
		{"{{ Play.name }} {{ Play.hosts[0] }}", "[[ play.name ]] [[ play.hosts[0] ]]", "{{ .play.name }} {{ index .play.hosts 0 }}", "site web2", "[Play]"},
		{"{{ Run.id }} {{ Run.check }} {{ Run.user }}", "[[ run.id ]] [[ run.check ]] [[ run.user ]]", "{{ .run.id }} {{ .run.check }} {{ .run.user }}", "r1 true ann", "[Run]"},
		{"{{ lookup('host.name') }}", `[[ lookup("host.name") ]]`, `{{ lookup "host.name" }}`, "web1", "[Host]"},
		{"{{ lookup('groups.web.#') }}", `[[ lookup("groups.web.#") ]]`, `{{ lookup "groups.web.#" }}`, "2", "[Groups]"},
		{"{{ lookup('hosts.db2', 'none') }}", `[[ lookup("hosts.db2", "none") ]]`, `{{ .hosts.db2 | default "none" }}`, "none", "[Hosts]"},
		{"{{ lookup('data.users.#') }}", `[[ lookup("data.users.#") ]]`, `{{ lookup "data.users.#" }}`, "2", "[]"},
		{"{{ Data.name }}", "[[ data.name ]]", "{{ .data.name }}", "web", "[]"},
	}
}

// TestInventoryInEveryLanguage checks that each language sees the inventory, and builds only the parts that it names.
func TestInventoryInEveryLanguage(t *testing.T) {
	for _, c := range inventoryCases() {
		t.Run(c.expression, func(t *testing.T) {
			env, built := hostOfThree()
			text, err := templates.Parse(c.expression, templatetest.Manifest)
			require.NoError(t, err)
			got, err := text.String(t.Context(), env)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.Equal(t, c.built, fmt.Sprint(*built))

			env, built = hostOfThree()
			parsed, err := templates.ParseJet(c.jet, diag.WholeFile("motd.jet"), templates.Delims{}, nil)
			require.NoError(t, err)
			got, err = parsed.Render(t.Context(), env)
			require.NoError(t, err)
			require.Equal(t, c.want, trimmed(got))
			require.ElementsMatch(t, fieldsOf(c.built), *built)

			env, built = hostOfThree()
			got, err = templatetest.RenderGo(t, c.golang, env)
			require.NoError(t, err)
			require.Equal(t, c.want, trimmed(got))
			require.ElementsMatch(t, fieldsOf(c.built), *built)
		})
	}
}

func TestLookupOfSeveralRoots(t *testing.T) {
	env, built := hostOfThree()
	got, err := templatetest.Eval(t, "{{ lookup('{groups.web.#,data.port}') }}", env)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"_": int64(2), "port": int64(8080)}, got)
	require.Equal(t, []string{"Groups"}, *built)
}

// trimmed removes the separator that loops write after the last element.
func trimmed(s string) string { return strings.TrimRight(s, ", ") }

func fieldsOf(list string) []string { return strings.Fields(strings.Trim(list, "[]")) }

func TestInventoryErrors(t *testing.T) {
	env, _ := hostOfThree()
	for _, c := range []errorCase{
		{"{{ Host.nam }}", "site.yaml:7:20: missing key \"Host.nam\"\n  hint: did you mean \"name\"? if the key may be missing, write Host.nam ?? DEFAULT"},
		{"{{ Hosts.web3.ip }}", "site.yaml:7:21: missing key \"Hosts.web3\"\n  hint: did you mean \"web1\"? if the key may be missing, write Hosts.web3 ?? DEFAULT"},
		{"{{ Hosts['db1.example.com'].url ?? 'x' }}", "site.yaml:7:40: the variable \"url\" is odd\n  hint: write it"},
		{"{{ lookup('hosts.web1.nope') }}", "site.yaml:7:15: missing key \"hosts.web1.nope\"\n  hint: hosts.web1 has ip, port; if the key may be missing, write lookup(\"hosts.web1.nope\", DEFAULT)"},
		{"{{ toJSON(Hosts) }}", "site.yaml:7:15: the variable \"url\" is odd\n  hint: write it"},
		{"{{ Hosts }}", "site.yaml:7:15: the variable \"url\" is odd\n  hint: write it"},
		{"{{ lookup('hosts.*.port') }}", "site.yaml:7:15: the variable \"url\" is odd\n  hint: write it"},
		{"{{ jet('[[ range _, h := hosts ]][[ h.url ]][[ end ]]') }}", "site.yaml:7:48: the variable \"url\" is odd\n  hint: write it"},
		{"{{ Grops.web }}", "site.yaml:7:15: unknown name \"Grops\" in the expression \"Grops.web\"\n  hint: did you mean \"Groups\"?"},
	} {
		_, err := templatetest.Eval(t, c.source, env)
		require.EqualError(t, err, c.want, c.source)
	}
	_, err := templatetest.Eval(t, "{{ Groups.web }}", templatetest.Host(nil))
	require.EqualError(t, err, "site.yaml:7:15: \"Groups\" is not available here: no inventory\n  hint: available: Facts, Data, Environ")
	_, err = templatetest.RenderGo(t, "{{ .inventory_hostname }}", env)
	require.ErrorContains(t, err, "\n  hint: write .Host.name")
	_, err = templatetest.RenderGo(t, `{{ (index .hosts "db1.example.com").url }}`, env)
	require.ErrorContains(t, err, "the variable \"url\" is odd")
}

// TestInventoryIsInKeys checks that two hosts have different keys if they differ in the parts of the inventory that are
// read.
func TestInventoryIsInKeys(t *testing.T) {
	env, built := hostOfThree()
	other, _ := hostOfThree()
	same := templatetest.Host(nil)
	same.Inventory = env.Inventory
	for source, differ := range map[string]bool{
		"{{ Data.name }}": false, "{{ Host.groups }}": false, "{{ Host.vars.port }}": false,
		"{{ Groups.web }}": true, "{{ Hosts.web1 }}": true, "{{ Play.name }}": true, "{{ Run.id }}": true, // of another run or play
	} {
		text, err := templates.Parse(source, templatetest.Manifest)
		require.NoError(t, err)
		key := func(env *templates.Env) string {
			k, ok := text.Inputs(nil).Key(env)
			require.True(t, ok)
			return k
		}
		require.Equal(t, key(env), key(same), source)
		require.Equal(t, differ, key(env) != key(other), source)
	}
	require.Equal(t, []string{"Host"}, *built, "no key needs what all hosts share")
}
