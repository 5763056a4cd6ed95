package ansible

// controlModules are those of what plays do themselves.
func controlModules() map[string]Module {
	return map[string]Module{
		"include_tasks": {
			Type:  "apply",
			Write: "- apply: [other.yaml: {}]",
			Args:  Arguments{"file": same("name"), "apply": no("a block has them")},
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
		},
		"set_fact": {
			Write: "write data: {KEY: VALUE} at the play",
			Args:  Arguments{},
			Gap:   "where a variable is set in one way: data, or its expression in its place; in a loop a list to which each round adds one element, or what the last round says",
		},
		"meta": {
			Write: "leave it out: a resource that subscribes is refreshed in its place in the order",
			Args:  Arguments{},
		},
		"fail": {
			Type:  "assert",
			Write: `- assert: [this host is left out: {that: ["{{ Data.left_out != true }}"]}]`,
			Args:  Arguments{"msg": same("message")},
		},
		"assert": {
			Type:  "assert",
			Write: `- assert: [enough memory: {that: ["{{ Data.memory >= 4 }}"]}]`,
			Args: Arguments{
				"that": same("that"), "fail_msg": same("message"), "msg": same("message"), "success_msg": none("nothing is said of what is right"), "quiet": none("nothing is said of what is right"),
			},
		},
		"debug": {
			Write: "leave it out; pre_message and post_message of ccm print a text, ccm-push render prints what a host would get",
			AdHoc: "there is ccm-push inventory explain HOST [KEY]",
			Args:  Arguments{"msg": same("command"), "var": same("command"), "verbosity": none("it is shown with -v")},
		},
		"pause": {
			Write: "write a play of its own: between two plays all hosts wait for each other",
			Args:  Arguments{"seconds": same("command"), "minutes": same("command"), "prompt": no("a rollout asks a person: pause"), "echo": no("a rollout asks a person: pause")},
		},
		"wait_for": {
			Type:  "wait",
			Write: `- wait: [the database is up: {port: 5432}]`,
			AdHoc: "wait db port=5432",
			Args:  waitArguments(),
		},
		"wait_for_connection": {
			Write: "leave it out: --connect-retries says how often a connection is tried again",
			AdHoc: "exec true logs in and runs a command: ccm-push PATTERN exec true",
			Args:  Arguments{"timeout": none("--connect-retries"), "delay": none("--connect-retries"), "connect_timeout": none("--timeout"), "sleep": none("--connect-retries")},
		},
		"ping": {
			Write: "leave it out: a host that cannot be reached is reported",
			AdHoc: "exec true logs in and runs a command: ccm-push PATTERN exec true",
			Args:  Arguments{"data": none("nobody asks")},
		},
		"setup": {
			Write: factsWrite,
			AdHoc: factsAdHoc,
			Args:  Arguments{"gather_subset": none("facts that are mentioned are asked for"), "filter": none("facts that are mentioned are asked for"), "gather_timeout": none("facts that are mentioned are asked for"), "fact_path": none("/etc/choria/ccm/facts.d")},
		},
		"gather_facts": {
			Write: factsWrite,
			AdHoc: factsAdHoc,
			Args:  Arguments{"parallel": none("facts that are mentioned are asked for")},
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
		"apply": no("a block has them"), "allow_duplicates": none("a manifest may be applied twice"), "rolespec_validate": none("data is checked where it is used"),
	}
}

func waitArguments() Arguments {
	return Arguments{
		"port": same("port"), "host": same("host"), "path": same("path"), "state": same("ensure"), "timeout": same("timeout"), "delay": none("it is looked at once"), "sleep": same("interval"), "connect_timeout": none("it is tried again"), "msg": none("the error says what is waited for"),
		"search_regex": same("line"), "exclude_hosts": no("only for drained"), "active_connection_states": no("only for drained"),
	}
}
