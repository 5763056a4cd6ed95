package fromansible

import "strings"

// networkRows are the modules about what comes from other machines, or goes there.
func networkRows() map[string]row {
	return map[string]row{
		"git": {args: map[string]arg{
			"repo": same("source"), "name": same("source"), "dest": same("name"), "version": same("revision"), "update": same("update"), "depth": same("depth"), "force": same("force"), "recursive": same("submodules"), "key_file": same("key"),
			"clone": none("it is cloned"), "accept_hostkey": same("source"), "accept_newhostkey": same("source"), "ssh_opts": no("ssh_config has it"), "refspec": no("a version is a branch, a tag or a commit"),
			"bare": no("a checkout has files"), "single_branch": none("all branches are fetched, and one commit is checked out"), "remote": no("it is called origin"), "executable": no("git is on the path"), "umask": no("a checkout is made as the host has it"), "track_submodules": no("submodules are those of the commit"),
			"verify_commit": no("signers are those of a file: signers"), "gpg_allowlist": no("signers are those of a file: signers"), "gpg_whitelist": no("signers are those of a file: signers"), "archive": no("git archive is an exec"), "archive_prefix": no("git archive is an exec"),
			"reference": no("objects are fetched"), "separate_git_dir": no("a checkout has its own .git"),
		}, to: gitTask, why: "HEAD is detached: branches of the checkout stay as they are. What `force` throws away is kept"},
	}
}

func gitTask(t *task, r row) {
	t.checkArgs(r)
	repo := t.arg("repo", "name")
	if repo == nil || t.arg("dest") == nil {
		t.problem("git without repo and dest")
		return
	}
	if n := t.arg("accept_hostkey", "accept_newhostkey"); n != nil && !strings.HasPrefix(repo.Value, "http") {
		if b, ok := boolOf(n); !ok || b {
			t.problem("git with accept_hostkey, which trusts whoever answers: a known_host resource has the keys of the server")
		}
	}
	if b, ok := boolOf(t.arg("clone")); ok && !b {
		t.problem("git with clone: no, which only looks")
		return
	}
	e := &entry{typ: "git", name: t.place(t.arg("dest"))}
	t.put(e, "source", repo)
	if version := t.arg("version"); version != nil && version.Value != "HEAD" {
		t.put(e, "revision", version)
	}
	if b, ok := boolOf(t.arg("update")); !ok || !b {
		t.putBool(e, "update", t.arg("update"))
	}
	t.put(e, "depth", t.arg("depth"))
	recursive, given := boolOf(t.arg("recursive"))
	switch {
	case t.arg("recursive") == nil, given && recursive: // as Ansible has it
		e.set("submodules", boolNode(true))
	case !given:
		t.putBool(e, "submodules", t.arg("recursive"))
	}
	t.put(e, "key", t.arg("key_file"))
	if b, ok := boolOf(t.arg("force")); !ok || b {
		t.putBool(e, "force", t.arg("force"))
	}
	t.write(e)
}
