package diag

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLeftoverInJet(t *testing.T) {
	is := func(found, write string) string {
		return "ccm-push does not evaluate Jinja here: " + found + "; write [[ " + write + " ]]"
	}
	for text, want := range map[string]string{
		"a\n{% for x in sites %}":                        is("{% for x in sites %}", "range _, x := Data.sites"),
		"{%- for k, v in x.items() -%}":                  is("{%- for k, v in x.items() -%}", "range key, value := …"),
		"{% if port %}":                                  is("{% if port %}", "if Data.port"),
		"{% if ansible_os_family == 'Debian' %}":         is("{% if ansible_os_family == 'Debian' %}", "if …"),
		"{% elif a.b %}":                                 is("{% elif a.b %}", "else if Data.a.b"),
		"{% else %}":                                     is("{% else %}", "else"),
		"{% endfor %}":                                   is("{% endfor %}", "end"),
		"{% set x = 1 %}":                                is("{% set x = 1 %}", "x := 1"),
		"{{ port }}":                                     is("{{ port }}", "Data.port"),
		"{{ a.b['c'] }}":                                 is("{{ a.b['c'] }}", `Data.a.b["c"]`),
		"{{ inventory_hostname }}":                       is("{{ inventory_hostname }}", "Host.name"),
		"{{ hostvars[h].ip }}":                           is("{{ hostvars[h].ip }}", "Hosts[h].ip"),
		"{% for h in groups['db'] %}":                    is("{% for h in groups['db'] %}", `range _, h := Groups["db"]`),
		"{{ item.name }}":                                is("{{ item.name }}", "Item.name"),
		"{{ ansible_hostname }}":                         is("{{ ansible_hostname }}", "Facts.host.info.hostname"),
		"{{ port | default(80) }}":                       is("{{ port | default(80) }}", `lookup("data.x", "…")`),
		"{{ x | to_json }}":                              is("{{ x | to_json }}", "json(…)"),
		"[[ Data.x ]] {{ port }}":                        is("{{ port }}", "Data.port"),
		"[[ Data.x ]]":                                   "",
		"[[ `{% for x in y %} {{ port }}` ]]":            "",
		"{{ $labels.instance }} {{ .Values.x }}":         "",
		"{{ end }} {{ key \"a\" }} {{ printf \"a\" . }}": "",
		"${{ github.ref }} \\{{ x }}":                    "",
		"{* {% for x in y %} *}":                         "",
		"100{%} {%x%} {%s}":                              "",
		"{{- range .x }}":                                "",
	} {
		got := ""
		if l := JinjaInJet(text, "[[", "]]"); l != nil {
			got = l.String()
		}
		require.Equal(t, want, got, text)
	}
	l := JinjaInJet("a\n{{ x }}\n{% if x %}\n", "[[", "]]")
	require.Equal(t, JinjaLeftover{Offset: 2, Found: "{{ x }}", Write: "write [[ Data.x ]]", More: 1}, *l)
	require.Nil(t, JinjaInJet("{{ x }}", "{{", "}}"), "these are Jet's own there")
}
