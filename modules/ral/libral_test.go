package ral

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
)

// libral returns a folder with providers that behave like libral's own.
func libral(t *testing.T) string {
	t.Helper()
	dir := realDir(t)
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/libral")))
	for _, name := range []string{"apt.prov", "systemd.prov"} {
		require.NoError(t, os.Chmod(filepath.Join(dir, name), 0o755))
	}
	return dir
}

// TestPackageApt reads packages of this machine.
func TestPackageApt(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "bash", "dpkg-query", "apt-cache")
	dir := libral(t)
	version, err := exec.CommandContext(t.Context(), "dpkg-query", "-W", "-f", "${Version}", "bash").Output()
	require.NoError(t, err)
	for _, test := range []struct{ name, ensure, want string }{
		{"bash", "present", "stable"},
		{"bash", "installed", "stable"},
		{"no-such-package", "absent", "stable"},
		{"no-such-package", "present", `failed: provider package::apt: no resource "no-such-package", and none can be made [unknown]`},
		{"bash", "absent", "failed: provider package::apt: update ended with exit code 1: not implemented [failed]\n  ensure: " + string(version) + " -> absent"},
		{"bash", "5.2", `failed: properties.ensure: "5.2" is not one of present, installed, absent, purged, latest (the type of this attribute is enum[present, installed, absent, purged, latest]) [failed]`},
	} {
		t.Run(test.name+" "+test.ensure, func(t *testing.T) {
			require.Equal(t, test.want, brief(one(t, dir, `{"name":"`+test.name+`","type":"package","properties":{"ensure":"`+test.ensure+`"}}`)))
		})
	}
}

// ask runs a query of a resource.
func ask(t *testing.T, dir, properties, query string) (string, error) {
	t.Helper()
	r := prepared(t, Type(), dir, properties)
	text, err := r.Query(t.Context(), modules.ReadOnly(hostWith(dir)), query)
	return string(text), err
}

func TestQuery(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3", "bash", "perl")
	dir := folder(t, map[string]string{"store.json": `{"a":{"value":"x","on":true},"b":{}}`, "conf/c": "1", "canned.yaml": "provider: {type: thing, invoke: json, suitable: {commands: [mruby-not-here]}, attributes: {name: }}"})
	require.Equal(t, []string{"get", "list", "providers"}, new(Ral).Queries())

	got, err := ask(t, dir, `{"name":"a","type":"kv"}`, "get")
	require.NoError(t, err)
	require.JSONEq(t, `{"resource":{"name":"a","ensure":"present","value":"x","on":true,"size":"1","ral":{"type":"kv","provider":"kv::python"}}}`, got)
	got, err = ask(t, dir, `{"name":"*","type":"kv"}`, "list")
	require.NoError(t, err)
	require.JSONEq(t, `{"resources":[
		{"name":"a","ensure":"present","value":"x","on":true,"size":"1","ral":{"type":"kv","provider":"kv::python"}},
		{"name":"b","ensure":"present","size":"0","ral":{"type":"kv","provider":"kv::python"}}]}`, got)
	got, err = ask(t, dir, `{"name":"*","provider":"conf::conf"}`, "list")
	require.NoError(t, err)
	require.JSONEq(t, `{"resources":[{"name":"c","ensure":"present","text":"1","flags":[],"ral":{"type":"conf","provider":"conf::conf"}}]}`, got)
	_, err = ask(t, dir, `{"name":"never","provider":"conf"}`, "get")
	require.EqualError(t, err, `provider conf::conf: no resource "never", and none can be made`)

	got, err = ask(t, dir, `{"name":"*","provider":"*"}`, "providers")
	require.NoError(t, err)
	var doc struct {
		Providers []struct {
			Name, Type, Source, Desc string
			Suitable                 bool
			Attributes               map[string]map[string]string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(got), &doc))
	var lines []string
	for _, p := range doc.Providers {
		if strings.HasPrefix(p.Source, "resources/") {
			lines = append(lines, p.Name+" "+p.Source+" "+p.Type, map[bool]string{true: "suitable", false: "unsuitable"}[p.Suitable])
		}
	}
	require.Equal(t, []string{
		"thing::canned resources/canned.prov thing", "unsuitable", "kv::python resources/kv.prov kv", "suitable", "conf::conf resources/conf.prov conf", "suitable",
	}, lines)
	require.Equal(t, map[string]string{"type": "enum[low, high]", "kind": "rw", "desc": ""}, doc.Providers[1].Attributes["level"])
}
