package ansible

// controlModules returns the modules that plays replace by themselves.
func controlModules() map[string]Module {
	return map[string]Module{
		"include_tasks": {
			Type:  "apply",
			Write: "- apply: [other.yaml: {}]",
			Args:  Arguments{"file": same("name"), "apply": no("write them at a block")},
		},
		"import_tasks": {
			Type:  "apply",
			Write: "- apply: [other.yaml: {}]",
			Args:  Arguments{"file": same("name")},
		},
		"include": {
			Type:  "apply",
			Write: "- apply: [other.yaml: {}]",
			Args:  Arguments{},
		},
		"include_role": {
			Type:  "apply",
			Write: "- apply: [other.yaml: {}]",
			Args:  roleArguments(),
		},
		"import_role": {
			Type:  "apply",
			Write: "- apply: [other.yaml: {}]",
			Args:  roleArguments(),
		},
		"include_vars": {
			Write: "write vars_files: [FILE] at the play",
			Args:  Arguments{"file": same("name"), "name": no("variables are data at the top"), "dir": no("files have names")},
			Gap:   "a file whose name is literal, or made of facts; with `first_found` too: its variables become data that depends on the facts",
		},
		"set_fact": {
			Type:  "set",
			Write: `- set: [purpose: {data: {port: 8080}}]`,
			Args:  Arguments{"cacheable": none("values last until the end of the play")},
		},
		"meta": {
			Write: "remove it: a resource with subscribe is refreshed at its position in the order",
			Args:  Arguments{},
		},
		"fail": {
			Type:  "assert",
			Write: `- assert: [this host is in service: {that: ["{{ Data.in_service != false }}"]}]`,
			Args:  Arguments{"msg": same("message")},
		},
		"assert": {
			Type:  "assert",
			Write: `- assert: [enough memory: {that: ["{{ Data.memory >= 4 }}"]}]`,
			Args: Arguments{
				"that": same("that"), "fail_msg": same("message"), "msg": same("message"), "success_msg": none("successful assertions are not reported"), "quiet": none("successful assertions are not reported"),
			},
		},
		"debug": {
			Write: "remove it; to print a text use ccm: {pre_message: TEXT}, to inspect values run ccm-push render",
			AdHoc: "use ccm-push inventory explain HOST [KEY]",
			Args:  Arguments{"msg": same("command"), "var": same("command"), "verbosity": none("use -v")},
		},
		"pause": {
			Write: "split the play: all hosts wait for each other between two plays",
			Args:  Arguments{"seconds": same("command"), "minutes": same("command"), "prompt": no("use rollout: {pause: true}"), "echo": no("use rollout: {pause: true}")},
		},
		"wait_for": {
			Type:  "wait",
			Write: `- wait: [the database is up: {port: 5432}]`,
			AdHoc: "wait db port=5432",
			Args:  waitArguments(),
		},
		"wait_for_connection": {
			Write: "remove it: --connect-retries sets the number of connection attempts",
			AdHoc: "exec true logs in and runs a command: ccm-push PATTERN exec true",
			Args:  Arguments{"timeout": none("--connect-retries"), "delay": none("--connect-retries"), "connect_timeout": none("--timeout"), "sleep": none("--connect-retries")},
		},
		"ping": {
			Write: "remove it: unreachable hosts are reported",
			AdHoc: "exec true logs in and runs a command: ccm-push PATTERN exec true",
			Args:  Arguments{"data": none("the result is not used")},
		},
		"setup": {
			Write: factsWrite,
			AdHoc: factsAdHoc,
			Args:  Arguments{"gather_subset": none("facts in expressions are collected automatically"), "filter": none("facts in expressions are collected automatically"), "gather_timeout": none("facts in expressions are collected automatically"), "fact_path": none("/etc/choria/ccm/facts.d")},
		},
		"gather_facts": {
			Write: factsWrite,
			AdHoc: factsAdHoc,
			Args:  Arguments{"parallel": none("facts in expressions are collected automatically")},
		},
		"add_host": {
			Write: "write the host into the inventory",
		},
		"group_by": {
			Write: "write hierarchy and overrides at the play, which choose data by facts",
		},
	}
}

func roleArguments() Arguments {
	return Arguments{
		"name": same("name"), "role": same("name"), "tasks_from": same("name"), "defaults_from": no("main only"), "vars_from": no("main only"), "handlers_from": no("main only"), "public": none("data of roles is data of the play"),
		"apply": no("write them at a block"), "allow_duplicates": none("a manifest may be applied twice"), "rolespec_validate": none("data is checked where it is used"),
	}
}

func waitArguments() Arguments {
	return Arguments{
		"port": same("port"), "host": same("host"), "path": same("path"), "state": same("ensure"), "timeout": same("timeout"), "delay": none("the first check is immediate"), "sleep": same("interval"), "connect_timeout": none("failed attempts are repeated"), "msg": none("the error names the condition"),
		"search_regex": same("line"), "exclude_hosts": no("only useful with state: drained, which is not supported"), "active_connection_states": no("only useful with state: drained, which is not supported"),
	}
}
