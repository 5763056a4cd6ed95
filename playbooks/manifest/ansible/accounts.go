package ansible

// accountModules returns the modules for users, groups and login keys.
func accountModules() map[string]Module {
	return map[string]Module{
		"user": {
			Type:  "user",
			Write: "- user: [deploy: {ensure: present}]",
			AdHoc: "user deploy ensure=present",
			Args: Arguments{
				"name": same("name"), "user": same("name"), "state": same("ensure"), "uid": same("uid"), "group": same("group"), "groups": same("groups"), "append": same("append"), "shell": same("shell"), "home": same("home"),
				"comment": same("comment"), "system": same("system"), "create_home": same("create_home"), "createhome": same("create_home"), "password": same("password_hash"), "password_lock": same("password_lock"),
				"remove": same("remove_home"), "update_password": no("a run always sets the declared password"), "generate_ssh_key": no("use an exec of ssh-keygen"), "move_home": no("a home is not moved"), "expires": no("write expires: YYYY-MM-DD"),
				"force": no("a user with running processes is not removed"), "non_unique": no("ids are unique"), "ssh_key_file": no("use an exec of ssh-keygen"), "ssh_key_bits": no("use an exec of ssh-keygen"),
				"ssh_key_type": no("use an exec of ssh-keygen"), "ssh_key_comment": no("use an exec of ssh-keygen"), "ssh_key_passphrase": no("use an exec of ssh-keygen"), "skeleton": no("a new home is copied from /etc/skel"),
				"local": no("the host's own tools decide where accounts are stored"), "login_class": no("Linux has no login classes"), "umask": no("the settings of the host apply to a new home"), "password_expire_max": no("an exec of chage"), "password_expire_min": no("an exec of chage"),
			},
		},
		"group": {
			Type:  "group",
			Write: "- group: [deploy: {ensure: present}]",
			AdHoc: "group deploy ensure=present",
			Args: Arguments{
				"name": same("name"), "state": same("ensure"), "gid": same("gid"), "system": same("system"), "local": no("the host's own tools decide where accounts are stored"), "non_unique": no("ids are unique"), "force": no("the primary group of a user is not removed"),
			},
		},
		"authorized_key": {
			Type:  "authorized_key",
			Write: "- authorized_key: [ann: {user: deploy, key: \"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAED7nlnqWY7VFewQlPSkKNqF2RB0Z+15k3zEaojud33\"}]",
			AdHoc: "authorized_key ann user=deploy key=\"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAED7nlnqWY7VFewQlPSkKNqF2RB0Z+15k3zEaojud33\"",
			Args: Arguments{
				"user": same("user"), "key": same("key"), "exclusive": same("exclusive"), "state": same("ensure"), "key_options": same("options"), "path": same("path"), "comment": no("the comment is part of the key"),
				"manage_dir": none("~/.ssh is made with the file"), "validate_certs": no("a key is a text or a file of the play"), "follow": none("the file is written as the user"),
			},
		},
		"known_hosts": {
			Type:  "known_host",
			Write: "- known_host: [git.example.net: {keys: [\"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMfpQb4L8YB70ZH90xHu4goo3u+EhiCsuSuGqVGvaqFq\"]}]",
		},
		"getent": {
			Write: "write facts: {app: {getent: passwd app}} into the play: Facts.app.fields[2] is its uid",
			AdHoc: "use the type exec: ccm-push PATTERN exec getent passwd",
			Args:  Arguments{"database": same("getent"), "key": none("names in expressions select the entries"), "fail_key": none("use exists of the fact"), "split": no("fields are split at colons"), "service": no("the host's nsswitch.conf decides")},
			Gap:   "`passwd` and `group`, with literal names; " + factsGap,
		},
	}
}
