package inventory

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// tree makes files below a new folder and returns the folder. A name that ends in / is a folder.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755)) // whatever the umask
	for name, text := range files {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			require.NoError(t, os.MkdirAll(path, 0o755))
			continue
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
	}
	return dir
}

// below puts dir before paths.
func below(dir string, paths ...string) []string {
	var list []string
	for _, p := range paths {
		list = append(list, filepath.Join(dir, p))
	}
	return list
}

type files = map[string]string

// varFileVectors are files of variables and the values that ansible-core 2.14.18 reads from them.
var varFileVectors = []struct {
	name     string
	files    files
	sources  []string // default: hosts.yml
	playbook string   // folder of the playbook
	host     string
	want     map[string]any
}{
	{name: "files win over what the inventory says of the group, in the order of their names",
		files: files{"hosts.yml": "web: {hosts: {h: }, vars: {w: web_inv, v: web_inv}}", "group_vars/web/a.yml": "w: a", "group_vars/web/b.yml": "w: b"},
		host:  "h", want: map[string]any{"w": "b", "v": "web_inv"}},
	{name: "the playbook's folder wins for a host",
		files:    files{"i/hosts.yml": "web: {hosts: {h: {x: inv}}}", "i/host_vars/h": "x: inventory\ny: inventory", "p/host_vars/h": "x: playbook"},
		sources:  []string{"i/hosts.yml"},
		playbook: "p",
		host:     "h", want: map[string]any{"x": "playbook", "y": "inventory"}},
	{name: "all of the playbook is below web of the inventory",
		files:    files{"i/hosts.yml": "web: {hosts: {h: }}", "i/group_vars/web": "w: inventory", "p/group_vars/all": "w: all\nz: all"},
		sources:  []string{"i/hosts.yml"},
		playbook: "p",
		host:     "h", want: map[string]any{"w": "inventory", "z": "all"}},
	{name: "web of the playbook is above all",
		files:    files{"i/hosts.yml": "web: {hosts: {h: }}", "i/group_vars/web": "w: inventory", "p/group_vars/all": "w: all", "p/group_vars/web": "w: playbook"},
		sources:  []string{"i/hosts.yml"},
		playbook: "p",
		host:     "h", want: map[string]any{"w": "playbook"}},
	{name: "all of a file is above any group of the inventory",
		files: files{"hosts.yml": "web: {hosts: {h: }, vars: {w: web_inv}}", "group_vars/all.yml": "w: all"},
		host:  "h", want: map[string]any{"w": "all"}},
	{name: "what the inventory says of the host is above files of groups",
		files: files{"hosts.yml": "web: {hosts: {h: {w: host}}}", "group_vars/web": "w: web"},
		host:  "h", want: map[string]any{"w": "host"}},
	{name: "files of deeper groups win",
		files: files{"hosts.yml": "top: {children: {web: {hosts: {h: }}}}\nflat: {hosts: {h: }}", "group_vars/top": "w: top", "group_vars/web": "w: web", "group_vars/flat": "w: flat"},
		host:  "h", want: map[string]any{"w": "web"}},
	{name: "the folder of a later source wins, whatever the group",
		files:   files{"1/hosts.yml": "top: {children: {web: {hosts: {h: }}}}", "2/hosts.yml": "web: ", "1/group_vars/web": "w: one", "2/group_vars/top": "w: two"},
		sources: []string{"1/hosts.yml", "2/hosts.yml"},
		host:    "h", want: map[string]any{"w": "two"}},
	{name: "two sources",
		files:   files{"1.yml": "web: {vars: {x: 1}, hosts: {h: {y: 1}}}", "2.yml": "web: {vars: {x: 2}, hosts: {h: {y: 2}}}"},
		sources: []string{"1.yml", "2.yml"},
		host:    "h", want: map[string]any{"x": int64(2), "y": int64(2)}},
	{name: "two sources the other way round",
		files:   files{"1.yml": "web: {vars: {x: 1}, hosts: {h: {y: 1}}}", "2.yml": "web: {vars: {x: 2}, hosts: {h: {y: 2}}}"},
		sources: []string{"2.yml", "1.yml"},
		host:    "h", want: map[string]any{"x": int64(1), "y": int64(1)}},
	{name: "what is ignored in a folder",
		files: files{"hosts.yml": "web: {hosts: {h: }}", "group_vars/web/main": "a: 1", "group_vars/web/z.yml": "b: 1", "group_vars/web/.h.yml": "c: 1",
			"group_vars/web/x.yml~": "d: 1", "group_vars/web/e.txt": "e: 1", "group_vars/web/sub/f.yml": "f: 1", "group_vars/web/sub.d/g.yml": "g: 1",
			"group_vars/web/h.json": `{"i": 1}`, "group_vars/web/.sub/j.yml": "j: 1"},
		host: "h", want: map[string]any{"a": int64(1), "b": int64(1), "f": int64(1), "i": int64(1)}},
	{name: "only the file without an extension is read",
		files: files{"hosts.yml": "web: {hosts: {h: }}", "group_vars/web": "a: 1", "group_vars/web.yml": "b: 1", "group_vars/web.yaml": "c: 1"},
		host:  "h", want: map[string]any{"a": int64(1)}},
	{name: "yml before yaml before json",
		files: files{"hosts.yml": "a: {hosts: {h: }}\nb: {hosts: {h: }}", "group_vars/a.yml": "a: yml", "group_vars/a.yaml": "a: yaml", "group_vars/b.yaml": "b: yaml", "group_vars/b.json": `{"b": "json"}`},
		host:  "h", want: map[string]any{"a": "yml", "b": "yaml"}},
	{name: "a folder with a suffix",
		files: files{"hosts.yml": "web: {hosts: {h: }}", "group_vars/web.yml/x.yml": "a: 1"},
		host:  "h", want: map[string]any{"a": int64(1)}},
	{name: "empty files",
		files: files{"hosts.yml": "web: {hosts: {h: {a: 1}}}", "group_vars/web": "", "group_vars/all": "---\n", "host_vars/h": "# nothing\n"},
		host:  "h", want: map[string]any{"a": int64(1)}},
	{name: "beside a folder of inventories",
		files:   files{"i/a.yml": "web: {hosts: {h: }}", "i/sub/b.yml": "web: {vars: {b: 1}}", "i/group_vars/web": "x: 1", "i/sub/group_vars/web": "y: 1", "group_vars/web": "z: 1"},
		sources: []string{"i"},
		host:    "h", want: map[string]any{"b": int64(1), "x": int64(1)}},
	{name: "a group called ungrouped",
		files: files{"hosts.yml": "all: {hosts: {h: }}", "group_vars/ungrouped": "x: 1"},
		host:  "h", want: map[string]any{"x": int64(1)}},
	{name: "text that looks like an expression",
		files: files{"hosts.yml": "all: {hosts: {h: }}", "host_vars/h": "x: !unsafe \"{{ y }}\"\nz: !unsafe 5"},
		host:  "h", want: map[string]any{"x": "{{ y }}", "z": "5"}},
}

func TestVarFiles(t *testing.T) {
	for _, tt := range varFileVectors {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, tt.files)
			if tt.sources == nil {
				tt.sources = []string{"hosts.yml"}
			}
			var o Options
			if tt.playbook != "" {
				o.Folders = below(dir, tt.playbook)
			}
			inv, err := Load(t.Context(), below(dir, tt.sources...), o)
			require.NoError(t, err)
			require.Equal(t, tt.want, inv.Host(tt.host).Vars())
		})
	}
}

// TestMergeMaps checks that the option merges maps, like hash_behaviour=merge in Ansible.
func TestMergeMaps(t *testing.T) {
	dir := tree(t, files{
		"hosts.yml":    "all: {vars: {d: {a: 1, b: {c: 1}, l: [1]}}}\ng: {vars: {d: {b: {e: 2}, l: [2]}}, hosts: {h: {d: {f: 3}}}}",
		"host_vars/h":  "d: {f: 4}",
		"host_vars/ho": "d: 5",
	})
	inv, err := Load(t.Context(), below(dir, "hosts.yml"), Options{MergeMaps: true})
	require.NoError(t, err)
	want := map[string]any{"d": map[string]any{
		"a": int64(1), "b": map[string]any{"c": int64(1), "e": int64(2)}, "f": int64(4), "l": []any{int64(2)},
	}}
	require.Equal(t, want, inv.Host("h").Vars())
	require.Equal(t, want, inv.Host("h").Vars()) // the layers have not changed
	layers := inv.Host("h").WholeLayers()
	top := layers[len(layers)-1].Node
	require.Equal(t, want, top.Any())
	require.Equal(t, filepath.Join(dir, "hosts.yml")+":1:21", top.Get("d").Get("a").Pos())
	require.Equal(t, map[string]any{"d": map[string]any{"f": int64(4)}}, inv.Layers()[len(inv.Layers())-1].Node.Any())
}

func TestLayersOfFiles(t *testing.T) {
	dir := tree(t, files{
		"hosts.yml": "all: {vars: {a: 1}}\nweb: {vars: {b: 1}, hosts: {h: {c: 1}}}", "group_vars/all.yml": "d: 1", "group_vars/web/x.yml": "\ne: 1", "group_vars/web/y": "f: 1",
		"host_vars/h.json": `{"g": 1}`, "play/group_vars/all": "i: 1", "play/host_vars/h": "j: 1",
	})
	inv, err := Load(t.Context(), below(dir, "hosts.yml"), Options{Folders: below(dir, "play")})
	require.NoError(t, err)
	show := func(layers []Layer) (list []string) {
		for _, l := range layers {
			require.Equal(t, l.File, l.Node.File)
			list = append(list, strings.TrimPrefix(l.Name+" "+l.Source+" "+strings.ReplaceAll(l.Node.Pos(), dir+"/", "")+" "+l.Node.Pairs[0].Key.Text, ""))
		}
		return list
	}
	require.Equal(t, []string{
		"group all inventory hosts.yml:1:13 a",
		"group web inventory hosts.yml:2:13 b",
		"group all group_vars group_vars/all.yml:1:1 d",
		"group all group_vars play/group_vars/all:1:1 i",
		"group web group_vars group_vars/web/x.yml:2:1 e",
		"group web group_vars group_vars/web/y:1:1 f",
		"host h inventory hosts.yml:2:32 c",
		"host h host_vars host_vars/h.json:1:1 g",
		"host h host_vars play/host_vars/h:1:1 j",
	}, show(inv.Host("h").Layers()))
	require.ElementsMatch(t, show(inv.Host("h").Layers()), show(inv.Layers()))
}

func TestConnectionsInVarFiles(t *testing.T) {
	dir := tree(t, files{
		"hosts.yml":      "web: {connect: {port: 1, user: web}, hosts: {h: }}",
		"group_vars/all": "connect: {port: 2, password: hunter2}\nansible_become: true\nx: 1",
		"host_vars/h":    "ansible_host: 192.0.2.7\nansible_become_password: hunter2",
	})
	inv, err := Load(t.Context(), below(dir, "hosts.yml"), Options{})
	require.NoError(t, err)
	c := inv.Host("h").Connection()
	require.Equal(t, filepath.Join(dir, "host_vars/h")+":1:15", c.Pos["address"])
	c.Pos = nil
	require.Equal(t, Connection{Address: "192.0.2.7", Port: 2, User: "web", Password: "hunter2", Become: true, BecomePassword: "hunter2"}, c)
	require.Equal(t, map[string]any{"x": int64(1), "ansible_become": true, "ansible_host": "192.0.2.7"}, inv.Host("h").Vars())
	for _, l := range inv.Layers() {
		require.NotContains(t, l.Node.Any(), "ansible_become_password")
	}
	require.NotContains(t, string(inv.Encode()), "hunter2")
}

// encrypted is why a file is not read that ansible-vault has made.
const encrypted = "the file is encrypted by ansible-vault\n  hint: decrypt the file with ansible-vault decrypt; only files of variables may be encrypted as a whole"

func TestEncryptedInventories(t *testing.T) {
	for name, path := range map[string]string{
		"YAML": "hosts.yml", "INI": "hosts.ini", "JSON": "hosts.json", "without a suffix": "hosts", "in a folder": "all/hosts", "TOML": "hosts.toml",
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, files{path: "$ANSIBLE_VAULT;1.1;AES256\n3132\n"})
			source, _, _ := strings.Cut(path, "/")
			_, err := Load(t.Context(), below(dir, source), Options{})
			require.EqualError(t, err, filepath.Join(dir, path)+":1:1: "+encrypted)
		})
	}
}

func TestVarFileErrors(t *testing.T) {
	hosts := "web: {hosts: {h: }}"
	for _, tt := range []struct {
		name  string
		files files
		want  string // DIR stands for the folder
	}{
		{"vault", files{"group_vars/web": "$ANSIBLE_VAULT;1.1;AES256\n3132\n"}, "DIR/group_vars/web:1:1: " + encrypted},
		{"list", files{"host_vars/h": "- a\n"}, "DIR/host_vars/h:1:1: a file of variables is a map, not a list\n  hint: write a map: name: value"},
		{"two documents", files{"host_vars/h": "a: 1\n---\nb: 1\n"}, "DIR/host_vars/h:3:1: a file of variables is one document, not 2\n  hint: remove the --- between them"},
		{"syntax", files{"host_vars/h": "a: [1\n"}, "DIR/host_vars/h:1: did not find expected ',' or ']'\n  hint: check the indentation of this line and the quotes and brackets before it"},
		{"connection", files{"host_vars/h": "ansible_port: x\n", "group_vars/all/c.yml": "connect: {port: 0}"},
			"DIR/group_vars/all/c.yml:1:17: \"port\" must be from 1 to 65535, not 0\nDIR/host_vars/h:1:15: the value \"x\" of \"ansible_port\" is not a number"},
		{"unknown key", files{"group_vars/all/c.yml": "connect: {prt: 1}"}, "DIR/group_vars/all/c.yml:1:11: unknown key \"prt\" (did you mean \"port\"?)"},
		{"jump", files{"group_vars/web": "connect: {jump: h}\n"},
			"DIR/group_vars/web:1:17: the jump hosts form a loop: h -> h\n  hint: remove the jump host of one of these hosts: for example, write connect: {jump: none} for the host h"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.files["hosts.yml"] = hosts
			dir := tree(t, tt.files)
			err := wrongWith(Load(t.Context(), below(dir, "hosts.yml"), Options{}))
			require.EqualError(t, err, strings.ReplaceAll(tt.want, "DIR", dir))
		})
	}
}

func TestVarFilesThatAreNone(t *testing.T) {
	load := func(t *testing.T, dir string) (*Inventory, error) {
		return Load(t.Context(), below(dir, "hosts.yml"), Options{})
	}
	plain := files{"hosts.yml": "web: {hosts: {h: }}", "group_vars/": "", "host_vars/": ""}
	t.Run("a pipe", func(t *testing.T) {
		dir := tree(t, plain)
		require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "host_vars/h"), 0o600))
		_, err := load(t, dir)
		require.EqualError(t, err, dir+"/host_vars/h: is not a regular file")
	})
	t.Run("a link that leads nowhere", func(t *testing.T) {
		dir := tree(t, plain)
		require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "host_vars/h")))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "host_vars/h.yml"), []byte("x: 1"), 0o600))
		inv, err := load(t, dir)
		require.NoError(t, err)
		require.Equal(t, map[string]any{"x": int64(1)}, inv.Host("h").Vars())
	})
	t.Run("a link in a circle", func(t *testing.T) {
		dir := tree(t, plain)
		require.NoError(t, os.Symlink(".", filepath.Join(dir, "group_vars/web")))
		_, err := load(t, dir)
		require.ErrorContains(t, err, "folders of variables are nested too deep\n  hint: does a symbolic link lead in a circle?")
	})
	t.Run("a link to somebody else's file", func(t *testing.T) {
		dir := tree(t, plain)
		other := filepath.Join(t.TempDir(), "other")
		require.NoError(t, os.WriteFile(other, []byte("x: 1"), 0o600))
		require.NoError(t, os.Chmod(other, 0o666))
		require.NoError(t, os.Symlink(other, filepath.Join(dir, "group_vars/web")))
		_, err := load(t, dir)
		require.EqualError(t, err, dir+"/group_vars/web: is writable for every user, so other users could change the program\n  hint: chmod o-w "+dir+"/group_vars/web")
	})
	t.Run("a folder that everybody can write to", func(t *testing.T) {
		dir := tree(t, plain)
		require.NoError(t, os.Chmod(filepath.Join(dir, "group_vars"), 0o777))
		_, err := load(t, dir)
		require.EqualError(t, err, dir+"/group_vars: is writable for every user, so other users could change the program\n  hint: chmod o-w "+dir+"/group_vars")
		require.NoError(t, os.Chmod(dir, 0o777)) // then so is the inventory
		_, err = load(t, dir)
		require.NoError(t, err)
		require.NoError(t, os.Chmod(dir, 0o777|os.ModeSticky)) // as /tmp is
		_, err = load(t, dir)
		require.Error(t, err)
	})
	t.Run("a file", func(t *testing.T) {
		dir := tree(t, files{"hosts.yml": "web: {hosts: {h: }}", "group_vars": "x: 1"})
		inv, err := load(t, dir)
		require.NoError(t, err)
		require.Equal(t, []string{dir + "/group_vars: is not a folder, and is not read"}, inv.Warnings())
	})
	t.Run("beside a list of hosts", func(t *testing.T) {
		t.Chdir(tree(t, files{"group_vars/all": "x: 1"}))
		inv, err := Load(t.Context(), []string{"h,"}, Options{})
		require.NoError(t, err)
		require.Empty(t, inv.Host("h").Vars())
	})
	t.Run("priority", func(t *testing.T) {
		dir := tree(t, files{"hosts.yml": "web: {hosts: {h: }}", "group_vars/web": "x: 1\nansible_group_priority: 5"})
		inv, err := load(t, dir)
		require.NoError(t, err)
		require.Equal(t, 1, inv.Group("web").Priority)
		require.Equal(t, map[string]any{"x": int64(1)}, inv.Host("h").Vars())
		require.Equal(t, []string{dir + `/group_vars/web:2:25: "ansible_group_priority" only counts in an inventory, below vars:`}, inv.Warnings())
	})
}

// TestVarFilesOfOthers needs root, to change the owner of files.
func TestVarFilesOfOthers(t *testing.T) {
	needs.Root(t, "only root can give a file to somebody else")
	dir := tree(t, files{"hosts.yml": "web: {hosts: {h: }}", "group_vars/web": "x: 1"})
	require.NoError(t, os.Lchown(filepath.Join(dir, "group_vars"), 4321, 4321))
	_, err := Load(t.Context(), below(dir, "hosts.yml"), Options{})
	require.EqualError(t, err, dir+"/group_vars: belongs to another user, and this user could change the program\n  hint: if you trust it, make it yours: chown, or copy the folder")
	require.NoError(t, os.Lchown(filepath.Join(dir, "hosts.yml"), 4321, 4321)) // whom we trust with the inventory
	_, err = Load(t.Context(), below(dir, "hosts.yml"), Options{})
	require.NoError(t, err)
}
