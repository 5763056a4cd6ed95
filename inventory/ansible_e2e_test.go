//go:build e2e

package inventory

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// askAnsible runs the real ansible-inventory without any user's configuration.
func askAnsible(t *testing.T, args ...string) []byte {
	t.Helper()
	program := needs.Program(t, "ansible-inventory")
	cmd := exec.Command(program, args...)
	home := tree(t, files{"ansible.cfg": "[defaults]\n"})
	cmd.Env = append(os.Environ(), "ANSIBLE_CONFIG="+filepath.Join(home, "ansible.cfg"), "HOME="+home, "ANSIBLE_INVENTORY_UNPARSED_FAILED=true")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	require.NoError(t, err, "%s", said.String())
	return out
}

func requireJSON(t *testing.T, want []byte, got any) {
	t.Helper()
	text, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(text))
}

func TestVarFilesAsAnsible(t *testing.T) {
	for _, tt := range varFileVectors {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "text that looks like an expression" {
				t.Skip(`ansible-inventory marks such a text", which is the same otherwise`)
			}
			t.Parallel()
			dir := tree(t, tt.files)
			if tt.sources == nil {
				tt.sources = []string{"hosts.yml"}
			}
			args := []string{"--host", tt.host, "--playbook-dir", filepath.Join(dir, "none")}
			if tt.playbook != "" {
				args[3] = filepath.Join(dir, tt.playbook)
			} else {
				require.NoError(t, os.Mkdir(args[3], 0o755))
			}
			for _, path := range below(dir, tt.sources...) {
				args = append(args, "-i", path)
			}
			requireJSON(t, askAnsible(t, args...), tt.want)
		})
	}
}

// TestINIAsAnsible holds every INI inventory of the tests that is good against
// Ansible: groups, hosts, their order and their variables.
func TestINIAsAnsible(t *testing.T) {
	for name, text := range iniTexts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, files{"hosts.ini": text})
			inv, err := Load(t.Context(), below(dir, "hosts.ini"), Options{})
			require.NoError(t, err)
			var want struct {
				Meta struct {
					Hostvars map[string]map[string]any
				} `json:"_meta"`
			}
			out := askAnsible(t, "-i", filepath.Join(dir, "hosts.ini"), "--playbook-dir", dir, "--list")
			require.NoError(t, json.Unmarshal(out, &want))
			for _, h := range inv.Hosts() {
				vars := h.Vars()
				theirs := want.Meta.Hostvars[h.Name]
				if theirs == nil {
					theirs = map[string]any{}
				}
				text, err := json.Marshal(theirs)
				require.NoError(t, err)
				requireJSON(t, text, vars)
			}
			var groups map[string]struct{ Hosts, Children []string }
			require.NoError(t, json.Unmarshal(out, &groups))
			for _, g := range inv.Groups() {
				var hosts []string
				for _, h := range g.hosts {
					hosts = append(hosts, h.Name)
				}
				require.Equal(t, groups[g.Name].Hosts, hosts, g.Name)
			}
			require.Equal(t, groups["all"].Children, groupNames(inv.Group("all").Children))
		})
	}
}

var iniTexts = map[string]string{
	"fleet":    "lonely ansible_host=192.0.2.1\n[web]\nweb[1:2]:2222 rack=7 name=\"a b\" # c\n[db:children]\npg\n[pg]\np1\n[pg:vars]\nx={'a': [1, None]}\n",
	"order":    "[a:children]\nx\ny\n[y]\nh1\n[x]\nh2\n[b]\nh1\n",
	"values":   "a x=1 y=yes z=True q='[1, 2]' d=\"{'a': 1}\" n=None o=010 s=\" x \" e= p='\"1\"' t=(1,2) u=1,2 b=\"b'x'\"\n",
	"vars":     "[g]\na\n[g:vars]\nx=1\ny = \"quoted\" # no part of it\nw='a' 'b'\nv=a=b\nsp= [1,2]\ne=\nhash=a # b\nnum=0755\np=\"a\n",
	"priority": "[a]\nh\n[b]\nh\n[a:vars]\nx=a\nansible_group_priority=10\n[b:vars]\nx=b\n",
	"two":      "a x=1 y=1\n[web]\na x=2\n[web:vars]\ny=2\nz=3\n[all:vars]\nz=1\n",
	"no end":   "[web]\na",
}
