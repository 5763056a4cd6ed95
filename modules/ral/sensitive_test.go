package ral

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// TestSensitiveAttributes: what nobody may see goes to standard input only.
func TestSensitiveAttributes(t *testing.T) {
	needs(t, "bash", "python3")
	const want = "the resource is sensitive, and provider conf::conf takes what it is given as arguments, where others could see it; only one with invoke: json takes it on standard input"
	dir := folder(t, nil)
	r := of(t, dir,
		`{"name":"x","type":"conf","properties":{"ensure":"present","text":"s3cret"}}`,
		`{"name":"x","type":"kv","properties":{"ensure":"present","value":"s3cret"}}`,
	)
	for i := range r.entries {
		r.entries[i].Sensitive = true
	}
	for _, r := range []run{r.checked(), r} {
		all := r.results(t)
		require.Equal(t, want, all[0].Error)
		require.Equal(t, wire.Changed, all[1].Status, all[1].Error)
	}
	require.NotContains(t, read(t, dir, "conf.calls"), "s3cret")
	require.NoFileExists(t, dir+"/conf/x")

	put(t, dir, map[string]string{"conf.yaml": "provider: {type: conf, invoke: simple, suitable: true, attributes: {name: , text: }}"})
	for properties, want := range map[string]string{`"provider":"conf::conf","properties":{"text":"s3cret"}`: want, `"provider":"kv::python","properties":{"value":"s3cret"}`: ""} {
		one := Type().New().(*Ral)
		require.NoError(t, json.Unmarshal([]byte(`{"name":"x",`+properties+`}`), one))
		one.Discreet()
		require.NoError(t, one.Prepare(t.Context(), source(dir)))
		if want == "" {
			require.NoError(t, one.Validate())
			continue
		}
		require.EqualError(t, one.Validate(), want)
	}
}
