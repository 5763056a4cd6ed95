package templates_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

// TestFactFields reads facts by the names in CCM's expressions, which are the names of Go struct fields.
func TestFactFields(t *testing.T) {
	files := templatetest.Open(t, map[string]string{
		"a.jet": `[[ Facts.host.info.OS ]] [[ facts.host.info.PlatformVersion ]] [[ isset(facts.host.info.OS) ]] [[ isset(facts.host.info.Os) ]]` +
			`[[ range i, n := Facts.network.interfaces ]] [[ n.Name ]]=[[ n.MTU ]][[ end ]]`,
		"b.gotmpl": `{{ .Facts.host.info.OS }} {{ $.facts.host.info.PlatformVersion }} {{ .Facts.host.info.Nope | default .facts.host.info.OS }} {{ range .Facts.network.interfaces }}{{ $.Facts.host.info.OS }}{{ end }}`,
	})
	for source, want := range map[string]any{
		"{{ Facts.host.info.OS }}":                                       "linux",
		"{{ Facts['host'].info['PlatformVersion'] }}":                    "12.11",
		"{{ Facts.host.info?.OS }} {{ Facts.host.info.Nope ?? 'none' }}": "linux none",
		"{{ let i = Facts.host.info; i.OS }}":                            "linux",
		"{{ filter(Facts.network.interfaces, .Name == 'eth0')[0].MTU }}": 1500,
		"{{ lookup('facts.host.info.OS') }}":                             "linux",
		"{{ lookup('facts.network.interfaces.1.MTU') }}":                 1500,
		"{{ lookup('facts.network.interfaces.#.name') | join(' ') }}":    "lo eth0",
		"{{ keys(Facts.host.info) | join(' ') }}":                        "os platformVersion",
		"{{ jet('a.jet') }}":                                             "linux 12.11 true false lo=65536 eth0=1500",
		"{{ template('b.gotmpl') }}":                                     "linux 12.11 linux linuxlinux",
	} {
		t.Run(source, func(t *testing.T) {
			value, err := templatetest.Eval(t, source, templatetest.Host(files))
			require.NoError(t, err)
			require.EqualValues(t, want, value)
		})
	}
	// Facts that are not structs, and names in another case, do not work.
	for source, want := range map[string]string{
		"{{ Facts.host.info.Os }}":   "site.yaml:7:31: missing key \"Facts.host.info.Os\"\n  hint: did you mean \"os\"? if the key may be missing, write Facts.host.info.Os ?? DEFAULT",
		"{{ Facts.host.Info.OS }}":   "site.yaml:7:26: missing key \"Facts.host.Info\"\n  hint: did you mean \"info\"? if the key may be missing, write Facts.host.Info ?? DEFAULT",
		"{{ Facts.Host }}":           "site.yaml:7:21: missing key \"Facts.Host\"\n  hint: did you mean \"host\"? if the key may be missing, write Facts.Host ?? DEFAULT",
		"{{ Data.Name }}":            "site.yaml:7:20: missing key \"Data.Name\"\n  hint: did you mean \"name\"? if the key may be missing, write Data.Name ?? DEFAULT",
		"{{ lookup('data.Name') }}":  "",
		"{{ Data.users[0].Name }}":   "",
		"{{ Data.nested['Port'] }}":  "",
		"{{ Facts.host.info.NOPE }}": "",
	} {
		t.Run(source, func(t *testing.T) {
			_, err := templatetest.Eval(t, source, templatetest.Host(files))
			if want == "" {
				require.ErrorContains(t, err, "missing key")
				return
			}
			require.EqualError(t, err, want)
		})
	}
}

// TestFactFieldsOfCustomFacts checks that a custom fact with the name of a field is read instead of the field, also if
// hosts with equal inputs share rendered text.
func TestFactFieldsOfCustomFacts(t *testing.T) {
	text, err := templates.Parse("{{ Facts.host.info.OS }} {{ Facts.custom.role }}", templatetest.Manifest)
	require.NoError(t, err)
	paths, all := text.Facts(nil)
	require.Equal(t, []string{"custom.role", "host.info.OS"}, paths)
	require.False(t, all)
	env := func(info map[string]any) *templates.Env {
		return &templates.Env{Facts: map[string]any{"host": map[string]any{"info": info}, "custom": map[string]any{"role": "web"}}}
	}
	value, err := text.Eval(t.Context(), env(map[string]any{"os": "linux", "OS": "own"}))
	require.NoError(t, err)
	require.Equal(t, "own web", value)
	in := text.Inputs(nil)
	key := func(info map[string]any) string {
		k, ok := in.Key(env(info))
		require.True(t, ok)
		return k
	}
	base := key(map[string]any{"os": "linux", "uptime": int64(1)})
	require.Equal(t, base, key(map[string]any{"os": "linux", "uptime": int64(2)}))
	require.NotEqual(t, base, key(map[string]any{"os": "darwin", "uptime": int64(1)}))
	require.NotEqual(t, base, key(map[string]any{"os": "linux", "OS": "own", "uptime": int64(1)}))
	custom := env(nil)
	custom.Facts["custom"] = map[string]any{"Role": "web"}
	_, err = templates.ParseExpr("Facts.custom.Role", diag.WholeFile("x"))
	require.NoError(t, err)
	value, err = templatetest.Eval(t, "{{ Facts.custom.Role }}", custom)
	require.NoError(t, err)
	require.Equal(t, "web", value)
}
