package fromansible

import (
	"strings"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

func gitTask(t *task) {
	t.checkArgs()
	repo := t.arg("repo", "name")
	if repo == nil || t.arg("dest") == nil {
		t.problem("git without repo and dest")
		return
	}
	if n := t.arg("accept_hostkey", "accept_newhostkey"); n != nil && !strings.HasPrefix(repo.Value, "http") {
		if b, ok := yamlnode.BoolOf(n); !ok || b {
			t.problem("git with accept_hostkey, which trusts whoever answers: a known_host resource has the keys of the server")
		}
	}
	if b, ok := yamlnode.BoolOf(t.arg("clone")); ok && !b {
		t.problem("git with clone: no, which only looks")
		return
	}
	e := &layout.Entry{Type: "git", Name: t.place(t.arg("dest"))}
	t.put(e, "source", repo)
	if version := t.arg("version"); version != nil && version.Value != "HEAD" {
		t.put(e, "revision", version)
	}
	if b, ok := yamlnode.BoolOf(t.arg("update")); !ok || !b {
		t.putBool(e, "update", t.arg("update"))
	}
	t.put(e, "depth", t.arg("depth"))
	recursive, given := yamlnode.BoolOf(t.arg("recursive"))
	switch {
	case t.arg("recursive") == nil, given && recursive: // as Ansible has it
		e.Set("submodules", yamlnode.Bool(true))
	case !given:
		t.putBool(e, "submodules", t.arg("recursive"))
	}
	t.put(e, "key", t.arg("key_file"))
	if b, ok := yamlnode.BoolOf(t.arg("force")); !ok || b {
		t.putBool(e, "force", t.arg("force"))
	}
	t.write(e)
}
