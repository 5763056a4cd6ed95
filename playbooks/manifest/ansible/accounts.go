package ansible

// accountModules are those of users, groups and what they log in with.
func accountModules() map[string]Module {
	return map[string]Module{
		"user": {
			Type:  "user",
			Write: "- user: [deploy: {ensure: present}]",
			AdHoc: "user deploy ensure=present",
			Args: Arguments{
				"name": same("name"), "user": same("name"), "state": same("ensure"), "uid": same("uid"), "group": same("group"), "groups": same("groups"), "append": same("append"), "shell": same("shell"), "home": same("home"),
				"comment": same("comment"), "system": same("system"), "create_home": same("create_home"), "createhome": same("create_home"), "password": same("password_hash"), "password_lock": same("password_lock"),
				"remove": same("remove_home"), "update_password": no("a password is kept as it is declared"), "generate_ssh_key": no("an exec of ssh-keygen makes one"), "move_home": no("a home is not moved"), "expires": no("write expires: a day"),
				"force": no("a user whose processes run is not removed"), "non_unique": no("ids are unique"), "ssh_key_file": no("an exec of ssh-keygen makes one"), "ssh_key_bits": no("an exec of ssh-keygen makes one"),
				"ssh_key_type": no("an exec of ssh-keygen makes one"), "ssh_key_comment": no("an exec of ssh-keygen makes one"), "ssh_key_passphrase": no("an exec of ssh-keygen makes one"), "skeleton": no("a home is made from /etc/skel"),
				"local": no("accounts are those of the host's tools"), "login_class": no("there is none on Linux"), "umask": no("a home is made as the host has it"), "password_expire_max": no("an exec of chage"), "password_expire_min": no("an exec of chage"),
			},
		},
		"group": {
			Type:  "group",
			Write: "- group: [deploy: {ensure: present}]",
			AdHoc: "group deploy ensure=present",
			Args: Arguments{
				"name": same("name"), "state": same("ensure"), "gid": same("gid"), "system": same("system"), "local": no("accounts are those of the host's tools"), "non_unique": no("ids are unique"), "force": no("a group that is a user's primary one is not removed"),
			},
		},
		"authorized_key": {
			Type:  "authorized_key",
			Write: "- authorized_key: [ann: {user: deploy, key: \"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAED7nlnqWY7VFewQlPSkKNqF2RB0Z+15k3zEaojud33\"}]",
			AdHoc: "authorized_key ann user=deploy key=\"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAED7nlnqWY7VFewQlPSkKNqF2RB0Z+15k3zEaojud33\"",
			Args: Arguments{
				"user": same("user"), "key": same("key"), "exclusive": same("exclusive"), "state": same("ensure"), "key_options": same("options"), "path": same("path"), "comment": no("it stands in the key"),
				"manage_dir": none("~/.ssh is made with the file"), "validate_certs": no("a key is a text or a file of the play"), "follow": none("the file is written as the user"),
			},
		},
		"known_hosts": {
			Type:  "known_host",
			Write: "- known_host: [git.example.net: {keys: [\"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMfpQb4L8YB70ZH90xHu4goo3u+EhiCsuSuGqVGvaqFq\"]}]",
		},
		"getent": {
			Write: "write facts: {app: {getent: passwd app}} into the play: Facts.app.fields[2] is its uid",
			AdHoc: "there is exec: ccm-push PATTERN exec getent passwd",
			Args:  Arguments{"database": same("getent"), "key": none("what is mentioned is asked for"), "fail_key": none("exists says it"), "split": no("fields are split at colons"), "service": no("the host says which")},
			Gap:   "`passwd` and `group`, of which elements are mentioned by literal names; " + factsGap,
		},
	}
}
