package apply

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

var sum = strings.Repeat("0aF1", 16)

func TestDecode(t *testing.T) {
	const noArchive = "checksum: a checksum is for an archive (.tar.gz), not for other files"
	const pack = "name: the URL does not lead to a .tar.gz (pack the folder of the manifest: tar -C FOLDER -czf x.tar.gz .)"
	const need = `checksum: "checksum" is required for a manifest that is downloaded (write the output of sha256sum: the downloaded manifest runs on your hosts)`
	for _, c := range []struct{ name, properties, want string }{
		{"a file", `{"name":"web.yaml"}`, ""},
		{"a folder", `{"name":"../web","ensure":"present","data":{"a":[1,null]},"health_check_only":true,"allow_apply":false}`, ""},
		{"an archive", `{"name":"web.tar.gz"}`, ""},
		{"with a checksum", `{"name":"web.tgz","checksum":"` + sum + `"}`, ""},
		{"a URL", `{"name":"https://u:p@h/web.tgz?x=y#z","checksum":"` + sum + `"}`, ""},
		{"the case of the scheme", `{"name":"HTTP://h/web.tar.gz","checksum":"` + sum + `"}`, ""},
		{"no name", `{}`, "name is required"},
		{"absent", `{"name":"web.yaml","ensure":"absent"}`, `ensure: "absent" is not one of "present"`},
		{"NUL", `{"name":"a\u0000"}`, `name: "name" must not contain a NUL byte`},
		{"checksum of a file", `{"name":"web.yaml","checksum":"` + sum + `"}`, noArchive},
		{"no SHA-256", `{"name":"web.tgz","checksum":"abc"}`, `checksum: "abc" does not match ^[0-9a-fA-F]{64}$`},
		{"a URL without a checksum", `{"name":"https://u:hunter2@h/web.tgz"}`, need},
		{"a URL of a file", `{"name":"https://h/web.yaml?x=.tgz","checksum":"` + sum + `"}`, pack},
		{"a URL of nothing", `{"name":"https://h","checksum":"` + sum + `"}`, pack},
		{"another scheme", `{"name":"obj://BUCKET/web.tgz"}`, "name: the scheme of the URL is neither http nor https (write https://… or a path)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, err := modules.Registry{Type()}.Decode("apply", json.RawMessage(c.properties))
			if c.want == "" {
				require.NoError(t, err)
				require.Equal(t, "present", res.(*Apply).Ensure)
				return
			}
			var texts []string
			for _, pe := range modules.PropertyErrors(err) {
				texts = append(texts, strings.TrimPrefix(pe.Error(), "name: name is"))
			}
			require.Equal(t, strings.TrimPrefix(c.want, "name is"), strings.Join(texts, "\n"))
		})
	}
}

func TestNest(t *testing.T) {
	no, yes := false, true
	for _, c := range []struct {
		apply Apply
		want  modules.Nest
	}{
		{Apply{Name: "a"}, modules.Nest{Manifest: "a"}},
		{Apply{Name: "a", AllowApply: &yes}, modules.Nest{Manifest: "a"}},
		{
			Apply{Name: "a.tgz", Checksum: sum, Data: map[string]any{"x": 1}, HealthCheckOnly: true, AllowApply: &no},
			modules.Nest{Manifest: "a.tgz", Checksum: strings.ToLower(sum), Data: map[string]any{"x": 1}, Monitor: true, Deny: true},
		},
	} {
		require.Equal(t, c.want, c.apply.Nest())
	}
}

// TestNothingToDoHere holds that no host applies one.
func TestNothingToDoHere(t *testing.T) {
	const want = "a nested manifest works only inside a manifest, which the controller applies"
	_, err := new(Apply).Check(t.Context(), modules.Host{})
	require.EqualError(t, err, want)
	require.EqualError(t, new(Apply).Apply(t.Context(), modules.Host{}, modules.Plan{}), want)
}
