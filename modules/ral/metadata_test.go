package ral

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseMetadata(t *testing.T) {
	text := `
provider:
  type: service
  invoke: simple
  actions: [list, find, update]
  suitable: {commands: [systemctl, not  initctl]}
  desc: |
    text
  attributes:
    name: {desc: the name}
    ensure: {type: "enum[running, stopped]"}
    enable: {type: "enum[true,false, mask]", kind: rw}
    log: {type: "array[string]", kind: r}
    force: {type: boolean, kind: w}
    other:
`
	doc, err := toJSON([]byte(text))
	require.NoError(t, err)
	m, err := parseMetadata(doc, "systemd")
	require.NoError(t, err)
	require.Equal(t, &metadata{
		Type: "service", Name: "systemd", Invoke: "simple", Desc: "text\n",
		Actions: []string{"list", "find", "update"}, Suitable: suitable{Commands: []string{"systemctl", "not initctl"}},
		Attributes: map[string]attribute{
			"name": {Desc: "the name"}, "ensure": {Type: typeEnum, Options: []string{"running", "stopped"}},
			"enable": {Type: typeEnum, Options: []string{"true", "false", "mask"}},
			"log":    {Type: typeArray, Kind: kindRead}, "force": {Type: typeBool, Kind: kindWrite}, "other": {},
		},
	}, m)
	require.Equal(t, "service::systemd", m.full())
	require.Equal(t, "enum[running, stopped]", m.Attributes["ensure"].spelt())
	require.Equal(t, "array[string]", m.Attributes["log"].spelt())
	require.Equal(t, "boolean", m.Attributes["force"].spelt())
	require.Equal(t, "string", m.Attributes["other"].spelt())
}

func TestBadMetadata(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "no map called provider"},
		{"[]", "it is a list, which it cannot be"},
		{"{provider: }", "no map called provider"},
		{"{provider: x}", "provider is a string, which it cannot be"},
		{"{provider: {invoke: json, suitable: true, attributes: {name: }}}", "provider.type is missing"},
		{"{provider: {type: a b, invoke: json, suitable: true, attributes: {name: }}}", `provider.type: "a b" has a character other than letters, digits, - and _`},
		{"{provider: {type: t, name: 'x::y', invoke: json, suitable: true, attributes: {name: }}}", `provider.name: "x::y" has a character other than letters, digits, - and _`},
		{"{provider: {type: t, suitable: true, attributes: {name: }}}", `provider.invoke: "" is not one of json, simple`},
		{"{provider: {type: t, invoke: mruby, suitable: true, attributes: {name: }}}", `provider.invoke: "mruby" is not one of json, simple`},
		{"{provider: {type: t, invoke: json, actions: [fly], suitable: true, attributes: {name: }}}", `provider.actions: unknown action "fly"`},
		{"{provider: {type: t, invoke: json, attributes: {name: }}}", "provider.suitable is missing"},
		{"{provider: {type: t, invoke: json, suitable: maybe, attributes: {name: }}}", "provider.suitable is neither true nor false nor {commands: [...]}"},
		{"{provider: {type: t, invoke: json, suitable: {command: [x]}, attributes: {name: }}}", "provider.suitable is neither true nor false nor {commands: [...]}"},
		{"{provider: {type: t, invoke: json, suitable: {commands: [a b]}, attributes: {name: }}}", `provider.suitable.commands: "a b" is not a valid command name`},
		{"{provider: {type: t, invoke: json, suitable: true}}", "provider.attributes has no name"},
		{"{provider: {type: t, invoke: json, suitable: true, attributes: {name: , a: {type: integer}}}}", `provider.attributes.a: type "integer" is not one of string, boolean, array[string], enum[...]`},
		{"{provider: {type: t, invoke: json, suitable: true, attributes: {name: , a: {type: 'enum[A]'}}}}", `provider.attributes.a: type "enum[A]": an option has only lower-case letters and digits, and at least one character`},
		{"{provider: {type: t, invoke: json, suitable: true, attributes: {name: , a: {type: 'enum[]'}}}}", `provider.attributes.a: type "enum[]": an option has only lower-case letters and digits, and at least one character`},
		{"{provider: {type: t, invoke: json, suitable: true, attributes: {name: , a: {kind: x}}}}", `provider.attributes.a: kind "x" is not one of r, w, rw`},
		{"{provider: {type: t, invoke: json, suitable: true, attributes: {name: , a: 1}}}", "provider.attributes.a: it is a number, which it cannot be"},
		{"{provider: {type: t, invoke: json, suitable: true, attributes: {name: , ral_x: }}}", "provider.attributes.ral_x: the name is reserved"},
		{"{provider: {type: t, invoke: json, suitable: true, attributes: {name: , ral: }}}", "provider.attributes.ral: the name is reserved"},
		{"{provider: {type: t, invoke: json, suitable: true, attributes: {name: , __x: }}}", "provider.attributes.__x: the name is reserved"},
		{"{provider: {type: t, invoke: json, suitable: true, attributes: {name: , 'a;b': }}}", "provider.attributes.a;b: the name has a character other than letters, digits, - and _"},
	} {
		t.Run(test.text, func(t *testing.T) {
			doc, err := toJSON([]byte(test.text))
			require.NoError(t, err)
			_, err = parseMetadata(doc, "x")
			require.EqualError(t, err, test.want)
		})
	}
}

// FuzzMetadata checks that accepted metadata survive the transfer, and that their attribute names can be arguments.
func FuzzMetadata(f *testing.F) {
	for _, seed := range []string{
		`{"provider":{"type":"t","invoke":"json","suitable":"true","attributes":{"name":null,"a":{"type":"enum[a, b]","kind":"r"}}}}`,
		`{"provider":{"type":"t","name":"n","invoke":"simple","suitable":{"commands":["a","not b"]},"attributes":{"name":{},"l":{"type":"array[string]"}},"actions":["get"]}}`,
		`{"provider":[]}`, `null`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := parseMetadata(text, "file")
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		wire, err := json.Marshal(m)
		require.NoError(t, err)
		var again metadata
		require.NoError(t, json.Unmarshal(wire, &again))
		second, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(wire), string(second))
		require.Contains(t, m.Attributes, "name")
		require.Regexp(t, providerName(), m.full())
		for name := range m.Attributes {
			require.Regexp(t, attributeName(), name)
		}
	})
}
