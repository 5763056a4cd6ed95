package load

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// load reads site.yaml from a folder with these files, and returns errors without the folder's path.
func load(t *testing.T, archive string) ([]*manifest.Play, string) {
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		path := filepath.Join(dir, f.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, f.Data, 0o644))
	}
	plays, err := Files(t.Context(), []string{filepath.Join(dir, "site.yaml")}, builtin.Types())
	if err != nil {
		return nil, strings.ReplaceAll(err.Error(), dir+"/", "")
	}
	return plays, ""
}

// TestGossfile has rules of goss in files that include others.
func TestGossfile(t *testing.T) {
	const site = "-- site.yaml --\nccm: {resources: [exec: [x: {health_checks: [{goss_rules: {gossfile: {%s}, service: {web: {running: true}}}}]}]]}\n"
	const rules = "-- goss/web.yaml --\nservice: {db: {running: true}}\nfile: {/a: {exists: true}}\ngossfile: {more/disk.yaml: {}, off: {file: none.yaml, skip: true}}\n" +
		"-- goss/more/disk.yaml --\nmount: {/: {usage: {lt: \"{{ Data.most ?? 90 }}\"}}}\n"
	for _, test := range []struct{ name, files, archive, want string }{
		{"three files", "goss/web.yaml: {}", rules, ""},
		{"by another name", "web: {file: goss/web.yaml}", rules, ""},
		{"a pattern", "'goss/*.yaml': {}, 'goss/off/*': {skip: true}", strings.Replace(rules, "more/disk.yaml: {}", "'[m]ore/*': {}", 1), ""},
		{"a pattern of folders", "'g*/web.yaml': {}", rules, ""},
		{"no match", "'goss/*.json': {}", rules, "site.yaml:1:71: no file matches \"goss/*.json\""},
		{"no pattern", "'goss/[a': {}", rules, "site.yaml:1:71: \"goss/[a\" is not a pattern of file names"},
		{"the same rule in two files", "'*/*.yaml': {}", "-- a/x.yaml --\nservice: {a: {running: false}}\n-- b/x.yaml --\nservice: {a: {running: false}}\n", "b/x.yaml:1:11: there are two rules for service \"a\"; the other one is at a/x.yaml:1:14"},
		{"a file called like a pattern", "'goss/[web].yaml': {}", strings.Replace(rules, "web.yaml", "[web].yaml", 1), ""},
		{"no file", "goss/none.yaml: {}", "", "site.yaml:1:71: cannot read goss/none.yaml: no such file"},
		{"the same rule twice", "goss/web.yaml: {}", "-- goss/web.yaml --\nservice: {web: {running: false}}\n", "goss/web.yaml:1:11: there are two rules for service \"web\"; the other one is at site.yaml:1:106"},
		{"a list", "a.yaml: {}", "-- a.yaml --\n- x\n", "a.yaml:1:1: a file of goss must be a map, not a list\n  hint: write rules: {service: {nginx: {running: true}}}"},
		{"rules that are wrong", "a.yaml: {}", "-- a.yaml --\nservices: {x: {running: true}}\n", "site.yaml:1:59: goss_rules: unknown kind of rules \"services\"\n  hint: known kinds: addr, command, dns, file, group, http, interface, kernel-param, matching, mount, package, port, process, service, user"},
		{"a circle", "a.yaml: {}", "-- a.yaml --\ngossfile: {a.yaml: {}}\n", "a.yaml:1:12: files of rules include each other more than 10 levels deep"},
		{"a name from a fact", "'{{ Facts.x }}': {}", "", "site.yaml:1:71: a gossfile cannot be an expression\n  hint: write a fixed value without an expression, because ccm-push reads this key before any host is known"},
	} {
		t.Run(test.name, func(t *testing.T) {
			plays, text := load(t, fmt.Sprintf(site, test.files)+test.archive)
			require.Equal(t, test.want, text)
			if test.want != "" {
				return
			}
			health := plays[0].Resources[0].Health
			n, err := health.Resolve(t.Context(), &templates.Env{Data: map[string]any{"most": 80}})
			require.NoError(t, err)
			checks, err := manifest.HealthChecks(n, false)
			require.NoError(t, err)
			require.JSONEq(t, `{"service":{"web":{"running":true},"db":{"running":true}},"file":{"/a":{"exists":true}},"mount":{"/":{"usage":{"lt":80}}}}`, string(checks[0].Rules))
		})
	}
}

const webManifest = `
-- web/manifest.yaml --
data: {port: 80}
ccm: {resources: [exec: ["echo {{ Data.port }}": ]]}
-- two.yaml --
- name: one
  hosts: db*
  tags: [a]
  ccm: {resources: [exec: [x: ]]}
- name: two
  ccm: {resources: [exec: [x: ]]}
`

func TestInclude(t *testing.T) {
	plays, text := load(t, `
-- site.yaml --
- include: two.yaml
  tags: [b]
- name: web tier
  hosts: web*
  become: true
  become_user: deploy
  serial: 2
  max_fail_percentage: 5
  data: {port: 8080}
  include: web/manifest.yaml
`+webManifest)
	require.Empty(t, text)
	require.Len(t, plays, 3)
	require.Equal(t, []string{"one", "two", "web tier"}, []string{plays[0].Name, plays[1].Name, plays[2].Name})
	require.Equal(t, []string{"db*", "all", "web*"}, []string{plays[0].HostPattern(), plays[1].HostPattern(), plays[2].HostPattern()})
	require.Equal(t, []string{"a", "b"}, plays[0].Tags)
	require.Equal(t, []string{"b"}, plays[1].Tags)
	web := plays[2]
	require.Equal(t, "web", filepath.Base(web.Folder), "its files are beside it")
	require.True(t, *web.Become)
	require.Equal(t, "deploy", web.BecomeUser)
	require.Equal(t, []manifest.BatchSize{{Count: 2}}, web.Serial)
	require.Equal(t, 5.0, *web.MaxFail)
	data, err := web.Data.Resolve(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"port": int64(80)}, data)
	over, err := web.Over[0].Resolve(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"port": int64(8080)}, over)
}

func TestVarsFiles(t *testing.T) {
	plays, text := load(t, `
-- site.yaml --
data: {a: 1, b: {x: 1}}
vars_files: [vars/one.yaml, vars/empty.yaml, vars/two.yaml]
ccm: {resources: [exec: [x: ]]}
-- vars/one.yaml --
b: {y: 2}
c: 3
-- vars/empty.yaml --
-- vars/two.yaml --
c: 4
`)
	require.Empty(t, text)
	data, err := plays[0].Data.Resolve(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"a": int64(1), "b": map[string]any{"y": int64(2)}, "c": int64(4)}, data)
}

func TestWrongFiles(t *testing.T) {
	for _, c := range []struct{ name, archive, want string }{
		{"itself", "-- site.yaml --\ninclude: ./site.yaml\n", "site.yaml:1:10: circular include: site.yaml → site.yaml"},
		{"a circle", "-- site.yaml --\n- include: a/b.yaml\n-- a/b.yaml --\ninclude: ../site.yaml\n",
			"a/b.yaml:1:10: circular include: site.yaml → a/b.yaml → site.yaml"},
		{"all errors of an included file", "-- site.yaml --\n- include: a.yaml\n- ccm: {resources: [exec: [x: {retruns: [1]}]]}\n-- a.yaml --\nnmae: x\nccm: {resources: []}\n",
			"a.yaml:1:1: unknown key \"nmae\" (did you mean \"name\"?)\na.yaml:2:18: manifest must contain resources\n" +
				"site.yaml:2:32: type exec has no property \"retruns\"\n  hint: did you mean \"returns\"?"},
		{"one error of a file that is included twice", "-- site.yaml --\n- include: a.yaml\n- include: a.yaml\n-- a.yaml --\nccm: {resources: []}\n", "a.yaml:1:18: manifest must contain resources"},
		{"a name for several plays", "-- site.yaml --\n- name: x\n  include: two.yaml\n" + webManifest,
			"site.yaml:1:9: one name is given for the 2 plays of two.yaml\n  hint: remove \"name\": each play has its own name"},
		{"an empty file", "-- site.yaml --\ninclude: a.yaml\n-- a.yaml --\n", "a.yaml: the file is empty"},
		{"vars that are a list", "-- site.yaml --\nvars_files: [a.yaml]\nccm: {resources: [exec: [x: ]]}\n-- a.yaml --\n- 1\n",
			"a.yaml:1:1: a file of \"vars_files\" must be a map, not a list\n  hint: write key: value"},
		{"vars in two documents", "-- site.yaml --\nvars_files: [a.yaml]\nccm: {resources: [exec: [x: ]]}\n-- a.yaml --\na: 1\n---\nb: 2\n",
			`a.yaml:3:1: a file of "vars_files" must contain one document`},
		{"vars that are no YAML", "-- site.yaml --\nvars_files: [a.yaml]\nccm: {resources: [exec: [x: ]]}\n-- a.yaml --\na: [\n",
			"a.yaml:1: did not find expected node content\n  hint: check the indentation of this line and the quotes and brackets before it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, text := load(t, c.archive)
			require.Equal(t, c.want, text)
		})
	}
}

func TestIncludesEnd(t *testing.T) {
	archive := "-- site.yaml --\ninclude: b.yaml\n"
	for c := 'b'; c < 'm'; c++ {
		archive += "-- " + string(c) + ".yaml --\ninclude: " + string(c+1) + ".yaml\n"
	}
	_, text := load(t, archive+"-- m.yaml --\n"+some)
	require.Equal(t, "k.yaml:1:10: manifests include each other more than 10 levels deep: "+
		"site.yaml → b.yaml → c.yaml → d.yaml → e.yaml → f.yaml → g.yaml → h.yaml → i.yaml → j.yaml → k.yaml → l.yaml", text)
}

func TestRegistering(t *testing.T) {
	plays, text := load(t, `
-- site.yaml --
- ccm:
    resources:
      - exec:
          - a: {register_when_stable: [{cluster: c, service: s, protocol: tcp, address: "{{ Facts.ip }}", port: "{{ Data.port }}", ttl: never, priority: 1}]}
          - b: {register_when_stable: [{cluster: c, service: s, protocol: tcp, address: "::1", priority: 1}]}
- include: a.yaml
-- a.yaml --
ccm: {resources: [exec: [a: {register_when_stable: [{cluster: c, service: s, protocol: tcp, address: 10.0.0.1, priority: 1}]}]]}
`)
	require.Empty(t, text)
	places := manifest.Registering(plays)
	require.Len(t, places, 2, "one of each file")
	for i, at := range []string{"site.yaml:4:39", "a.yaml:1:52"} {
		require.Equal(t, plays[0].Folder+"/"+at, places[i].Pos())
	}
}
