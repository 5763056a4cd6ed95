package manifest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	schemaA = `"$schema": "https://aka.ms/dsc/schemas/v3/bundled/resource/manifest.json"`
	headA   = schemaA + `, "type": "Test/Thing", "version": "1.2.3"`
)

func TestIsFile(t *testing.T) {
	for name, want := range map[string][2]bool{
		"a.dsc.resource.json":         {true, false},
		"a.DSC.Resource.JSON":         {true, false},
		"a.dsc.resource.yaml":         {true, true},
		"a.dsc.resource.yml":          {true, true},
		"a.dsc.manifests.json":        {true, false},
		"a.dsc.adaptedResource.yaml":  {true, true},
		"command.dscresource.json":    {true, false},
		"command.dscresource.yaml":    {false, false},
		"a.dsc.extension.json":        {false, false},
		"a.resource.json":             {false, false},
		"a.dsc.resource.json.bak":     {false, false},
		"resources/a.dsc.resource.sh": {false, false},
	} {
		is, yaml := IsFile(name)
		require.Equal(t, want, [2]bool{is, yaml}, name)
	}
}

// TestEveryField reads every field of the current dialect.
func TestEveryField(t *testing.T) {
	all, rejected := Parse("x.dsc.resource.json", json.RawMessage("\xef\xbb\xbf"+`{`+headA+`,
		"kind": "resource", "condition": "[true()]", "description": "d", "tags": ["a"], "metadata": {"b": 1}, "deprecationMessage": "use Y",
		"get": {"executable": "x", "args": ["get", {"jsonInputArg": "--in", "mandatory": true}, {"resourceTypeArg": "-t"},
			{"resourceVersionArg": "-v"}, {"resourcePathArg": "-p", "includeQuotes": true}, {"adaptedContentArg": "-c"}], "requireSecurityContext": "elevated"},
		"set": {"executable": "x", "args": [{"whatIfArg": "-w"}], "input": "stdin", "implementsPretest": true, "handlesExist": true, "return": "state", "whatIfReturns": "stateAndDiff"},
		"test": {"executable": "x", "input": "env", "return": "stateAndDiff"},
		"delete": {"executable": "x", "input": "stdin"},
		"export": {"executable": "x", "supportsFiltering": false, "schema": {"embedded": {"type": "object"}}},
		"validate": {"executable": "x", "input": "stdin"},
		"resolve": {"executable": "x", "input": "stdin"},
		"whatIf": {"executable": "x", "input": "stdin", "return": "state"},
		"schema": {"command": {"executable": "y", "args": ["schema", {"resourceTypeArg": "-t"}]}},
		"adapter": {"list": {"executable": "z", "args": ["list"]}, "config": "single"},
		"exitCodes": {"0": "Success", "-1": "odd"}}`))
	require.Empty(t, rejected)
	require.Equal(t, []*Manifest{{
		Dialect: Current, Type: "Test/Thing", Version: "1.2.3", Kind: KindResource, Condition: "[true()]", Deprecation: "use Y", CaseSensitive: true,
		Get: &Operation{Executable: "x", Security: SecurityElevated, Args: []Arg{
			{Text: "get"}, {Kind: JSONInput, Text: "--in", Mandatory: true}, {Kind: ResourceType, Text: "-t"},
			{Kind: ResourceVersion, Text: "-v"}, {Kind: ResourcePath, Text: "-p", Quotes: true}, {Kind: AdaptedContent, Text: "-c"}}},
		Set: &Operation{Executable: "x", Args: []Arg{{Kind: WhatIf, Text: "-w"}}, Input: InputStdin, ImplementsPretest: true, HandlesExist: true,
			Return: ReturnState, WhatIfReturns: ReturnStateAndDiff},
		Test:      &Operation{Executable: "x", Input: InputEnv, Return: ReturnStateAndDiff},
		Delete:    &Operation{Executable: "x", Input: InputStdin},
		Export:    &Operation{Executable: "x", NoFiltering: true, FilterSchema: &Schema{Embedded: json.RawMessage(`{"type": "object"}`)}},
		Validate:  &Operation{Executable: "x", Input: InputStdin},
		Resolve:   &Operation{Executable: "x", Input: InputStdin},
		WhatIf:    &Operation{Executable: "x", Input: InputStdin, Return: ReturnState},
		Schema:    &Schema{Command: &Operation{Executable: "y", Args: []Arg{{Text: "schema"}, {Kind: ResourceType, Text: "-t"}}}},
		Adapter:   &Adapter{List: &Operation{Executable: "z", Args: []Arg{{Text: "list"}}}, InputKind: "single"},
		ExitCodes: map[string]string{"0": "Success", "-1": "odd"},
	}}, all)
}

func TestAlpha(t *testing.T) {
	all, rejected := Parse("x.dsc.resource.json", json.RawMessage(`{"manifestVersion": "1.0", "type": "Toy.Example/toy", "version": "0.1.0",
		"get": {"executable": "toy", "args": ["get"]},
		"set": {"executable": "toy", "input": "stdin", "preTest": true, "return": "state", "old": 1},
		"schema": {"embedded": {}}, "provider": {}}`))
	require.Empty(t, rejected)
	require.Equal(t, []*Manifest{{
		Dialect: Alpha, Type: "Toy.Example/toy", Version: "0.1.0", Kind: KindResource, CaseSensitive: true,
		Get:      &Operation{Executable: "toy", Args: []Arg{{Text: "get"}}, Input: InputStdin},
		Set:      &Operation{Executable: "toy", Input: InputStdin, ImplementsPretest: true, Return: ReturnState},
		Schema:   &Schema{Embedded: json.RawMessage(`{}`)},
		Warnings: []string{`unknown field "provider"`, `unknown field "old" in set`},
	}}, all)
}

func TestFirstDesign(t *testing.T) {
	all, rejected := Parse("mycommand.dscresource.json", json.RawMessage(`{"manifestVersion": "1.0", "dscresource": {
		"name": "Microsoft.DSC.MyResource", "version": "0.0.1-preview",
		"get": {"executable": "mycommand", "args": ["getconfig"], "inputViaStdin": true},
		"set": {"executable": "mycommand", "args": ["setconfig"], "inputAsArgs": true, "returnState": true},
		"test": {"caseSensitive": true},
		"requires": [{"resource": "perl", "resourceType": "executable", "version": "1.2.3"}],
		"exitCodes": {"1": "Access Denied"}, "schema": "https://example.com/schema.json"}}`))
	require.Empty(t, rejected)
	require.Equal(t, []*Manifest{{
		Dialect: First, Type: "Microsoft.DSC.MyResource", Version: "0.0.1-preview", Kind: KindResource, CaseSensitive: true,
		Get:       &Operation{Executable: "mycommand", Args: []Arg{{Text: "getconfig"}}, Input: InputStdin},
		Set:       &Operation{Executable: "mycommand", Args: []Arg{{Text: "setconfig"}}, Input: InputArgs, Return: ReturnState, HandlesExist: true},
		Requires:  []Requirement{{"perl", "executable", "1.2.3"}},
		ExitCodes: map[string]string{"1": "Access Denied"},
	}}, all)
	require.True(t, all[0].Is("microsoft.dsc.myresource"))
	require.True(t, all[0].Is("Microsoft.DSC/MyResource"))
	require.False(t, all[0].Is("Microsoft/DSC.MyResource"))
}

func TestLists(t *testing.T) {
	all, rejected := Parse("many.dsc.manifests.json", json.RawMessage(`{"resources": [{`+headA+`}, {`+schemaA+`, "type": "Test/Bad", "version": "1.0.0", "extra": 1}],
		"adaptedResources": [{"$schema": "https://aka.ms/dsc/schemas/v3/bundled/adaptedresource/manifest.json", "type": "Py/Class", "kind": "resource", "version": "0.1.0",
			"capabilities": ["get", "set"], "requireAdapter": "Test/Adapter", "path": "class.py", "content": {"a": 1}, "schema": {"embedded": {}}}], "extensions": []}`))
	require.Len(t, all, 2)
	require.Equal(t, "Py/Class", all[0].Type)
	require.Equal(t, "Test/Adapter", all[0].RequireAdapter)
	require.Equal(t, []string{"get", "set"}, all[0].Capabilities)
	require.JSONEq(t, `{"a": 1}`, string(all[0].Content))
	require.Empty(t, all[0].Warnings)
	require.Equal(t, "Test/Thing", all[1].Type)
	require.Len(t, rejected, 1)
	require.Equal(t, "Test/Bad", rejected[0].Type)
	require.EqualError(t, rejected[0].Err, `unknown field "extra"`)
}

func TestRejected(t *testing.T) {
	for _, test := range []struct{ name, file, doc, want string }{
		{"no JSON", "", `{`, "the manifest: unexpected EOF"},
		{"two values", "", `{} {}`, "the manifest: more than one JSON value"},
		{"no object", "", `[]`, "the manifest must be an object"},
		{"null", "", `null`, "the manifest must be an object"},
		{"no dialect", "", `{"type": "A/B"}`, "it has neither $schema nor manifestVersion"},
		{"no dialect, by a name of the first", "x.dscresource.json", `{"name": "A.B"}`, `"dscresource" is missing, the key that contains "name", "version" and "get"`},
		{"unknown field", "", headA + `, "manifestVersion": "1.0"`, `unknown field "manifestVersion"`},
		{"case counts", "", headA + `, "Get": {}`, `unknown field "Get"`},
		{"no type", "", schemaA + `, "version": "1.0.0"`, "it has no type"},
		{"bad type", "", schemaA + `, "type": "Thing", "version": "1.0.0"`, `type is "Thing", which is not of the form Owner/Thing`},
		{"type with dots at the end", "", schemaA + `, "type": "A/B.C", "version": "1.0.0"`, `type is "A/B.C", which is not of the form Owner/Thing`},
		{"type is a number", "", schemaA + `, "type": 1`, `"type" must be a text`},
		{"no version", "", schemaA + `, "type": "A/B"`, "it has no version"},
		{"bad version", "", schemaA + `, "type": "A/B", "version": "1.0"`, `version is "1.0", which is not a semantic version`},
		{"bad kind", "", headA + `, "kind": "thing"`, `kind is "thing", which is not one of resource, adapter, group, importer, exporter`},
		{"operation is a text", "", headA + `, "get": "x"`, `"get" must be an object`},
		{"no executable", "", headA + `, "get": {}`, `"get" has no "executable"`},
		{"bad input", "", headA + `, "get": {"executable": "x", "input": "file"}`, `input in get is "file", which is not one of stdin, env`},
		{"bad security", "", headA + `, "get": {"executable": "x", "requireSecurityContext": "root"}`, `requireSecurityContext in get is "root", which is not one of current, elevated, restricted`},
		{"bad return", "", headA + `, "set": {"executable": "x", "return": "diff"}`, `return in set is "diff", which is not one of state, stateAndDiff`},
		{"args is a text", "", headA + `, "get": {"executable": "x", "args": "y"}`, `"args" in get must be a list`},
		{"arg is a number", "", headA + `, "get": {"executable": "x", "args": [1]}`, `args[0] in get: an argument is a text or an object such as {"jsonInputArg": "--input"}, not 1`},
		{"arg is unknown", "", headA + `, "get": {"executable": "x", "args": [{"other": "y"}]}`, `args[0] in get: an argument is a text or an object such as {"jsonInputArg": "--input"}, not {"other": "y"}`},
		{"arg is two", "", headA + `, "get": {"executable": "x", "args": [{"jsonInputArg": "a", "resourceTypeArg": "b"}]}`, `args[0] in get: an argument has both "jsonInputArg" and "resourceTypeArg"`},
		{"mandatory is a text", "", headA + `, "get": {"executable": "x", "args": [{"jsonInputArg": "a", "mandatory": "yes"}]}`, `args[0] in get: "mandatory" must be true or false, not "yes"`},
		{"whatIfArg in get", "", headA + `, "get": {"executable": "x", "args": [{"whatIfArg": "a"}]}`, `args[0] in get: "whatIfArg" has no meaning in "get"`},
		{"input of a schema", "", headA + `, "schema": {"command": {"executable": "x", "args": [{"jsonInputArg": "a"}]}}`, `args[0] in schema.command: "jsonInputArg" has no meaning in "schema"`},
		{"empty option", "", headA + `, "get": {"executable": "x", "args": [{"jsonInputArg": ""}]}`, `args[0] in get: an argument of "get" has an empty "jsonInputArg"`},
		{"NUL", "", headA + `, "get": {"executable": "x", "args": ["\u0000"]}`, `args[0] in get: an argument of "get" contains a NUL byte`},
		{"two schemas", "", headA + `, "schema": {"embedded": {}, "command": {"executable": "x"}}`, "schema must have either embedded or command"},
		{"no schema", "", headA + `, "schema": {}`, "schema must have either embedded or command"},
		{"exit code", "", headA + `, "exitCodes": {"1x": "a"}`, `exitCodes has "1x", which is not a number`},
		{"exit codes are texts", "", headA + `, "exitCodes": {"1": 2}`, `"exitCodes" must be an object of texts`},
		{"adapter without inputKind", "", headA + `, "adapter": {"list": {"executable": "x"}}`, `"adapter" has no "inputKind"`},
		{"adapter of another kind", "", headA + `, "adapter": {"inputKind": "double"}`, `inputKind in adapter is "double", which is not one of full, sequence, single`},
		{"adapted by nobody", "x.dsc.adaptedResource.json", `"$schema": "https://aka.ms/dsc/schemas/v3/adaptedresource/manifest.json", "type": "A/B", "version": "1.0.0"`, `requireAdapter is "", which is not a type such as Owner/Thing`},
		{"gRPC", "x.dscresource.json", `"dscresource": {"name": "A.B", "version": "1.0.0", "get": {"host": "h"}}`, "get is for a program that is called over gRPC, which is not supported"},
		{"PowerShell", "x.dscresource.json", `"dscresource": {"name": "A.B", "version": "1.0.0", "get": {"executable": "pwsh", "type": "powershellscript"}}`, "get is a powershellscript, which is not supported: only executables are"},
		{"both inputs", "x.dscresource.json", `"dscresource": {"name": "A.B", "version": "1.0.0", "get": {"executable": "x", "inputViaStdin": true, "inputAsArgs": true}}`, `"get" has both "inputViaStdin" and "inputAsArgs"`},
		{"requires what", "x.dscresource.json", `"dscresource": {"name": "A.B", "version": "1.0.0", "requires": [{"resource": "x", "resourceType": "library"}]}`, `requires names a "library", which is neither executable nor OS`},
		{"another name", "x.json", `{}`, "the name of the file is not one of a manifest"},
		{"too large", "", `{"a": "` + strings.Repeat("x", MaxSize) + `"}`, "it is larger than 256 KiB"},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := test.file
			if file == "" {
				file = "x.dsc.resource.json"
			}
			doc := test.doc
			if strings.HasPrefix(doc, `"`) {
				doc = "{" + doc + "}"
			}
			all, rejected := Parse(file, json.RawMessage(doc))
			require.Empty(t, all)
			require.Len(t, rejected, 1)
			require.EqualError(t, rejected[0].Err, test.want)
		})
	}
}

func TestWarnings(t *testing.T) {
	all, _ := Parse("x.dsc.resource.json", json.RawMessage(`{"$schema": "https://example.com/x", "type": "A/B", "version": "2024-02-01"}`))
	require.Equal(t, []string{
		`$schema is "https://example.com/x", which is not the schema of a DSC manifest`,
		"version is the date 2024-02-01; use a semantic version, which shows what kind of change it is",
	}, all[0].Warnings)
}

// TestUnknownWithin checks that unknown nested fields do not make a resource unusable, as in DSC itself.
func TestUnknownWithin(t *testing.T) {
	for _, test := range []struct{ name, doc, want string }{
		{"of another operation", `"export": {"executable": "x", "return": "state"}`, `unknown field "return" in export`},
		{"of another dialect", `"set": {"executable": "x", "preTest": true}`, `unknown field "preTest" in set`},
		{"of an argument", `"get": {"executable": "x", "args": ["a", {"resourceTypeArg": "a", "mandatory": true}]}`, `unknown field "mandatory" in args[1] in get`},
		{"beside a schema", `"schema": {"embedded": {}, "version": 1}`, `unknown field "version" in schema`},
		{"of the command of a schema", `"schema": {"command": {"executable": "x", "input": "stdin"}}`, `unknown field "input" in schema.command`},
		{"of a filter", `"export": {"executable": "x", "schema": {"embedded": {}, "version": 1}}`, `unknown field "version" in schema`},
		{"of an adapter", `"adapter": {"inputKind": "single", "list": {"executable": "x", "input": "stdin"}, "own": 1}`, `unknown field "own" in adapter, unknown field "input" in adapter.list`},
	} {
		t.Run(test.name, func(t *testing.T) {
			all, rejected := Parse("x.dsc.resource.json", json.RawMessage(`{`+headA+`, `+test.doc+`}`))
			require.Empty(t, rejected)
			require.Equal(t, test.want, strings.Join(all[0].Warnings, ", "))
			for _, o := range []*Operation{all[0].Get, all[0].Set, all[0].Export} {
				require.True(t, o == nil || o.Return == "" && !o.ImplementsPretest)
			}
		})
	}
}

// TestSchemaOfAdapted checks that the schema of an adapted resource may be written without a wrapper.
func TestSchemaOfAdapted(t *testing.T) {
	const head = `{"$schema": "https://aka.ms/dsc/schemas/v3/bundled/adaptedresource/manifest.json", "type": "A/B", "version": "1.0.0", "requireAdapter": "C/D", "path": "x", "schema": `
	for doc, want := range map[string]string{
		`{"embedded": {"type": "object"}}`:            `{"type": "object"}`,
		`{"type": "object", "$id": "x"}`:              `{"type": "object", "$id": "x"}`,
		`{"properties": {"embedded": {"type": "x"}}}`: `{"properties": {"embedded": {"type": "x"}}}`,
		`{}`:                              `{}`,
		`{"embedded": {}, "command": {}}`: `"schema" has no "executable"`,
		`{"command": {"executable": "x"}, "other": 1}`: "",
		`[]`: `"schema" must be an object`,
	} {
		all, rejected := Parse("x.dsc.adaptedResource.json", json.RawMessage(head+doc+`}`))
		if len(rejected) > 0 {
			require.EqualError(t, rejected[0].Err, want, doc)
			continue
		}
		require.Equal(t, want, string(all[0].Schema.Embedded), doc)
	}
	_, rejected := Parse("x.dsc.resource.json", json.RawMessage(`{`+headA+`, "schema": {"type": "object"}}`))
	require.EqualError(t, rejected[0].Err, "schema must have either embedded or command")
}

// FuzzParse checks that every accepted manifest survives the transfer to a host.
func FuzzParse(f *testing.F) {
	f.Add("x.dsc.resource.json", []byte(`{`+headA+`, "get": {"executable": "x", "args": ["a", {"jsonInputArg": "b", "mandatory": true}]}}`))
	f.Add("x.dsc.resource.json", []byte(`{"manifestVersion": "1.0", "type": "A/B", "version": "1.0.0", "set": {"executable": "x", "preTest": true}}`))
	f.Add("x.dscresource.json", []byte(`{"dscresource": {"name": "A.B", "version": "1.0.0", "get": {"executable": "x", "inputAsArgs": true}}}`))
	f.Add("x.dsc.manifests.json", []byte(`{"resources": [{`+headA+`}], "adaptedResources": [{"requireAdapter": "A/B"}]}`))
	f.Add("x.dsc.adaptedResource.json", []byte(`{"$schema": "x", "type": "A/B", "version": "1.0.0", "requireAdapter": "C/D", "content": [1]}`))
	f.Fuzz(func(t *testing.T, name string, doc []byte) {
		all, rejected := Parse(name, doc)
		for _, r := range rejected {
			require.Error(t, r.Err)
		}
		for _, m := range all {
			require.NoError(t, m.check())
			wire, err := json.Marshal(m)
			require.NoError(t, err)
			var again Manifest
			require.NoError(t, json.Unmarshal(wire, &again))
			second, err := json.Marshal(&again)
			require.NoError(t, err)
			require.JSONEq(t, string(wire), string(second))
		}
	})
}
