package load

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// parse reads a manifest that is called site.yaml.
func parse(text string) ([]*manifest.Play, error) {
	return Parse(context.Background(), "site.yaml", []byte(text), builtin.Types())
}

// wrongPlays have an error outside the resources.
var wrongPlays = []struct{ name, manifest, want string }{
	{"empty", "", "site.yaml: the file is empty"},
	{"empty document", "---\n", "site.yaml: the file is empty"},
	{"scalar", "hello", "site.yaml:1:1: this is not a manifest\n  hint: a manifest is a map with a section \"ccm\", or a list of plays"},
	{"list of scalars", "[a]", "site.yaml:1:2: this is not a play\n  hint: a play is a map: - hosts: ..."},
	{"no ccm", "name: x\n", "site.yaml:1:1: the section \"ccm\" is missing\n  hint: a play needs ccm: {resources: [...]}"},
	{"null ccm", "ccm:\n", "site.yaml:1:1: the section \"ccm\" is missing\n  hint: a play needs ccm: {resources: [...]}"},
	{"ccm is text", "ccm: x\n", "site.yaml:1:6: \"ccm\" must be a map, not the text \"x\"\n  hint: write a map, such as key: value"},
	{"no resources", "ccm: {fail_on_error: true}\n", "site.yaml:1:6: manifest must contain resources"},
	{"null resources", "ccm: {resources: }\n", "site.yaml:1:6: manifest must contain resources"},
	{"empty resources", "ccm: {resources: []}\n", "site.yaml:1:18: manifest must contain resources"},
	{"resources is a map", "ccm: {resources: {file: []}}\n", "site.yaml:1:18: \"resources\" is not a list\n  hint: write a list: - file: [...]"},
	{"unknown key of a play", "nmae: x\n" + some, "site.yaml:1:1: unknown key \"nmae\" (did you mean \"name\"?)"},
	{"unknown key of ccm", "ccm: {fail_on_eror: true, resources: [exec: [x: ]]}\n", "site.yaml:1:7: unknown key \"fail_on_eror\" in \"ccm\" (did you mean \"fail_on_error\"?)"},
	{"a strategy of Ansible", "strategy: free\n" + some, "site.yaml:1:11: \"strategy\" cannot be \"free\"\n  hint: write linear for the order in the manifest, or graph for the order of the dependencies"},
	{"a playbook of Ansible", "- hosts: all\n  tasks: [{shell: x}]\n", "site.yaml:1:3: this is an Ansible playbook, not a manifest\n  hint: in a manifest, write ccm: {resources: [...]} instead of \"tasks\"; see docs/guide/from-ansible.md"},
	{"a playbook with many keys of Ansible", "- hosts: all\n  gather_facts: false\n  vars: {a: b}\n  roles: [x]\n  tasks: [{shell: x}]\n  handlers: []\n  nmae: x\n  serial: x\n  ccm: {resources: [copy: []]}\n" +
		"- vars: {}\n  tasks: []\n",
		`site.yaml:1:3: this is an Ansible playbook, not a manifest
  hint: in a manifest, write ccm: {resources: [...]} instead of "roles"; see docs/guide/from-ansible.md
site.yaml:2:3: unknown key "gather_facts"
  hint: remove it: facts in expressions are collected automatically
site.yaml:3:3: unknown key "vars"
  hint: write "data"
site.yaml:5:3: unknown key "tasks"
  hint: write ccm: {resources: [...]}
site.yaml:6:3: unknown key "handlers"
  hint: write ccm: {resources: [...]}
site.yaml:7:3: unknown key "nmae" (did you mean "name"?)
site.yaml:8:11: the text "x" is not a batch size
  hint: write a number of hosts or a percentage: serial: [1, 10%, 100%]
site.yaml:9:21: "copy" is a module of Ansible
  hint: use the type file: write - file: [/etc/motd: {source: motd, owner: root, group: root, mode: "0644"}]
site.yaml:10:3: this is an Ansible playbook, not a manifest
  hint: in a manifest, write ccm: {resources: [...]} instead of "tasks"; see docs/guide/from-ansible.md
site.yaml:10:3: unknown key "vars"
  hint: write "data"`},
	{"tasks without a play", "- name: nginx\n  apt: {name: nginx}\n- file: []\n", `site.yaml:1:3: the section "ccm" is missing
  hint: a play needs ccm: {resources: [...]}
site.yaml:2:3: unknown key "apt"
  hint: use the type package: write - package: [nginx: {ensure: present}]
site.yaml:3:3: unknown key "file"
  hint: resources belong below "ccm": write ccm: {resources: [file: [...]]}
site.yaml:3:3: the section "ccm" is missing
  hint: a play needs ccm: {resources: [...]}`},
	{"resources and a template", "ccm: {resources_jet_file: a.jet, resources: [exec: [x: ]]}\n", "site.yaml:1:27: resources_jet_file and resources cannot be used together\n  hint: keep one of them"},
	{"a computed template", "ccm: {resources_jet_file: '{{ Facts.x }}'}\n", `site.yaml:1:27: "resources_jet_file" cannot be an expression` + chooseHint},
	{"computed files", "vars_files: ['{{ Facts.x }}.yaml']\n" + some, `site.yaml:1:14: a file of "vars_files" cannot be an expression` + chooseHint},
	{"missing files", "vars_files: [a.yaml, testdata]\n" + some, "site.yaml:1:14: cannot read a.yaml: no such file\nsite.yaml:1:22: testdata: is a directory; give the file in it, such as testdata/site.yaml"},
	{"include beside a manifest", "include: a.yaml\nhierarchy: {order: [a]}\n" + some,
		"site.yaml:1:10: unknown manifest a.yaml\nsite.yaml:2:1: \"hierarchy\" cannot be used together with \"include\"" + includeHint + "\nsite.yaml:3:1: \"ccm\" cannot be used together with \"include\"" + includeHint},
	{"a command that is asked for, computed", "facts: {x: {command: 'echo ${HOME}'}}\n" + some, "site.yaml:1:22: the command of a fact cannot contain expressions: {{ … }} and ${ … }\n" +
		`  hint: write a shell variable as $NAME; for anything else use a script, or an exec with "readonly" and "register"`},
	{"computed include", "include: '{{ Facts.x }}'\n", `site.yaml:1:10: "include" cannot be an expression` + chooseHint},
	{"defaults of nothing", "defaults: [file]\n" + some, "site.yaml:1:11: \"defaults\" must be a map, not a list\n  hint: write defaults: {owner: root, exec: {timeout: 5m}}"},
	{"defaults that are none", "defaults:\n  content: x\n  alias: y\n  fiel: {mode: \"0644\"}\n  exec: 5m\n  file: {contnt: x}\n  noop: perhaps\n  control: {if: x}\n  colour: red\n" + some,
		"site.yaml:2:3: \"defaults\" has no key \"content\"\n  hint: write it below its type: file: {content: ...}\nsite.yaml:3:3: \"defaults\" has no key \"alias\"\n  hint: write it at the resources, or below a type: exec: {alias: ...}\nsite.yaml:4:3: \"defaults\" has no key \"fiel\"\n  hint: did you mean \"file\"?\nsite.yaml:5:9: the defaults of exec must be a map, not the text \"5m\"\nsite.yaml:6:10: type file has no property \"contnt\"\n  hint: did you mean \"content\"?\nsite.yaml:7:9: \"noop\" must be true or false, not the text \"perhaps\"\nsite.yaml:8:17: unknown name \"x\" in the expression \"x\"\n  hint: for data write Data.x or lookup('data.x'), for a fact Facts.…; put quotes around a text\nsite.yaml:9:3: \"defaults\" has no key \"colour\"\n  hint: it has types, and for all of them control, noop, sensitive, retry, rerun, delay, timeout, limit, sema, history, confirm, watch, autoedge, autogroup, owner, group, mode"},
	{"confirm", "confirm: sometimes\nconfirm_within: 2h\n" + some, "site.yaml:1:10: \"confirm\" cannot be \"sometimes\"\n  hint: write auto, always or never\nsite.yaml:2:17: \"confirm_within\" must be from 5s to 1h, not 2h\n  hint: write something like 60s"},
	{"confirm without history", "confirm: always\nhistory: false\n" + some, "site.yaml:1:10: \"confirm\" cannot be always, because history: false saves no state that could be restored\n  hint: remove one of them"},
	{"confirm_via", "confirm_via: [a b, 'h:0', ':', ssh://-x@h, [h], '{{ 1 + }}']\n" + some,
		"site.yaml:1:15: confirm_via: \"a b\" is not an address" + viaHint + "\nsite.yaml:1:20: confirm_via: port \"0\" is not in 1-65535" + viaHint +
			"\nsite.yaml:1:27: confirm_via: \":\" is not an address" + viaHint + "\nsite.yaml:1:32: confirm_via: \"ssh://-x@h\" names no user" + viaHint +
			"\nsite.yaml:1:44: \"confirm_via[4]\" must be a single value, not a list\nsite.yaml:1:56: unexpected end in the expression \"1 +\""},
	{"confirm_via of nothing", "confirm_via: []\n" + some, "site.yaml:1:14: \"confirm_via\" has no address\n  hint: remove \"confirm_via\" to use the address of the inventory"},
	{"a tag that is an expression", "tags: ['{{ Facts.x }}']\n" + some, "site.yaml:1:8: a tag cannot be an expression\n  hint: write a fixed tag; to select resources by host, write control: {if: EXPRESSION}"},
	{"a resource's key at a play", "health_checks: []\n" + some, "site.yaml:1:1: unknown key \"health_checks\"\n  hint: known keys: name, hosts, become, become_user, become_method, serial, max_fail_percentage, any_errors_fatal, rollout, watch, hostfacts, facts, strategy, parallel, tags, remembered_as, history, confirm, confirm_within, confirm_via, confirm_boot, defaults, strict, data, vars_files, hierarchy, overrides, include, ccm"},
	{"shapes", "name: [a]\nhosts: [a]\nbecome: maybe\ntags: web\ndata: 5\noverrides: [x]\nhierarchy: {merge: first}\n" + some,
		"site.yaml:1:7: \"name\" must be a single value, not a list\nsite.yaml:2:8: \"hosts\" must be a single value, not a list\n  hint: write one pattern: hosts: web1,web2\n" +
			"site.yaml:3:9: \"become\" must be true or false, not the text \"maybe\"\nsite.yaml:4:7: \"tags\" must be a list, not the text \"web\"\n  hint: write a list: - web\n" +
			"site.yaml:5:7: \"data\" must be a map, not the number 5\n  hint: write key: value\nsite.yaml:6:12: \"overrides\" must be a map of maps, not a list\n  hint: write name: {key: value}\n" +
			"site.yaml:7:12: \"hierarchy.order\" must be a list\n  hint: write order: [\"os:{{ lookup('facts.host.info.os') }}\", default]"},
	{"become_method", "become_method: pfexec\n" + some, "site.yaml:1:16: \"become_method\" cannot be \"pfexec\"\n  hint: write sudo, su or doas"},
	{"max_fail_percentage above", "max_fail_percentage: 101\n" + some, "site.yaml:1:22: 101 is outside 0-100"},
	{"max_fail_percentage is no number", "max_fail_percentage: .nan\n" + some, "site.yaml:1:22: .nan is outside 0-100"},
	{"max_fail_percentage with a sign", "max_fail_percentage: 5%\n" + some, "site.yaml:1:22: \"max_fail_percentage\" must be a number, not the text \"5%\"\n  hint: write the number alone: 5"},
	{"serial", "serial: [0, -1, 1.5, 0%, 101%, nan%, {a: b}, x]\n" + some,
		"site.yaml:1:10: the number 0 is not a batch size" + serialHint + "\nsite.yaml:1:13: the number -1 is not a batch size" + serialHint +
			"\nsite.yaml:1:17: the number 1.5 is not a batch size" + serialHint + "\nsite.yaml:1:22: the text \"0%\" is not a batch size" + serialHint +
			"\nsite.yaml:1:26: the text \"101%\" is not a batch size" + serialHint + "\nsite.yaml:1:32: the text \"nan%\" is not a batch size" + serialHint +
			"\nsite.yaml:1:38: a map is not a batch size" + serialHint + "\nsite.yaml:1:46: the text \"x\" is not a batch size" + serialHint},
	{"message", "ccm: {pre_message: [a], post_message: \"{{ 1 + }}\", resources: [exec: [x: ]]}\n",
		"site.yaml:1:20: \"ccm.pre_message\" must be a single value, not a list\nsite.yaml:1:46: unexpected end in the expression \"1 +\""},
	{"errors of several documents", "nmae: x\n" + some + "---\n- hots: x\n  " + some,
		"site.yaml:1:1: unknown key \"nmae\" (did you mean \"name\"?)\nsite.yaml:4:3: unknown key \"hots\" (did you mean \"hosts\"?)"},
}

const (
	chooseHint  = "\n  hint: write a fixed value without an expression, because ccm-push reads this key before any host is known"
	viaHint     = "\n  hint: write HOST, HOST:PORT, :PORT or ssh://USER@HOST:PORT"
	includeHint = "\n  hint: write it into the included manifest"
	some        = "ccm: {resources: [exec: [x: ]]}\n"
	serialHint  = "\n  hint: write a number of hosts or a percentage: serial: [1, 10%, 100%]"
)

// foreignPlayHints maps some keys that a play does not have to their hints.
var foreignPlayHints = map[string]string{
	"fail_on_error":      `"fail_on_error" belongs below "ccm": write ccm: {fail_on_error: ...}`,
	"pre_message":        `"pre_message" belongs below "ccm": write ccm: {pre_message: ...}`,
	"post_message":       `"post_message" belongs below "ccm": write ccm: {post_message: ...}`,
	"resources":          `"resources" belongs below "ccm": write ccm: {resources: ...}`,
	"resources_jet_file": `"resources_jet_file" belongs below "ccm": write ccm: {resources_jet_file: ...}`,

	"port": "write connect: {port: PORT} in the inventory",
	"when": "write control: {if: EXPRESSION} at the resources",
}

func TestForeignKeysOfAPlay(t *testing.T) {
	for key, hint := range foreignPlayHints {
		_, err := parse(key + ": true\n" + some)
		require.EqualError(t, err, fmt.Sprintf("site.yaml:1:1: unknown key %q\n  hint: %s", key, hint))
	}
	for _, key := range []string{"tasks", "roles", "pre_tasks", "post_tasks", "handlers"} {
		_, err := parse(key + ": []\n" + some)
		require.EqualError(t, err, "site.yaml:1:1: this is an Ansible playbook, not a manifest\n  hint: in a manifest, write ccm: {resources: [...]} instead of \""+key+"\"; see docs/guide/from-ansible.md")
	}
	for _, key := range []string{"import_playbook", "ansible.builtin.import_playbook"} {
		_, err := parse(key + ": other.yml\n")
		require.EqualError(t, err, "site.yaml:1:1: this is an Ansible playbook, not a manifest\n  hint: in a manifest, write include: FILE instead of \""+key+"\"; see docs/guide/from-ansible.md")
	}
	for _, both := range []string{"become: true", "serial: 1", "max_fail_percentage: 5", "strategy: linear", "vars_files: []"} {
		_, err := parse(both + "\n" + some)
		require.NoError(t, err, both)
	}
}

func TestWrongPlays(t *testing.T) {
	for _, c := range wrongPlays {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(c.manifest)
			require.EqualError(t, err, c.want)
		})
	}
}

// goodPlays show every key of a play in all its forms.
var goodPlays = []struct{ name, manifest string }{
	{"a CCM manifest", "data: {a: 1}\nccm:\n  resources:\n    - exec:\n        - echo hi:\n"},
	{"a list of plays", "- hosts: web\n  ccm: {resources: [exec: [x: ]]}\n- hosts: db\n  ccm: {resources: [exec: [x: ]]}\n"},
	{"several documents", some + "---\n---\n" + some + "---\n- " + some},
	{"JSON", `{"ccm": {"resources": [{"file": {"name": "/a", "owner": "root", "group": "root", "mode": "0644"}}]}}`},
	{"every key", `
name: web tier
hosts: web*:!web9
become: yes
become_user: deploy
become_method: sudo
serial: [1, 10%, "3"]
max_fail_percentage: 12.5
tags: [web]
data: {port: 80}
hierarchy: {order: ["os:{{ lookup('facts.host.info.os') }}"], merge: deep}
overrides: {"os:linux": {port: 81}}
ccm:
  fail_on_error: on
  pre_message: "{{ Data.port }}"
  post_message: |
    done
    with {{ Data.port }}
  resources:
    - exec: {name: "true"}
`},
	{"null is not given", "name:\nhosts: ~\nbecome:\nserial:\nmax_fail_percentage:\nbecome_method:\ntags:\ndata:\nccm: {pre_message: , resources: [exec: [x: ]]}\n"},
}

func TestGoodPlays(t *testing.T) {
	for _, c := range goodPlays {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(c.manifest)
			require.NoError(t, err)
		})
	}
}

func TestPlay(t *testing.T) {
	plays, err := parse(goodPlays[4].manifest)
	require.NoError(t, err)
	p := plays[0]
	require.Equal(t, "web tier", p.Name)
	require.Equal(t, "web*:!web9", p.HostPattern())
	require.True(t, *p.Become)
	require.Equal(t, "deploy", p.BecomeUser)
	require.Equal(t, "sudo", p.BecomeMethod)
	require.Equal(t, []manifest.BatchSize{{Count: 1}, {Percent: 10}, {Count: 3}}, p.Serial)
	require.Equal(t, 12.5, *p.MaxFail)
	require.Equal(t, []string{"web"}, p.Tags)
	require.True(t, p.FailOnError)
	require.Equal(t, "done\nwith {{ Data.port }}\n", p.Post.Node.Text)
	paths, all := p.Data.Facts()
	require.Equal(t, []string{"host.info.os"}, paths)
	require.False(t, all)
	paths, all = p.Facts(nil)
	require.Empty(t, paths)
	require.False(t, all)
}

func TestNullPlay(t *testing.T) {
	plays, err := parse(goodPlays[5].manifest)
	require.NoError(t, err)
	p := plays[0]
	require.Equal(t, "site", p.Name)
	require.Equal(t, "all", p.HostPattern())
	require.Nil(t, p.Become)
	require.Nil(t, p.MaxFail)
	require.Nil(t, p.Pre)
	require.Empty(t, p.Serial)
}

func TestBatchSize(t *testing.T) {
	for _, c := range []struct {
		size    manifest.BatchSize
		n, want int
	}{
		{manifest.BatchSize{Count: 3}, 10, 3},
		{manifest.BatchSize{Percent: 10}, 25, 2},
		{manifest.BatchSize{Percent: 1}, 5, 1},
		{manifest.BatchSize{Percent: 100}, 5, 5},
	} {
		require.Equal(t, c.want, c.size.Of(c.n))
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	a, b := write("a.yaml", some), write("b.yaml", some)
	plays, err := Files(t.Context(), []string{a, b}, builtin.Types())
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, []string{plays[0].Name, plays[1].Name})
	require.Equal(t, dir, plays[0].Folder)

	write("manifest.yaml", some)
	plays, err = Files(t.Context(), []string{dir}, builtin.Types())
	require.NoError(t, err, "a folder stands for the manifest.yaml in it")
	require.Equal(t, dir, plays[0].Folder)
	require.NoError(t, os.Remove(filepath.Join(dir, "manifest.yaml")))

	wrong, worse := write("c.yaml", "x: 1\n"+some), write("d.yaml", "ccm: [\n")
	missing := filepath.Join(dir, "missing.yaml")
	_, err = Files(t.Context(), []string{a, wrong, worse, missing, dir}, builtin.Types())
	require.ErrorContains(t, err, wrong+`:1:1: unknown key "x"`)
	require.ErrorContains(t, err, worse+":")
	require.ErrorContains(t, err, "unknown manifest "+missing)
	require.ErrorContains(t, err, dir+": is a directory; give the manifest in it, such as "+filepath.Join(dir, "site.yaml"))
}

func TestAdHoc(t *testing.T) {
	file, _ := builtin.Types().Lookup("file")
	p, err := AdHoc("web*", file, "", map[string]any{"name": "/{{ 1 }}", "content": "{{ nope(", "mode": "644", "owner": "root", "group": "root"})
	require.NoError(t, err)
	require.Equal(t, "web*", p.HostPattern())
	require.False(t, p.Resources[0].Properties.HasExpressions(), "nothing in it is an expression")
	require.False(t, p.Resources[0].Name.HasExpressions())

	for _, c := range []struct {
		properties map[string]any
		want       string
	}{
		{map[string]any{"name": "a", "mode": "999", "owner": "root", "group": "root"},
			"command line: name: file path must be absolute\n  hint: write a path that begins with /\ncommand line: mode \"999\" has a digit outside 0-7\n  hint: write an octal string such as mode: \"0644\""},
		{map[string]any{"content": "x"}, "command line: name is required"},
		{map[string]any{"name": "/a", "contnt": "x", "ensure": "absent"}, "command line: type file has no property \"contnt\"\n  hint: did you mean \"content\"?"},
	} {
		_, err := AdHoc("all", file, "", c.properties)
		require.EqualError(t, err, c.want)
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range wrongPlays {
		f.Add(c.manifest)
	}
	for _, c := range goodPlays {
		f.Add(c.manifest)
	}
	for _, c := range wrongRollouts {
		f.Add(c.manifest)
	}
	for _, c := range goodRollouts {
		f.Add(c.manifest)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plays, err := parse(text)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		for _, p := range plays {
			p.Facts(nil)
			p.HostPattern()
			for _, one := range p.Rollout.Plays() {
				require.NotEmpty(t, one.Resources)
			}
			for _, r := range p.Resources {
				require.NotNil(t, r.Name.Node)
				require.NotNil(t, r.Properties.Node)
			}
		}
	})
}
