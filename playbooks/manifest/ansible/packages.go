package ansible

// packageModules returns the modules for packages and their repositories.
func packageModules() map[string]Module {
	pkg := Module{
		Type:  "package",
		Write: packageWrite,
		AdHoc: packageAdHoc,
		Args:  packageArguments(),
	}
	const (
		write    = `- repository: [app: {uris: ["https://deb.example.net/app"], suites: [stable], components: [main], signed_by: /usr/share/keyrings/app.gpg}]`
		writeYum = `- repository: [app: {uris: ["https://rpm.example.net/app/$releasever"], signed_by: /etc/pki/rpm-gpg/RPM-GPG-KEY-app}]`
		key      = "a key is a part of its repository: `signed_by`, pinned by `checksum` where it is downloaded"
	)
	return map[string]Module{
		"package": pkg, "apt": pkg, "dnf": pkg, "apk": pkg, "zypper": pkg, "pacman": pkg,
		"dpkg_selections": {Type: "package", Write: "- package: [nginx: {hold: true}]", AdHoc: "package nginx hold=true", Args: Arguments{
			"name": same("name"), "selection": same("hold"),
		}},
		"yum_versionlock": {Type: "package", Write: "- package: [nginx: {hold: true}]", AdHoc: "package nginx hold=true", Args: Arguments{
			"name": same("name"), "state": same("hold"), "raw": no("write the names of packages, not patterns"),
		}, Gap: "excluded versions"},
		"debconf": {
			Type: "debconf", Write: "- debconf: [postfix/relayhost: {package: postfix, type: string, value: mail.example.net}]",
			AdHoc: "debconf postfix/relayhost package=postfix type=string value=mail.example.net", Args: Arguments{
				"name": same("package"), "pkg": same("package"), "question": same("name"), "setting": same("name"), "selection": same("name"), "vtype": same("type"),
				"value": same("value"), "answer": same("value"), "unseen": same("seen"),
			},
		},
		"apt_repository":    {Type: "repository", Write: write, Args: aptRepositoryArguments(), Gap: "a repository of Launchpad (`ppa:`)"},
		"deb822_repository": {Type: "repository", Write: write, Args: deb822Arguments(), Gap: "a key at a URL, which lacks its checksum"},
		"yum_repository":    {Type: "repository", Write: writeYum, Args: yumRepositoryArguments(), Gap: "a key at a URL, which lacks its checksum"},
		"apt_key":           {Type: "repository", Write: write, Gap: key},
		"rpm_key":           {Type: "repository", Write: writeYum, Gap: key},
		"pip": {
			Type:  "package",
			Write: `- package: [flask: {provider: pip, virtualenv: /opt/app, ensure: 3.0.3}]`,
			AdHoc: "package flask provider=pip virtualenv=/opt/app",
			Args:  pipArguments(),
		},
		"npm": {
			Type:  "package",
			Write: "- package: [express: {provider: npm, directory: /opt/app, ensure: 4.19.2}]",
			AdHoc: "package express provider=npm directory=/opt/app",
			Args:  npmArguments(),
			Gap:   "the packages of a `package.json`: use an `exec` of `npm ci`",
		},
		"pip_package_info": {
			Write: "write a `package` with `provider: pip`; a run with --check reports its version and differences",
			AdHoc: "for the version of a package run ccm-push status PATTERN package NAME",
			Gap:   "no fact lists the packages of every Python; use a `package` for each package",
		},
	}
}

func packageArguments() Arguments {
	return Arguments{
		"name": same("name"), "pkg": same("name"), "package": same("name"), "state": same("ensure"),
		"update_cache": same("cache_valid"), "cache_valid_time": same("cache_valid"), "use": none("the host shows which one it has"),
		"lock_timeout": none("the run waits for the lock of the package manager"), "policy_rc_d": no("a package can start its services"),
		"install_recommends": no("the package manager decides"), "default_release": no("write the version in ensure"),
		"purge": no("configuration files are kept"), "autoremove": no("dependencies of removed packages are kept"), "autoclean": no("downloaded archives are kept"), "upgrade": none("`- upgrade: [all: {}]`; `dist` and `full` with `removals: true`"),
		"security":     none("with the name `'*'`: `- upgrade: [security: {}]`; of single packages it is not carried over"),
		"update_only":  none("with the name `'*'` nothing is installed; of single packages it is not carried over"),
		"dpkg_options": none("changed configuration files are kept, as Debian does without a terminal"), "force_apt_get": none("apt-get is always used"),
		"allow_unauthenticated": no("signatures are verified"), "disable_gpg_check": no("signatures are verified"), "force": no("signatures are verified"), "deb": same("path"),
		"enablerepo": no("the repositories of the host are used"), "disablerepo": no("the repositories of the host are used"), "allow_downgrade": none("a version may be older"),
		"only_upgrade": no("a package is installed"), "install_weak_deps": no("the package manager decides"), "allowerasing": no("the package manager decides"), "nobest": no("the package manager decides"),
		"list": no("use facts: {NAME: {package: PACKAGE}}"), "fail_on_autoremove": none("nothing else is removed"), "exclude": no("single packages are named"),
	}
}

func aptRepositoryArguments() Arguments {
	return Arguments{
		"repo": same("uris"), "state": same("ensure"), "filename": same("name"), "update_cache": none("the package lists are always updated"), "update_cache_retries": none("the package lists are always updated"),
		"update_cache_retry_max_delay": none("the package lists are always updated"), "mode": none("the file is readable by all users"), "validate_certs": no("certificates are verified"), "codename": no("only for a ppa"),
		"install_python_apt": none("no Python is needed"),
	}
}

func deb822Arguments() Arguments {
	return Arguments{
		"name": same("name"), "uris": same("uris"), "suites": same("suites"), "components": same("components"), "types": same("types"), "architectures": same("architectures"), "signed_by": same("signed_by"),
		"enabled": same("enabled"), "state": same("ensure"), "trusted": same("gpgcheck"), "mode": none("the file is readable by all users"), "allow_insecure": no("write options"), "allow_weak": no("write options"),
		"allow_downgrade_to_insecure": no("write options"), "by_hash": no("write options"), "check_date": no("write options"), "check_valid_until": no("write options"), "date_max_future": no("write options"),
		"inrelease_path": no("write options"), "languages": no("write options"), "pdiffs": no("write options"), "targets": no("write options"), "install_python_debian": none("no Python is needed"),
		"exclude": no("write options"), "include": no("write options"),
	}
}

func yumRepositoryArguments() Arguments {
	all := Arguments{
		"name": same("name"), "description": same("description"), "baseurl": same("uris"), "mirrorlist": same("mirrorlist"), "metalink": same("metalink"), "gpgcheck": same("gpgcheck"), "gpgkey": same("signed_by"),
		"enabled": same("enabled"), "priority": same("priority"), "file": same("path"), "state": same("ensure"), "mode": none("the file is readable by all users"), "owner": none("it is root's"), "group": none("it is root's"),
		"username": no("the file is readable by all users of the host"), "password": no("the file is readable by all users of the host"), "reposdir": no("repositories are in the folder that dnf reads"),
	}
	for _, name := range []string{"exclude", "includepkgs", "repo_gpgcheck", "sslverify", "skip_if_unavailable", "module_hotfixes", "proxy", "metadata_expire", "countme", "cost"} {
		all[name] = same("options")
	}
	return all
}

func pipArguments() Arguments {
	return Arguments{
		"name": same("name"), "version": same("ensure"), "virtualenv": same("virtualenv"), "requirements": no("write each package of the file as a resource"), "state": same("ensure"), "executable": same("python"),
		"extra_args": same("options"), "virtualenv_command": same("python"), "virtualenv_python": same("python"), "virtualenv_site_packages": no("a virtualenv has packages of its own"),
		"chdir": none("names are absolute"), "editable": no("a package is installed"), "umask": no("the umask of the host applies"), "break_system_packages": same("break_system_packages"),
	}
}

func npmArguments() Arguments {
	return Arguments{
		"name": same("name"), "version": same("ensure"), "path": same("directory"), "global": none("it is global without `directory`"), "state": same("ensure"), "registry": same("index"),
		"ignore_scripts": same("options"), "production": same("options"), "no_optional": same("options"), "no_bin_links": same("options"), "force": same("options"),
		"executable": no("the npm of the host is used"), "unsafe_perm": none("scripts run as `user`"), "ci": no("single packages are named"),
	}
}
