package dsc

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
)

// manifestOf returns a manifest of DSC 3 whose get prints a state.
func manifestOf(typ, version, more, state string) string {
	return `{"$schema": "https://aka.ms/dsc/schemas/v3/bundled/resource/manifest.json", "type": "` + typ + `", "version": "` + version + `",` + more + `
		"get": {"executable": "printf", "args": ["%s", ` + state + `]}, "schema": {"embedded": {}}}`
}

// got returns the state of an instance.
func (b *bench) got(text string) (string, error) {
	b.Helper()
	d, err := b.prepared(text)
	if err != nil {
		return "", err
	}
	state, err := d.Query(b.Context(), b.checking(), "get")
	return string(state), err
}

// hosted writes manifests to a new folder, makes it the manifest search path of the host, and returns it.
func (b *bench) hosted(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	t.Setenv("DSC_RESOURCE_PATH", dir)
	return dir
}

// TestFind checks which manifest is selected, and the message if there is none.
func TestFind(t *testing.T) {
	for _, test := range []struct {
		name           string
		bundle, host   map[string]string
		instance, want string
		err            string
	}{
		{"in the folder, deep down", map[string]string{"a/b/x.dsc.resource.json": manifestOf("A/B", "1.0.0", "", `"{\"v\": 1}"`)}, nil, `"type": "A/B"`, `{"v":1}`, ""},
		{"YAML", map[string]string{"x.dsc.resource.yaml": "$schema: https://aka.ms/dsc/schemas/v3/resource/manifest.json\ntype: A/B\nversion: 1.0.0\nget: {executable: printf, args: ['{}']}\nschema: {embedded: {}}\n"}, nil, `"type": "A/B"`, `{}`, ""},
		{"case does not count", map[string]string{"X.DSC.Resource.JSON": manifestOf("A/B", "1.0.0", "", `"{}"`)}, nil, `"type": "a/b"`, `{}`, ""},
		{"the folder comes first", map[string]string{"x.dsc.resource.json": manifestOf("A/B", "1.0.0", "", `"{\"v\": 1}"`)}, map[string]string{"x.dsc.resource.json": manifestOf("A/B", "2.0.0", "", `"{\"v\": 2}"`)}, `"type": "A/B"`, `{"v":1}`, ""},
		{"on the host", nil, map[string]string{"x.dsc.resource.json": manifestOf("A/B", "2.0.0", "", `"{\"v\": 2}"`)}, `"type": "A/B"`, `{"v":2}`, ""},
		{"on the host, YAML", nil, map[string]string{"x.dsc.resource.yml": "$schema: https://aka.ms/dsc/schemas/v3/resource/manifest.json\ntype: A/B\nversion: 1.0.0\nget: {executable: printf, args: ['{}']}\nschema: {embedded: {}}\nexitCodes: {1: a}\n"}, `"type": "A/B"`, `{}`, ""},
		{"not deep down on the host", nil, map[string]string{"sub/x.dsc.resource.json": manifestOf("A/B", "2.0.0", "", `"{}"`)}, `"type": "A/B"`, "", "unknown DSC resource A/B; searched resources/ next to the manifest and $DIR"},
		{"the newest", map[string]string{"a.dsc.resource.json": manifestOf("A/B", "1.9.0", "", `"{\"v\": 1}"`), "b.dsc.resource.json": manifestOf("A/B", "1.10.0", "", `"{\"v\": 2}"`)}, nil, `"type": "A/B"`, `{"v":2}`, ""},
		{"the newest that will do", map[string]string{"a.dsc.resource.json": manifestOf("A/B", "1.9.0", "", `"{\"v\": 1}"`), "b.dsc.resource.json": manifestOf("A/B", "2.0.0", "", `"{\"v\": 2}"`)}, nil, `"type": "A/B", "version": "^1"`, `{"v":1}`, ""},
		{"one that the host has instead", map[string]string{"a.dsc.resource.json": manifestOf("A/B", "1.0.0", "", `"{}"`)}, map[string]string{"a.dsc.resource.json": manifestOf("A/B", "2.0.0", "", `"{\"v\": 2}"`)}, `"type": "A/B", "version": "2"`, `{"v":2}`, ""},
		{"no version will do", map[string]string{"a.dsc.resource.json": manifestOf("A/B", "1.0.0", "", `"{}"`)}, map[string]string{"a.dsc.resource.json": manifestOf("A/B", "2.0.0", "", `"{}"`)}, `"type": "A/B", "version": "^3"`, "", `unknown DSC resource A/B; version "^3" excludes the versions found: 1.0.0, 2.0.0`},
		{"a condition that is true", map[string]string{"a.dsc.resource.json": manifestOf("A/B", "2.0.0", `"condition": "[equals(tryWhich('no-such-program'), null())]",`, `"{\"v\": 2}"`)}, nil, `"type": "A/B"`, `{"v":2}`, ""},
		{"a condition that is false", map[string]string{
			"a.dsc.resource.json": manifestOf("A/B", "2.0.0", `"condition": "[equals(tryWhich('sh'), null())]",`, `"{\"v\": 2}"`),
			"b.dsc.resource.json": manifestOf("A/B", "1.0.0", "", `"{\"v\": 1}"`)}, nil, `"type": "A/B"`, `{"v":1}`, ""},
		{"a broken neighbour", nil, map[string]string{"a.dsc.resource.json": "{", "x.dsc.resource.json": manifestOf("A/B", "2.0.0", "", `"{}"`)}, `"type": "A/B"`, `{}`, ""},
		{"broken on the host", nil, map[string]string{"a.dsc.resource.json": manifestOf("A/B", "2.0.0", `"extra": 1,`, `"{}"`)}, `"type": "A/B"`, "", `unknown DSC resource A/B; found $DIR/a.dsc.resource.json, but: unknown field "extra"`},
		{"hopeless on the host", nil, map[string]string{"thing.dsc.resource.json": `{"type`}, `"type": "A/Thing"`, "", `unknown DSC resource A/Thing; found $DIR/thing.dsc.resource.json, but: the manifest: unexpected EOF`},
		{"broken in the folder", map[string]string{"a.dsc.resource.json": manifestOf("A/B", "2.0.0", `"extra": 1,`, `"{}"`)}, nil, `"type": "A/B"`, "", `type: type A/B cannot be used: resources/a.dsc.resource.json: unknown field "extra"`},
		{"hopeless in the folder", map[string]string{"a.dsc.resource.yaml": "type: A/B\nget: [\n"}, nil, `"type": "A/B"`, "", "type: type A/B cannot be used: resources/a.dsc.resource.yaml: yaml: line 2: did not find expected node content"},
		{"hopeless in one line", map[string]string{"z.dsc.resource.json": `{"schema": {"type": "object"}, "type": "A/B", "version": "1.0.0",`}, nil, `"type": "A/B"`, "", "type: type A/B cannot be used: resources/z.dsc.resource.json: the manifest: unexpected EOF"},
		{"nobody knows what it is", map[string]string{"z.dsc.resource.json": "{", "y.dscresource.json": `{"name": "A.B", "version": "1.0.0"}`}, nil, `"type": "A.B"`, "",
			`unknown DSC resource A.B; found resources/y.dscresource.json, but: "dscresource" is missing, the key that contains "name", "version" and "get"; found resources/z.dsc.resource.json, but: the manifest: unexpected EOF`},
		{"nowhere", nil, nil, `"type": "A/B"`, "", "unknown DSC resource A/B; searched resources/ next to the manifest and $DIR"},
		{"almost one of the folder", map[string]string{"a.dsc.resource.json": manifestOf("A/Note", "1.0.0", "", `"{}"`), "b.dsc.resource.json": manifestOf("A/Notes", "1.0.0", "", `"{}"`)}, nil, `"type": "a/nots"`, "",
			"unknown DSC resource a/nots (did you mean A/Note?); searched resources/ next to the manifest and $DIR"},
		{"almost one of the host", nil, map[string]string{"x.dsc.resource.json": manifestOf("A/Notes", "2.0.0", "", `"{}"`)}, `"type": "A/Nots"`, "",
			"unknown DSC resource A/Nots (did you mean A/Notes?); searched resources/ next to the manifest and $DIR"},
		{"almost one that needs no program", nil, nil, `"type": "Microsoft/OSInf"`, "",
			"unknown DSC resource Microsoft/OSInf (did you mean Microsoft/OSInfo?); searched resources/ next to the manifest and $DIR"},
		{"nothing like it", map[string]string{"a.dsc.resource.json": manifestOf("A/Note", "1.0.0", "", `"{}"`)}, nil, `"type": "A/Banner"`, "",
			"unknown DSC resource A/Banner; searched resources/ next to the manifest and $DIR"},
		{"alpha", map[string]string{"a.dsc.resource.json": `{"manifestVersion": "1.0", "type": "A/B", "version": "0.1.0", "get": {"executable": "cat"}}`}, nil, `"type": "A/B", "properties": {"a": 1.50}`, `{"a":1.50}`, ""},
		{"first design", map[string]string{"a.dscresource.json": `{"dscresource": {"name": "A.B", "version": "0.1.0", "get": {"executable": "printf", "args": ["{\"%s\": \"%s\"}"], "inputAsArgs": true}}}`}, nil, `"type": "A.B", "properties": {"a": "x"}`, `{"--a":"x"}`, ""},
		{"what it needs is missing", map[string]string{"a.dscresource.json": `{"dscresource": {"name": "A.B", "version": "0.1.0", "requires": [{"resource": "no-such-program", "resourceType": "executable"}], "get": {"executable": "true"}}}`}, nil, `"type": "A.B"`, "", "A.B needs the program no-such-program, which is not on the host"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			for name, text := range test.bundle {
				b.write(name, text)
			}
			dir := b.hosted(t, test.host)
			got, err := b.got(`{"name": "x", ` + test.instance + `}`)
			if test.err != "" {
				require.EqualError(t, err, filepathed(test.err, dir))
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

func filepathed(text, dir string) string { return os.Expand(text, func(string) string { return dir }) }

// TestSearchPath checks that DSC_RESTRICTED_PATH is the only search path for both, and DSC_RESOURCE_PATH one for
// manifests.
func TestSearchPath(t *testing.T) {
	usual := append(strings.Split(modules.DefaultPath, ":"), "/opt/x")
	t.Setenv("DSC_RESTRICTED_PATH", "")
	t.Setenv("DSC_RESOURCE_PATH", "")
	t.Setenv("PATH", "/usr/bin:relative:/opt/x::/bin")
	require.Equal(t, usual, programPath())
	require.Contains(t, manifestPath(), "/opt/x")
	t.Setenv("DSC_RESOURCE_PATH", "/a:/b/../c:b:/a")
	require.Equal(t, []string{"/a", "/c"}, manifestPath())
	require.Equal(t, usual, programPath())
	t.Setenv("DSC_RESTRICTED_PATH", "/r")
	require.Equal(t, []string{"/r"}, manifestPath())
	require.Equal(t, []string{"/r"}, programPath())
}

// TestAdapters checks resources that an adapter runs, described by a manifest, or by the adapter's list.
func TestAdapters(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	adapter := `{"$schema": "https://aka.ms/dsc/schemas/v3/bundled/resource/manifest.json", "type": "Test/Adapter", "version": "1.0.0", "kind": "adapter",
		"adapter": {"inputKind": "single", "list": {"executable": "printf", "args": ["%s\n%s\n", "{\"type\": \"Py/Listed\", \"kind\": \"resource\", \"version\": \"0.3.0\", \"capabilities\": [\"get\"], \"path\": \"/somewhere\", \"directory\": \"/\"}", "{\"kind\": \"resource\"}"]}},
		` + thing("get", `{"resourceTypeArg": "--type"}, {"resourcePathArg": "--path"}, {"adaptedContentArg": "--content"}`, "") + `,
		` + thing("set", `{"adaptedContentArg": "--content"}`, `, "return": "state"`) + `}`
	adapted := `{"$schema": "https://aka.ms/dsc/schemas/v3/bundled/adaptedresource/manifest.json", "type": "Py/Class", "kind": "resource", "version": "0.2.0",
		"capabilities": ["get", "set"], "requireAdapter": "Test/Adapter", "path": "class.py", "content": {"name": "content"},
		"schema": {"embedded": {"type": "object", "properties": {"size": {"type": "integer"}}}}}`
	b := newBench(t)
	b.write("adapter.dsc.resource.json", adapter)
	b.write("class.dsc.adaptedResource.json", adapted)
	require.NoError(t, b.run(b.instance("Py/Class", `{"file": "$ROOT/kept", "size": 1}`)))
	require.Equal(t, `{"size": 1, "name": "content"}`, b.kept("kept"))
	require.NoError(t, b.run(b.instance("Py/Class", `{"file": "$ROOT/kept", "size": 1}`)))

	_, err := b.prepared(`{"name": "x", "type": "Py/Class", "properties": {"size": "x"}}`)
	require.EqualError(t, err, "properties.size: properties.size must be integer, not string")
	plan, err := b.check(b.instance("Py/Class", `{"file": "$ROOT/new", "_exist": false}`))
	require.NoError(t, err)
	require.False(t, plan.Pending())
	_, err = b.check(b.instance("Test/Adapter", `{}`))
	require.EqualError(t, err, "Test/Adapter is an adapter, which runs resources and is not a resource itself")

	_, err = b.check(b.instance("Py/Listed", `{"file": "$ROOT/new"}`))
	require.EqualError(t, err, "Py/Listed is not in the desired state: _exist is false, not true; and it has no set", "its capabilities have none")
	_, err = b.got(`{"name": "x", "type": "Py/Listed", "adapter": "Other/Adapter"}`)
	require.ErrorContains(t, err, "unknown DSC resource Py/Listed")

	require.NoError(t, os.Remove(filepath.Join(b.resources, "adapter.dsc.resource.json")))
	_, err = b.check(b.instance("Py/Class", `{}`))
	require.EqualError(t, err, "Py/Class ("+b.resources+"/class.dsc.adaptedResource.json) needs the adapter Test/Adapter, which is not found")
	b.write("adapter.dsc.resource.json", strings.ReplaceAll(adapter, `"inputKind": "single"`, `"inputKind": "full"`))
	_, err = b.check(b.instance("Py/Class", `{}`))
	require.EqualError(t, err, `the adapter Test/Adapter has the inputKind "full"; only "single" is supported`)
}

// TestReadOnce checks that the controller reads a manifest of the host once for any number of instances, since the
// number of reads for one host is limited.
func TestReadOnce(t *testing.T) {
	b := newBench(t)
	b.hosted(t, map[string]string{
		"x.dsc.resource.yaml": "$schema: https://aka.ms/dsc/schemas/v3/resource/manifest.json\ntype: A/B\nversion: 1.0.0\nget: {executable: printf, args: ['{}']}\nschema: {embedded: {}}\n",
		"y.dsc.resource.yaml": "a: [",
	})
	read := 0
	h := b.checking()
	h.YAML = func(_ context.Context, text string) (json.RawMessage, error) {
		read++
		return yamlJSON([]byte(text))
	}
	types := modules.Registry{Type()}
	for _, name := range []string{"dsc", "A/B", "A/B"} {
		d, err := types.Decode(name, []byte(`{"name": "x", "type": "A/B"}`))
		require.NoError(t, err)
		_, err = d.(*DSC).Query(t.Context(), h, "get")
		require.NoError(t, err)
	}
	require.Equal(t, 2, read)
}

// TestSafe checks that root ignores paths that others can change.
func TestSafe(t *testing.T) {
	h := newBench(t).host()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o777))
	inside := filepath.Join(dir, "a")
	require.NoError(t, os.Mkdir(inside, 0o700))
	paths := []string{"/usr/bin", "/no/such", dir, inside, "/etc"}

	kept, unsafe := safe(h, 1000, paths)
	require.Equal(t, paths, kept)
	require.Empty(t, unsafe)
	kept, unsafe = safe(h, 0, paths)
	require.Equal(t, []string{"/usr/bin", "/etc"}, kept)
	require.Len(t, unsafe, 2)
}

// TestRootRunsNothingOfOthers checks manifests that others can change, and directories of PATH and of manifests to
// which others can add some.
func TestRootRunsNothingOfOthers(t *testing.T) {
	needs.Root(t, "others than root may trust whom they like")
	manifest := manifestOf("A/B", "1.0.0", "", `"{}"`)
	t.Run("a manifest", func(t *testing.T) {
		b := newBench(t)
		dir := b.hosted(t, map[string]string{"a.dsc.resource.json": manifest})
		require.NoError(t, os.Chown(filepath.Join(dir, "a.dsc.resource.json"), 1000, 0))
		_, err := b.got(`{"name": "x", "type": "A/B"}`)
		require.EqualError(t, err, strings.ReplaceAll("unknown DSC resource A/B; found $DIR/a.dsc.resource.json, but: user 1000 can change $DIR/a.dsc.resource.json", "$DIR", dir))
	})
	t.Run("a directory", func(t *testing.T) {
		b := newBench(t)
		dir := b.hosted(t, map[string]string{"a.dsc.resource.json": manifest})
		require.NoError(t, os.Chmod(dir, 0o1777))
		_, err := b.got(`{"name": "x", "type": "A/B"}`)
		require.EqualError(t, err, "unknown DSC resource A/B; searched resources/ next to the manifest; did not look where others can put something: everybody can change "+dir)
	})
	t.Run("a program", func(t *testing.T) {
		b := newBench(t)
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "of-others"), []byte("#!/bin/sh\necho '{}'\n"), 0o755))
		t.Setenv("PATH", dir)
		b.write("a.dsc.resource.json", strings.Replace(manifest, "printf", "of-others", 1))
		got, err := b.got(`{"name": "x", "type": "A/B"}`)
		require.NoError(t, err)
		require.Equal(t, "{}", got)
		require.NoError(t, os.Chown(dir, 1000, 0))
		_, err = b.got(`{"name": "x", "type": "A/B"}`)
		require.EqualError(t, err, `the operation "get" of A/B: "of-others" is not found in `+modules.DefaultPath+":"+b.resources)
	})
}
