package ansible

// commandModules returns the modules that run commands.
func commandModules() map[string]Module {
	return map[string]Module{
		"command": {
			Type:  "exec",
			Write: `- exec: [systemctl reload nginx: {}]`,
			AdHoc: "exec COMMAND",
			Args:  commandArguments(),
		},
		"shell": {
			Type:  "exec",
			Write: `- exec: ["echo $HOME > /tmp/home": {provider: shell}]`,
			AdHoc: "exec COMMAND",
			Args:  commandArguments(),
		},
		"raw": {
			Type:  "exec",
			Write: `- exec: [systemctl reload nginx: {}]`,
			AdHoc: "exec COMMAND",
			Args:  commandArguments(),
		},
		"script": {
			Type:  "exec",
			Write: `- exec: [/usr/local/bin/setup: {creates: /opt/app}], with the script as a file above it`,
			AdHoc: "exec /usr/local/bin/setup, once the script is there as a file",
			Args:  commandArguments(),
		},
		"git": {
			Type:  "git",
			Write: `- git: [/srv/app: {source: "https://example.net/app.git", revision: v1.2}]`,
			AdHoc: "git /srv/app source=https://example.net/app.git revision=v1.2",
			Args: Arguments{
				"repo": same("source"), "name": same("source"), "dest": same("name"), "version": same("revision"), "update": same("update"), "depth": same("depth"), "force": same("force"), "recursive": same("submodules"), "key_file": same("key"),
				"clone": none("it is cloned"), "accept_hostkey": same("source"), "accept_newhostkey": same("source"), "ssh_opts": no("ssh_config has it"), "refspec": no("a version is a branch, a tag or a commit"),
				"bare": no("a checkout has files"), "single_branch": none("all branches are fetched, and one commit is checked out"), "remote": no("the remote is always origin"), "executable": no("git is on the path"), "umask": no("the umask of the host applies"), "track_submodules": no("submodules are at the versions of the commit"),
				"verify_commit": no("write signers: FILE, a file of allowed signers"), "gpg_allowlist": no("write signers: FILE, a file of allowed signers"), "gpg_whitelist": no("write signers: FILE, a file of allowed signers"), "archive": no("git archive is an exec"), "archive_prefix": no("git archive is an exec"),
				"reference": no("objects are fetched"), "separate_git_dir": no("a checkout has its own .git"),
			},
			Gap: "HEAD is detached: local branches do not change. Changes that `force` discards are saved",
		},
	}
}

func commandArguments() Arguments {
	return Arguments{
		"cmd": same("command"), "argv": same("command"), "chdir": same("cwd"), "creates": same("creates"), "removes": same("onlyif"), "executable": same("command"), "warn": none("Ansible has removed it"),
		"stdin": no("a file has it"), "stdin_add_newline": no("a file has it"), "strip_empty_ends": none("stdout_trimmed"), "expand_argument_vars": none("no shell expands them"), "_raw_params": same("command"),
	}
}
