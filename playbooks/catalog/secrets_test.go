package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/secret"
	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/render"
)

// TestSecretsAreFollowed checks which resources are found to read a secret, and which not.
func TestSecretsAreFollowed(t *testing.T) {
	c := compiler(t, `
data:
  key: !secret hunter2-hunter2
  db: {host: db1, password: !secret hunter3-hunter3}
  users: [{name: anna, key: !secret hunter4-hunter4}]
  port: 80
  url: "http://user:{{ Data.db.password }}@{{ Data.db.host }}"
  list: ["{{ Data.url }}", "{{ Data.port }}"]
  far: {a: "{{ Data.list[0] }}", b: "{{ Data.port }}"}
ccm:
  resources:
    - exec:
        - plain: {command: "echo {{ Data.port }} {{ Data.db.host }}"}
        - data on data: {command: "echo {{ Data.far.b }}"}
        - made of a secret: {command: "echo {{ Data.far.a }}"}
        - host: {command: "echo {{ Host.vars.token }}"}
        - its name: {command: "echo {{ Host.name }}"}
        - hosts: {command: "echo {{ toJSON(Hosts) }}"}
        - path: {command: "echo {{ Data.db.password }}"}
        - map: {command: "echo {{ toJSON(Data.db) }}"}
        - lookup: {command: "echo {{ lookup('data.key') }}"}
        - computed: {command: "echo {{ Data['ke' + 'y'] }}"}
        - all: {command: "echo {{ toJSON(Data) }}"}
        - jet: {command: "echo {{ jet('[[ Data.key ]]') }}"}
        - file: {command: "echo {{ jet('a.jet') }}"}
        - go: {command: "echo {{ template('b.gotmpl') }}"}
        - "item {{ Item.name }}": {each: "{{ Data.users }}", command: "echo {{ Item.key }}"}
        - "named {{ Item.name }}": {each: "{{ Data.users }}", command: "echo {{ Item.name }}"}
        - given by the inventory: {command: "echo {{ Data.token }}"}
        - chosen: {control: {if: "Data.key != ''"}, command: echo}
        - checked: {command: echo, health_checks: [{command: "echo {{ Data.key }}"}]}
    - scaffold:
        - /srv/tree: {source: tree, engine: jet}
`, map[string]string{
		"a.jet": "[[ include \"c.jet\" ]]", "c.jet": "[[ Data.db.password ]]", "b.gotmpl": "{{ .Data.key }}", "tree/f": "[[ Data.key ]]",
	}, Options{InventorySecrets: true, Inventory: func(host string) *templates.Inventory {
		vars := map[string]any{"name": host, "vars": map[string]any{"token": "hunter5-hunter5"}}
		lazy := render.NewLazy(func() map[string]any { return vars })
		return &templates.Inventory{Host: lazy, Hosts: lazy}
	}})
	vars, err := yamlpos.Parse("all.yaml", []byte("token: !secret hunter5-hunter5\n"), yamlpos.Secrets())
	require.NoError(t, err)
	compiled, err := c.Compile(t.Context(), Host{Name: "web1", Facts: map[string]any{}, Vars: map[string]any{"token": "hunter5-hunter5"}, Secrets: vars})
	require.NoError(t, err)
	plain := []string{}
	for _, e := range compiled.Catalog.Entries {
		if !e.Sensitive {
			plain = append(plain, e.Name)
		}
	}
	require.Equal(t, []string{"plain", "data on data", "its name", "named anna", "chosen"}, plain)
	for _, text := range []string{"hunter2-hunter2", "hunter3-hunter3", "hunter4-hunter4", "hunter5-hunter5"} {
		require.Equal(t, secret.Shown, c.opts.Mask.Text(text))
	}
}

// TestGeneratedSecrets has a template write resources.
func TestGeneratedSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"- exec: [{a: {command: \"echo [[ Data.key ]]\"}}]": "",
		"- exec: [{\"[[ Data.key ]]\": {}}]":                "r.jet (rendered):1: the name, or another printed part of the resource, contains a secret",
	} {
		c := compiler(t, "data: {key: !secret hunter2-hunter2}\nccm: {resources_jet_file: r.jet}\n", map[string]string{"r.jet": text}, Options{})
		compiled, err := c.Compile(t.Context(), Host{Name: "web1", Facts: map[string]any{}})
		if want != "" {
			require.ErrorContains(t, err, want)
			require.NotContains(t, err.Error(), "hunter2")
			continue
		}
		require.NoError(t, err)
		require.True(t, compiled.Catalog.Entries[0].Sensitive)
	}
}

// TestErrorsHideShortSecrets has an expression quote a secret that is too short to be searched
// for in what programs print.
func TestErrorsHideShortSecrets(t *testing.T) {
	c := compiler(t, `data: {key: !secret "zq(9"}
ccm: {resources: [exec: [a: {command: "echo {{ file(Data.key) }}"}, b: {command: "true", control: {if: "file(Data.key) == ''"}}]]}
`, nil, Options{})
	_, err := c.Compile(t.Context(), Host{Name: "web1", Facts: map[string]any{}})
	require.ErrorContains(t, err, "site.yaml:2:48: this value is invalid; the details are hidden because they may contain a secret")
	require.ErrorContains(t, err, "site.yaml:2:105: this value is invalid")
	require.NotContains(t, err.Error(), "zq(9")
}

// TestSecretsInVariables follows secrets through variables that are made of others.
func TestSecretsInVariables(t *testing.T) {
	docs, err := yamlpos.Parse("hosts.yaml", []byte("token: !secret '{{ hunter2 }}'\nurl: 'http://{{ token | lower }}'\nother: \"{{ hostvars['web2'].own }}\"\nport: 80\nplain: '{{ port }}'\n"), yamlpos.Secrets())
	require.NoError(t, err)
	c := compiler(t, `data: {far: "{{ Data.url }}/x"}
ccm: {resources: [exec: [a: {command: "echo {{ Data.url }}"}, b: {command: "echo {{ Data.far }}"}, c: {command: "echo {{ Data.plain }}"}, d: {command: "echo {{ Data.other }}"}]]}
`, nil, Options{Variables: templates.ParseVariables(docs), InventorySecrets: true, Inventory: func(string) *templates.Inventory {
		return &templates.Inventory{Hosts: render.NewLazy(func() map[string]any { return map[string]any{"web2": map[string]any{"own": "hunter3"}} })}
	}})
	compiled, err := c.Compile(t.Context(), Host{Name: "web1", Facts: map[string]any{}, Secrets: docs, Layers: []templates.Layer{{Name: "group all", Node: docs[0], Values: docs[0].Any().(map[string]any)}}})
	require.NoError(t, err)
	var sensitive []string
	for _, e := range compiled.Catalog.Entries {
		if e.Sensitive {
			sensitive = append(sensitive, e.Name)
		}
	}
	require.Equal(t, []string{"a", "b", "d"}, sensitive)
	require.Contains(t, string(compiled.Catalog.Entries[0].Properties), "http://{{ hunter2 }}", "a secret is not evaluated")
}
