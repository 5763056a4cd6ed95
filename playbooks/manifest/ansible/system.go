package ansible

// systemModules returns the modules for services and for settings of the system.
func systemModules() map[string]Module {
	unit := Module{
		Type:  "service",
		Write: serviceWrite,
		AdHoc: serviceAdHoc,
		Args:  serviceArguments(),
	}
	return map[string]Module{
		"service": unit, "systemd": unit, "sysvinit": unit,
		"service_facts": {
			Write: "write facts: {nginx: {service: nginx.service}} into the play: Facts.nginx.running",
			AdHoc: "use the type exec: ccm-push PATTERN exec systemctl list-units",
			Args:  Arguments{},
			Gap:   "services with literal full names such as `nginx.service`: existence, `state == 'running'` and `status == 'enabled'`; " + factsGap,
		},
		"package_facts": {
			Write: "write facts: {nginx: {package: nginx}} into the play: Facts.nginx.installed",
			AdHoc: "use the type exec: ccm-push PATTERN exec dpkg-query -W",
			Args:  Arguments{"manager": none("the managers of the host are used"), "strategy": no("the manager of the host is used")},
			Gap:   "whether packages with literal names are installed; " + factsGap,
		},
		"cron": {
			Type:  "cron",
			Write: `- cron: [backup: {command: /usr/local/bin/backup, hour: "3", minute: "0"}]`,
			AdHoc: `cron backup command=/usr/local/bin/backup hour=3 minute=0`,
			Args: Arguments{
				"name": same("name"), "job": same("command"), "user": same("user"), "minute": same("minute"), "hour": same("hour"), "day": same("day"), "dom": same("day"), "month": same("month"), "weekday": same("weekday"), "dow": same("weekday"),
				"special_time": same("special"), "state": same("ensure"), "disabled": same("disabled"), "cron_file": no("entries are in a crontab; for /etc/cron.d use file"), "env": no("entries only"), "backup": no("use ccm-push undo"),
				"insertafter": no("entries only"), "insertbefore": no("entries only"), "reboot": no("write special_time: reboot"),
			},
		},
		"mount": {
			Type:  "mount",
			Write: `- mount: [/data: {device: /dev/sdb1, fstype: ext4}]`,
			AdHoc: `mount /data device=/dev/sdb1 fstype=ext4`,
			Args: Arguments{
				"path": same("name"), "name": same("name"), "src": same("device"), "fstype": same("fstype"), "opts": same("options"), "dump": same("dump"), "passno": same("pass"), "fstab": same("fstab"), "state": same("ensure"),
				"boot": no("it is mounted at boot"), "backup": no("use ccm-push undo"),
			},
		},
		"sysctl": {
			Type:  "sysctl",
			Write: `- sysctl: [vm.swappiness: {value: "10"}]`,
			AdHoc: `sysctl vm.swappiness value=10`,
			Args: Arguments{
				"name": same("name"), "value": same("value"), "state": same("ensure"), "sysctl_set": same("runtime"), "reload": same("runtime"), "sysctl_file": same("path"), "ignoreerrors": no("errors are always reported"),
			},
		},
		"hostname": {
			Type:  "hostname",
			Write: "- hostname: [web1: {}]",
			AdHoc: "hostname web1",
			Args:  Arguments{"name": same("name"), "use": none("the files and the program hostname are the same everywhere")},
		},
		"timezone": {
			Type:  "timezone",
			Write: "- timezone: [Europe/Vienna: {}]",
			AdHoc: "timezone Europe/Vienna",
			Args:  Arguments{"name": same("name"), "hwclock": no("the hardware clock is not changed")},
		},
		"locale_gen": {
			Type:  "locale",
			Write: "- locale: [de_DE.UTF-8: {}]",
			AdHoc: "locale de_DE.UTF-8",
			Args:  Arguments{"name": same("name"), "state": same("ensure")},
			Gap:   "one locale for each resource; `default: true` sets LANG to it",
		},
		"modprobe": {
			Type:  "kmod",
			Write: "- kmod: [br_netfilter: {}]",
			AdHoc: "kmod br_netfilter",
			Args:  Arguments{"name": same("name"), "state": same("ensure"), "params": same("parameters"), "persistent": same("persist")},
		},
		"kernel_blacklist": {
			Type:  "kmod",
			Write: "- kmod: [floppy: {ensure: absent, blacklist: true}]",
			AdHoc: "kmod floppy ensure=absent blacklist=true",
			Args:  Arguments{"name": same("name"), "state": same("blacklist"), "blacklist_file": no("the file is always /etc/modprobe.d/ccm-push.conf")},
			Gap:   "a loaded module is also unloaded",
		},
		"sudoers": {
			Type:  "sudoers",
			Write: `- sudoers: [deploy: {rules: ["deploy ALL=(root) NOPASSWD: /usr/bin/systemctl restart app.service"]}]`,
			AdHoc: `sudoers deploy rules="deploy ALL=(root) NOPASSWD: /usr/bin/systemctl restart app.service"`,
			Args: Arguments{
				"name": same("name"), "state": same("ensure"), "user": same("rules"), "group": same("rules"), "commands": same("rules"), "host": same("rules"), "nopassword": same("rules"), "noexec": same("rules"),
				"setenv": same("rules"), "runas": same("rules"), "sudoers_path": same("path"), "validation": none("visudo always reads the rules"),
			},
		},
		"alternatives": {
			Type:  "alternatives",
			Write: "- alternatives: [editor: {path: /usr/bin/vim.basic}]",
			AdHoc: "alternatives editor path=/usr/bin/vim.basic",
			Args: Arguments{
				"name": same("name"), "path": same("path"), "link": same("link"), "priority": same("priority"), "state": same("ensure"),
				"subcommands": no("only the package sets the subordinate links"), "family": no("the path selects the alternative"),
			},
		},
		"selinux": {
			Type:  "selinux",
			Write: "- selinux: [enforcing: {policy: targeted}]",
			AdHoc: "selinux enforcing policy=targeted",
			Args: Arguments{
				"state": same("name"), "policy": same("policy"), "configfile": no("it is /etc/selinux/config"), "update_kernel_param": no("the boot loader is set up by its own files"),
			},
		},
		"seboolean": {
			Type:  "seboolean",
			Write: "- seboolean: [httpd_can_network_connect: {value: true}]",
			AdHoc: "seboolean httpd_can_network_connect value=true",
			Args: Arguments{
				"name": same("name"), "state": same("value"), "persistent": same("persistent"), "ignore_selinux_state": none("an installed policy is enough"),
			},
		},
		"sefcontext": {
			Type:  "fcontext",
			Write: `- fcontext: ["/srv/web(/.*)?": {type: httpd_sys_content_t}]`,
			AdHoc: `fcontext "/srv/web(/.*)?" type=httpd_sys_content_t`,
			Args: Arguments{
				"target": same("name"), "path": same("name"), "setype": same("type"), "ftype": same("ftype"), "seuser": same("user"), "selevel": same("range"), "serange": same("range"), "state": same("ensure"),
				"reload": none("a running policy is reloaded"), "substitute": no("equivalent paths are not supported"), "equal": no("equivalent paths are not supported"), "ignore_selinux_state": none("an installed policy is enough"),
			},
			Gap: "run `restorecon` to relabel existing files",
		},
		"seport": {
			Type:  "seport",
			Write: "- seport: [8448/tcp: {type: http_port_t}]",
			AdHoc: "seport 8448/tcp type=http_port_t",
			Args: Arguments{
				"ports": same("name"), "proto": same("name"), "setype": same("type"), "state": same("ensure"), "reload": none("a running policy is reloaded"), "ignore_selinux_state": none("an installed policy is enough"),
				"local": none("the policy's own are never removed"),
			},
			Gap: "one port or range for each resource",
		},
		"reboot": {
			Type:  "reboot",
			Write: "- reboot: [updates: {}]",
			AdHoc: `reboot "as agreed" when=always`,
			Args: Arguments{
				"msg": same("name"), "reboot_timeout": same("timeout"), "connect_timeout": none("the inventory has it"), "test_command": no("write a wait after it"),
				"pre_reboot_delay": none("the reboot is immediate"), "post_reboot_delay": none("ccm-push reconnects until the host is back"), "boot_time_command": none("the boot id of the kernel is compared"),
				"reboot_command": no("it is systemctl reboot, or reboot"), "search_paths": none("programs are found in PATH"),
			},
			Gap: "in each run, as with Ansible (`when: always`); as a handler `when: notified`",
		},
	}
}

func serviceArguments() Arguments {
	return Arguments{
		"name": same("name"), "service": same("name"), "unit": same("name"), "state": same("ensure"), "enabled": same("enable"), "masked": same("masked"),
		"daemon_reload": none("unit files that have changed are read again"), "daemon-reload": none("unit files that have changed are read again"),
		"daemon_reexec": no("an exec of systemctl daemon-reexec"), "no_block": none("a start is waited for"), "scope": no("only system units are supported"), "user": no("only system units are supported"),
		"use": none("the host shows which one it has"), "pattern": no("the service manager knows what runs"), "sleep": none("a restart is one of the service manager"), "arguments": no("a unit file has them"), "args": no("a unit file has them"),
		"force": none("links are made as systemctl makes them"), "runlevel": no("write enable"),
	}
}
