package ansible

// fileModules returns the modules for files and parts of files.
func fileModules() map[string]Module {
	return map[string]Module{
		"file": {
			Type:  "file",
			Write: `- file: [/srv/app: {ensure: directory, owner: root, group: root, mode: "0755"}]`,
			AdHoc: "file /srv/app ensure=directory owner=root group=root mode=0755",
			Args: fileArguments(Arguments{
				"path": same("name"), "dest": same("name"), "name": same("name"), "state": same("ensure"), "src": same("target"), "recurse": same("recurse"), "force": same("force"),
				"access_time": no("times are not set"), "modification_time": no("times are not set"),
			}),
			Gap: "`state: hard` and `touch` that sets times have no counterpart",
		},
		"copy": {
			Type:  "file",
			Write: `- file: [/etc/motd: {source: motd, owner: root, group: root, mode: "0644"}]`,
			AdHoc: "file PATH ensure=present content=TEXT owner=USER group=GROUP mode=MODE",
			Args: fileArguments(Arguments{
				"dest": same("name"), "src": same("source"), "content": same("content"), "directory_mode": no("directories have their own resources"), "remote_src": same("command"),
				"force": no("a run always restores the declared content"), "checksum": none("contents are compared by their hashes"), "local_follow": none("a source is a file of the play"),
			}),
		},
		"template": {
			Type:  "file",
			Write: `- file: [/etc/motd: {content: "{{ template('motd.j2') }}", owner: root, group: root, mode: "0644"}]`,
			Args: fileArguments(Arguments{
				"dest": same("name"), "src": same("content"), "force": no("a run always restores the declared content"), "lstrip_blocks": none("the first line of the template"), "trim_blocks": none("the first line of the template"),
				"block_start_string": none("the first line of the template"), "block_end_string": none("the first line of the template"), "variable_start_string": none("the first line of the template"),
				"variable_end_string": none("the first line of the template"), "newline_sequence": no("line breaks are as in the template"), "output_encoding": no("texts are UTF-8"),
				"comment_start_string": none("the first line of the template"), "comment_end_string": none("the first line of the template"),
			}),
		},
		"assemble": {
			Type:  "file",
			Write: `- file: [/etc/motd: {content: "{{ jet('motd.jet') }}", owner: root, group: root, mode: "0644"}]`,
		},
		"lineinfile": {
			Type:  "line",
			Write: lineWrite,
			AdHoc: lineAdHoc,
			Args: fileArguments(Arguments{
				"path": same("path"), "dest": same("path"), "destfile": same("path"), "name": same("path"), "line": same("line"), "value": same("line"), "regexp": same("regexp"), "regex": same("regexp"), "state": same("ensure"), "create": same("create"),
				"insertafter": same("after"), "insertbefore": same("before"), "backrefs": no("the line cannot contain groups of the regexp"), "search_string": no("write regexp"), "firstmatch": no("the last match counts"),
				"backup": no("use ccm-push undo"),
			}),
		},
		"blockinfile": {
			Type:  "line",
			Write: `- line: [/etc/hosts: {block: "192.0.2.1 web1"}]`,
			AdHoc: `line /etc/hosts block="192.0.2.1 web1"`,
			Args: fileArguments(Arguments{
				"path": same("path"), "dest": same("path"), "destfile": same("path"), "name": same("path"), "block": same("block"), "content": same("block"), "marker": same("marker"), "state": same("ensure"), "create": same("create"),
				"insertafter": same("after"), "insertbefore": same("before"), "marker_begin": no("markers always contain BEGIN and END"), "marker_end": no("markers always contain BEGIN and END"), "backup": no("use ccm-push undo"),
				"append_newline": no("no blank lines are added"), "prepend_newline": no("no blank lines are added"),
			}),
		},
		"replace": {
			Type:  "replace",
			Write: `- replace: [/etc/app.conf: {regexp: 'old\.example\.net', replace: new.example.net}]`,
			AdHoc: `replace /etc/app.conf regexp=old replace=new`,
			Args: fileArguments(Arguments{
				"path": same("path"), "dest": same("path"), "destfile": same("path"), "name": same("path"), "regexp": same("regexp"), "replace": same("replace"), "after": same("after"), "before": same("before"),
				"backup": no("use ccm-push undo"), "encoding": no("texts are UTF-8"), "owner": same("owner"), "group": same("group"), "mode": same("mode"),
			}),
		},
		"ini_file": {
			Type:  "ini",
			Write: `- ini: [/etc/php.ini: {section: PHP, option: memory_limit, value: 256M}]`,
			AdHoc: `ini /etc/php.ini section=PHP option=memory_limit value=256M`,
			Args: fileArguments(Arguments{
				"path": same("path"), "dest": same("path"), "section": same("section"), "option": same("option"), "value": same("value"), "values": same("values"), "state": same("ensure"), "create": same("create"),
				"exclusive": same("exclusive"), "no_extra_spaces": same("separator"), "allow_no_value": no("write bare"), "backup": no("use ccm-push undo"), "ignore_spaces": none("blanks around = are not looked at"),
				"modify_inactive_option": none("a line that is a comment stays one"), "section_has_values": no("sections have names of their own"),
			}),
		},
		"get_url": {
			Type:  "file",
			Write: downloadWrite,
			AdHoc: downloadAdHoc,
			Args: fileArguments(Arguments{
				"url": same("source"), "dest": same("name"), "checksum": same("checksum"), "sha256sum": same("checksum"), "force": none("a checksum decides"), "timeout": none("a download ends when nothing comes"),
				"headers": no("archive has headers"), "url_username": no("archive has username"), "url_password": no("archive has password"), "force_basic_auth": no("archive has username"),
				"validate_certs": no("certificates are verified"), "use_proxy": none("the proxies of the machine that downloads count"), "http_agent": none("the user agent is ccm-push"), "tmp_dest": none("a file appears whole"),
				"backup": same("backup"),
			}),
			Gap: "without a checksum: `checksum: none`, for https",
		},
		"unarchive": {
			Type:  "archive",
			Write: fetchWrite,
			AdHoc: fetchAdHoc,
			Args: fileArguments(Arguments{
				"src": same("url"), "dest": same("extract_parent"), "creates": same("creates"), "remote_src": none("the URL decides"), "extra_opts": no("archives are unpacked without tar"), "exclude": no("archives are unpacked whole"),
				"include": no("archives are unpacked whole"), "keep_newer": no("files of the archive replace others"), "list_files": none("the result is not used"), "validate_certs": no("certificates are verified"), "copy": none("the URL decides"),
				"owner": no("unpacked files belong to the user that runs the host program"), "group": no("unpacked files belong to the user that runs the host program"), "mode": no("unpacked files keep the permissions of the archive"),
			}),
			Gap: "only from a URL and with `creates`; use an exec for an archive of the play",
		},
		"synchronize": {
			Type:  "scaffold",
			Write: "- scaffold: [/srv/app: {source: app}]",
		},
		"fetch": {
			Type:  "fetch",
			Write: "- fetch: [/var/log/app.log: {}]",
			AdHoc: "fetch /var/log/app.log",
			Args: Arguments{
				"src": same("name"), "fail_on_missing": same("optional"), "dest": none("it is in the record of the run"), "flat": none("it is below its host there, as it is called on that"), "validate_checksum": none("an incomplete transfer fails"),
			},
			Gap: "the file is written to the folder of the run, `fetched/HOST/PATH`, not to `dest`",
		},
		"stat": {
			Write: "write facts: {app: {stat: /opt/app}} into the play: Facts.app.exists",
			AdHoc: "use the type exec: ccm-push PATTERN exec stat PATH",
			Args: Arguments{
				"path": same("command"), "dest": same("command"), "name": same("command"), "get_checksum": none("the result is not used"), "get_md5": none("the result is not used"), "get_mime": none("the result is not used"), "get_attributes": none("the result is not used"), "follow": same("command"),
				"checksum_algorithm": none("the result is not used"), "get_size": none("the result is not used"),
			},
			Gap: "becomes a fact of the play; if an earlier task can change the file, an `exec` of test(1), for a single value such as `exists` or `isdir`",
		},
		"find": {
			Write: "write an exec of find(1) with readonly and register: Results.NAME.stdout_lines are the paths",
			AdHoc: "use the type exec: ccm-push PATTERN exec find PATH",
			Args: Arguments{
				"paths": same("command"), "path": same("command"), "name": same("command"), "patterns": same("command"), "pattern": same("command"), "excludes": same("command"), "exclude": same("command"), "file_type": same("command"), "recurse": same("command"),
				"hidden": same("command"), "depth": same("command"), "use_regex": no("write the exec with -regex"), "contains": no("write the exec with grep -l"), "read_whole_file": no("write the exec with grep -l"), "age": no("write the exec with -mmin"), "age_stamp": no("write the exec with -mmin"),
				"size": no("write the exec with -size"), "get_checksum": no("only the paths are known"), "follow": no("write the exec with -L"), "mode": no("write the exec with -perm"), "exact_mode": no("write the exec with -perm"), "limit": no("all are listed"),
			},
			Gap: "becomes an `exec` of find(1); only the path of each file is known",
		},
		"slurp": {
			Type:  "exec",
			Write: "- exec: [cat /etc/app/token: {readonly: true, register: token}]",
			AdHoc: "exec cat PATH",
			Args:  Arguments{"src": same("name"), "path": same("name")},
			Gap:   "the content is `Results.NAME.stdout`, at most 64 KiB",
		},
	}
}

// fileArguments are the arguments of all modules that write files.
func fileArguments(more Arguments) Arguments {
	m := Arguments{
		"owner": same("owner"), "group": same("group"), "mode": same("mode"), "validate": same("validate"), "backup": same("backup"),
		"seuser": no("SELinux labels are kept, and not set"), "serole": no("SELinux labels are kept, and not set"), "setype": no("SELinux labels are kept, and not set"),
		"selevel": no("SELinux labels are kept, and not set"), "attributes": no("chattr attributes are not set"), "attr": no("chattr attributes are not set"),
		"unsafe_writes": none("files always appear whole"), "follow": none("links on the way are followed"), "decrypt": none("a source is decrypted"),
	}
	for key, a := range more {
		m[key] = a
	}
	return m
}
