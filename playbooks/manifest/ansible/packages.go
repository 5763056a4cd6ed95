package ansible

// packageModules are those of packages, and where they are from.
func packageModules() map[string]Module {
	pkg := Module{
		Type:  "package",
		Write: packageWrite,
		AdHoc: packageAdHoc,
		Args:  packageArguments(),
	}
	repository := Module{
		Type:  "repository",
		Write: `- repository: [app: {uris: ["https://deb.example.net/app"], suites: [stable], components: [main], signed_by: /usr/share/keyrings/app.gpg}]`,
	}
	return map[string]Module{
		"package": pkg, "apt": pkg, "dnf": pkg, "apk": pkg, "zypper": pkg, "pacman": pkg,
		"apt_repository": repository, "deb822_repository": repository, "apt_key": repository, "rpm_key": repository,
		"yum_repository": {
			Type:  "repository",
			Write: `- repository: [app: {uris: ["https://rpm.example.net/app/$releasever"], signed_by: /etc/pki/rpm-gpg/RPM-GPG-KEY-app}]`,
		},
		"pip": {
			Type:  "exec",
			Write: `- exec: [/opt/app/bin/pip install flask: {creates: /opt/app/bin/flask}]`,
			AdHoc: "exec /opt/app/bin/pip install flask",
			Args:  pipArguments(),
			Gap:   "an `exec` of pip, for one that is in a virtualenv",
		},
	}
}

func packageArguments() Arguments {
	return Arguments{
		"name": same("name"), "pkg": same("name"), "package": same("name"), "state": same("ensure"),
		"update_cache": same("cache_valid"), "cache_valid_time": same("cache_valid"), "use": none("the host shows which one it has"),
		"lock_timeout": none("another user of the package manager is waited for"), "policy_rc_d": no("what a package starts it starts"),
		"install_recommends": no("the package manager decides"), "default_release": no("a version says what is installed"),
		"purge": no("configuration files stay"), "autoremove": no("what others needed stays"), "autoclean": no("archives stay"), "upgrade": no("single packages are upgraded: ensure: latest"),
		"dpkg_options": none("a changed configuration file stays, as Debian asks for without a terminal"), "force_apt_get": none("there is nothing else"),
		"allow_unauthenticated": no("signatures are verified"), "disable_gpg_check": no("signatures are verified"), "force": no("signatures are verified"), "deb": no("a package is one of a repository"),
		"enablerepo": no("repositories are those of the host"), "disablerepo": no("repositories are those of the host"), "allow_downgrade": none("a version may be older"),
		"only_upgrade": no("a package is installed"), "install_weak_deps": no("the package manager decides"), "allowerasing": no("the package manager decides"), "nobest": no("the package manager decides"),
		"list": no("facts tell what is installed"), "fail_on_autoremove": none("nothing else is removed"), "exclude": no("single packages are named"),
	}
}

func pipArguments() Arguments {
	return Arguments{
		"name": same("command"), "version": same("command"), "virtualenv": same("command"), "requirements": no("what it would change is not known beforehand"), "state": same("unless"), "executable": same("command"), "extra_args": same("command"),
		"virtualenv_command": same("command"), "virtualenv_python": same("command"), "virtualenv_site_packages": no("a virtualenv is made with -m venv"), "chdir": no("names are absolute"), "editable": no("a package is installed"), "umask": no("it is installed as the host has it"),
		"break_system_packages": no("a virtualenv has packages of its own"),
	}
}
