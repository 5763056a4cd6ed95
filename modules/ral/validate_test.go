package ral

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/process"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// TestValidate refuses on the controller, before any host is touched.
func TestValidate(t *testing.T) {
	dir := folder(t, map[string]string{
		"s.prov": "#!/bin/sh\n", "s.yaml": "provider: {type: s, invoke: simple, suitable: true, attributes: {name: , a: , l: {type: 'array[string]'}}}",
		"providers/o.prov": "#!/bin/sh\n", "providers/o.yaml": "provider: {type: both, invoke: json, suitable: true, attributes: {name: , a: }}",
		"p.prov": "#!/bin/sh\n", "p.yaml": "provider: {type: both, invoke: json, suitable: true, attributes: {name: , b: }}",
	})
	put(t, dir, map[string]string{"conf.yaml": "provider: {type: conf, invoke: simple, suitable: true, attributes: {name: }}", "canned.yaml": "provider: {type: c, invoke: simple, suitable: true, attributes: {name: }}"})
	for _, test := range []struct {
		properties string
		want       []string // path: message (hint)
	}{
		{`"type":"kv","properties":{"ensure":"present","value":8080,"on":true,"tags":["a",1],"level":"low","token":"x"}`, nil},
		{`"type":"kv","properties":{"value":null}`, nil},
		{`"provider":"python"`, nil},
		{`"provider":"kv::python"`, nil},
		{`"type":"elsewhere","properties":{"any":["x"]}`, nil},
		{`"type":"both","properties":{"b":1}`, nil},

		{`"properties":{}`, []string{`type: neither "type" nor "provider" is given (write type: service, or provider: service::systemd)`}},
		{`"type":"a/b"`, []string{`type: "a/b" is not the name of a type: letters, digits, - and _`}},
		{`"provider":"a::b::c"`, []string{`provider: "a::b::c" is not the name of a provider (write systemd or service::systemd)`}},
		{`"type":"kv","provider":"other::python"`, []string{`provider: provider "other::python" is not of type "kv"`}},
		{`"type":"kv","timeout":"soon"`, []string{`timeout: invalid duration "soon" (write a number and a unit, such as 30s, 5m or 2h)`}},
		{`"type":"kv","timeout":"-1s"`, []string{`timeout: invalid duration "-1s" (write a number and a unit, such as 30s, 5m or 2h)`}},
		{`"type":"kv","properties":{"value":{"a":1}}`, []string{"properties.value: a map is not a value that libral knows"}},
		{`"type":"kv","properties":{"tags":[["a"]]}`, []string{"properties.tags[0]: a list is not an element that libral knows"}},
		{`"type":"kv","properties":{"valu":"x","name":"y"}`, []string{
			"properties.name: the name of the resource is its key",
			`properties.valu: provider kv::python has no attribute "valu" (known attributes: ensure, level, on, tags, token, value)`,
		}},
		{`"type":"kv","properties":{"size":"1"}`, []string{`properties.size: provider kv::python reports "size" and cannot set it`}},
		{`"type":"kv","properties":{"level":"mid"}`, []string{`properties.level: "mid" is not one of low, high (the type of this attribute is enum[low, high])`}},
		{`"type":"kv","properties":{"on":"true"}`, []string{`properties.on: "true" is not true or false (the type of this attribute is boolean)`}},
		{`"type":"kv","properties":{"tags":"a"}`, []string{`properties.tags: "a" is not a list (the type of this attribute is array[string])`}},
		{`"type":"kv","properties":{"value":["a"]}`, []string{`properties.value: a list is not a single value (the type of this attribute is string)`}},
		{`"type":"both","properties":{"c":1}`, []string{`properties.c: provider both::p has no attribute "c" (known attributes: b)`}},
		{`"type":"s","properties":{"a":"x\ny"}`, []string{`properties.a: the value "x\ny" has a line break, which this provider cannot read (its metadata has invoke: simple)`}},
		{`"type":"s","properties":{"a":null}`, []string{"properties.a: the value null cannot be written in the simple convention"}},
		{`"type":"s","properties":{"l":["x,y"]}`, []string{`properties.l: the value "x,y" cannot be an element of a list in the simple convention`}},
	} {
		t.Run(test.properties, func(t *testing.T) {
			r := Type().New().(*Ral)
			require.NoError(t, json.Unmarshal([]byte(`{"name":"n",`+test.properties+`}`), r))
			require.NoError(t, r.Prepare(t.Context(), source(dir)))
			var got []string
			for _, e := range modules.PropertyErrors(r.Validate()) {
				got = append(got, e.Error())
			}
			require.Equal(t, test.want, got)
			if test.want == nil {
				wired(t, Type(), r)
			}
		})
	}
	r := &Ral{Name: "a\nb", TypeName: "s"}
	require.NoError(t, r.Prepare(t.Context(), source(dir)))
	require.EqualError(t, r.Validate(), `name: the name "a\nb" has a line break, which this provider cannot read (its metadata has invoke: simple)`)
	r = &Ral{Name: "a\x00b", TypeName: "kv"}
	require.EqualError(t, r.Validate(), `name: the name must not contain a NUL byte`)
}

// TestHostHoldsToMetadata checks that the host refuses, before any call of the provider, properties that the controller
// could not check.
func TestHostHoldsToMetadata(t *testing.T) {
	dir := canned(t, "", map[string]string{"get": there})
	r := &Ral{Name: "n", TypeName: "thing", Properties: map[string]any{"x": "s3cret", "b": "s3cret"}}
	_, err := r.Check(t.Context(), modules.ReadOnly(hostWith(dir)))
	require.EqualError(t, err, `properties.b: "s3cret" is not true or false (the type of this attribute is boolean); properties.x: provider thing::canned has no attribute "x" (known attributes: a, b, ensure, l, w)`)
	require.Equal(t, "the properties are not what provider thing::canned takes", err.(modules.Redactor).Redacted())
	require.Empty(t, read(t, dir, "canned.log"))
}

// TestBadMetadataOfThePlay checks that an error in metadata is reported with its file, to resources that may match the
// provider as far as its name and its words show.
func TestBadMetadataOfThePlay(t *testing.T) {
	const noInvoke, noYAML = `resources/x.yaml: provider.invoke: "" is not one of json, simple`, "resources/x.yaml: yaml: line 3: did not find expected node content"
	described := "provider: {type: t, suitable: true, attributes: {name: , b: {type: boolean}}}"
	broken := "provider:\n  type: t\n  suitable: [{\n"
	for _, test := range []struct {
		text, typ, provider string
		want                string // the error
		ignored             bool   // listed with other unused providers
	}{
		{described, "t", "", noInvoke, false},
		{described, "", "x", noInvoke, false},
		{described, "", "t", noInvoke, false}, // one word may be either
		{described, "", "t::x", noInvoke, false},
		{described, "t", "x", noInvoke, false},
		{described, "kv", "", "", false},
		{described, "elsewhere", "", "", true},
		{described, "", "y", "", true},
		{described, "", "t::y", "", true},
		{described, "", "u::x", "", true},
		{described, "", everyProvider, "", true},
		{described + "\nname: y", "", "t::y", noInvoke, false},
		{broken, "t", "", noYAML, false},
		{broken, "kv", "", "", false},
		{"{", "elsewhere", "", "resources/x.yaml: yaml: line 1: did not find expected node content", false},
		{"{", "", "y", "", true},
		{strings.Repeat("#", modules.MaxParse+1), "kv", "", "resources/x.yaml: it has more than 256 KiB", false},
	} {
		dir := folder(t, map[string]string{"x.prov": "#!/bin/sh\n", "x.yaml": test.text})
		r := &Ral{Name: "n", TypeName: test.typ, Provider: test.provider}
		if err := r.Prepare(t.Context(), source(dir)); test.want != "" {
			require.EqualError(t, err, test.want, "%+v", test)
		} else {
			require.NoError(t, err, "%+v", test)
		}
		require.Equal(t, test.ignored, len(r.Play.Lost) > 0, "%+v", test)
	}

	dir := folder(t, map[string]string{"x.prov": "#!/bin/sh\n", "x.yaml": described})
	require.Contains(t, brief(one(t, dir, `{"name":"n","type":"elsewhere"}`)),
		`failed: no provider of type "elsewhere"; known: kv::python (resources/kv.prov), conf::conf (resources/conf.prov); ignored: `+noInvoke)
}

// TestSensitive checks that messages of a provider are withheld.
func TestSensitive(t *testing.T) {
	dir := canned(t, "", map[string]string{"get": `{"error":{"message":"s3cret","kind":"forbidden"}}`})
	r := of(t, dir, `{"name":"n","type":"thing","properties":{"a":"s3cret"}}`)
	r.entries[0].Sensitive = true
	got := r.results(t)[0]
	require.Equal(t, `provider thing::canned: forbidden; use "become"`, got.Error)
	text, err := json.Marshal(got)
	require.NoError(t, err)
	require.NotContains(t, string(text), "s3cret")
}

// TestSensitiveIsAlone checks a provider that prints its input: its messages about a sensitive resource are not among
// the messages of others.
func TestSensitiveIsAlone(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	loud := "#!/usr/bin/env python3\nimport json, sys\nq = sys.stdin.read()\nprint(q, file=sys.stderr)\n" +
		"names = json.loads(q).get('names')\nprint(json.dumps({'resources': [{'name': n, 'a': 's3cret-' + n} for n in names]} if names is not None else {'error': {'message': q}}))\n"
	dir := folder(t, map[string]string{"loud.prov": loud, "loud.yaml": "provider: {type: loud, invoke: json, suitable: true, attributes: {name: , a: }}"})
	for _, check := range []bool{true, false} {
		r := of(t, dir,
			`{"name":"x","type":"loud","properties":{"a":"open"}}`,
			`{"name":"private","type":"loud","properties":{"a":"s3cret"}}`,
			`{"name":"y","type":"loud","properties":{"a":"open"}}`,
			`{"name":"private2","type":"loud","properties":{"a":"s3cret"}}`,
		)
		r.check = check
		r.entries[1].Sensitive, r.entries[3].Sensitive = true, true
		all := r.results(t)
		for _, i := range []int{0, 2} {
			require.NotContains(t, brief(all[i]), "private")
			require.NotContains(t, strings.ReplaceAll(brief(all[i]), "s3cret-"+r.entries[i].Name, ""), "s3cret")
		}
		require.Contains(t, brief(all[0]), "warning: {", "it does say something")
		for _, i := range []int{1, 3} {
			text, err := json.Marshal(all[i])
			require.NoError(t, err)
			require.NotContains(t, string(text), "s3cret")
		}
	}
}

// TestFolderIsReadOnce checks that resources of many hosts with the same providers read the folder once.
func TestFolderIsReadOnce(t *testing.T) {
	src := source(folder(t, nil))
	known := map[string]any{}
	src.Memo = func(key string, make func() any) any {
		if known[key] == nil {
			known[key] = make()
		}
		return known[key]
	}
	read, yaml := 0, src.YAML
	src.YAML = func(text []byte) (json.RawMessage, error) {
		read++
		return yaml(text)
	}
	var first int
	for i := range 3 {
		r := &Ral{Name: "n", TypeName: "t"}
		require.NoError(t, r.Prepare(t.Context(), src))
		if i == 0 {
			first = read
		}
	}
	require.Positive(t, first)
	require.Equal(t, first, read)
}

// TestNumbersKeepTheirDigits checks that a number of a manifest keeps the text in which it was written.
func TestNumbersKeepTheirDigits(t *testing.T) {
	const yaml = "name: n\ntype: elsewhere\nproperties: {version: 1.10, list: [2.0, 1e3], big: 18446744073709551617, n: 7, text: \"0.50\", on: true, none: null}\n"
	docs, err := yamlpos.Parse("site.yaml", []byte(yaml))
	require.NoError(t, err)
	r := Type().New().(*Ral)
	require.NoError(t, yamlpos.Decode(docs[0], r))
	require.NoError(t, r.Prepare(t.Context(), source(folder(t, nil))))
	require.NoError(t, r.Validate())
	want := process.Properties{"version": "1.10", "list": []any{"2.0", "1e3"}, "big": "18446744073709551617", "n": "7", "text": "0.50", "on": true, "none": nil}
	require.Equal(t, want, r.Properties)
	require.Equal(t, want, wired(t, Type(), r).Properties)

	// A value from another resource reaches the host as JSON.
	received, err := modules.Registry{Type()}.Decode("ral", []byte(`{"name":"n","type":"elsewhere","properties":{"version":1.10}}`))
	require.NoError(t, err)
	text, ok := scalar(received.(*Ral).Properties["version"])
	require.True(t, ok)
	require.Equal(t, "1.10", text)
}

// TestSensitiveAttributes checks that secrets are only passed on standard input.
func TestSensitiveAttributes(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "bash", "python3")
	const want = "provider conf::conf passes the values of a sensitive resource as command arguments, which other users can read; use a provider whose metadata has invoke: json"
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
		one.Inform(modules.Circumstances{Sensitive: true})
		require.NoError(t, one.Prepare(t.Context(), source(dir)))
		if want == "" {
			require.NoError(t, one.Validate())
			continue
		}
		require.EqualError(t, one.Validate(), want)
	}
}
