package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/inventory/ansible"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// ansibleTypes are the literals of testdata/ansible/types.yaml, and what Ansible
// has read for each.
func ansibleTypes(t *testing.T) (literals *yamlpos.Node, read map[string]json.RawMessage) {
	t.Helper()
	file := filepath.Join("testdata/ansible/types.yaml")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	documents, err := yamlpos.Parse(file, text)
	require.NoError(t, err)
	recorded, err := txtar.ParseFile("testdata/ansible/recorded.txtar")
	require.NoError(t, err)
	for _, f := range recorded.Files {
		if f.Name == "ansible-inventory -i types.yaml --host t" {
			return documents[0].Get("all").Get("hosts").Get("t"), pythonObject(t, string(f.Data))
		}
	}
	require.Fail(t, "there is no record of types.yaml")
	return nil, nil
}

func TestYAMLAsAnsible(t *testing.T) {
	literals, read := ansibleTypes(t)
	require.Greater(t, len(literals.Pairs), 130)
	for _, p := range literals.Pairs {
		kind, value := ansible.YAML(p.Value.Text)
		if kind == ansible.YAMLDate { // which JSON has as text
			require.Equal(t, byte('"'), read[p.Key.Text][0], p.Value.Text)
			continue
		}
		require.Equal(t, string(read[p.Key.Text]), value, "%s: %s (%s)", p.Key.Text, p.Value.Text, kind)
	}
}

// TestTypesAsAnsible checks that Ansible and ccm-push read values differently only where lint reports it.
func TestTypesAsAnsible(t *testing.T) {
	literals, read := ansibleTypes(t)
	t.Chdir("testdata/ansible")
	ours, _, err := execute(t, nil, "-i", "types.yaml", "inventory", "--host", "t")
	require.NoError(t, err)
	found, _, err := execute(t, nil, "-i", "types.yaml", "inventory", "lint", "--output", "json")
	require.Equal(t, exit.Usage, exitCode(err, new(bytes.Buffer)))
	values := pythonObject(t, ours)
	different := 0
	for _, p := range literals.Pairs {
		text := p.Value.Text
		notJSON := slices.Contains([]string{"Infinity", "-Infinity", "NaN"}, strings.Trim(string(values[p.Key.Text]), `"`))
		if string(values[p.Key.Text]) == string(read[p.Key.Text]) || notJSON {
			continue
		}
		different++
		require.Contains(t, found, fmt.Sprintf(`"line":%d,"column":%d,"text":%q`, p.Value.Line, p.Value.Column, text), text)
	}
	require.Greater(t, different, 35)
}

var notInJSON = regexp.MustCompile(`(?m)(: )(-?Infinity|NaN)(,?)$`)

// pythonObject reads an object as Python writes it: with the floats that JSON has
// not.
func pythonObject(t *testing.T, text string) map[string]json.RawMessage {
	t.Helper()
	var object map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(notInJSON.ReplaceAllString(text, `$1"$2"$3`)), &object))
	for key, value := range object {
		switch string(value) {
		case `"Infinity"`, `"-Infinity"`, `"NaN"`:
			object[key] = value[1 : len(value)-1]
		}
	}
	return object
}
