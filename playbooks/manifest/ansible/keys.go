package ansible

// PlaybookKeys maps keys that only an Ansible playbook has to their replacements.
var PlaybookKeys = map[string]string{
	"tasks": resourcesHere, "roles": resourcesHere, "pre_tasks": resourcesHere, "post_tasks": resourcesHere, "handlers": resourcesHere,
	"import_playbook": "include: FILE", "ansible.builtin.import_playbook": "include: FILE",
}

const resourcesHere = "ccm: {resources: [...]}"

// PlayKeys maps keys of Ansible's plays to the hint about their replacement.
var PlayKeys = map[string]string{
	"become_exe":         `remove it: use "become", "become_user" and "become_method"`,
	"become_flags":       `remove it: use "become", "become_user" and "become_method"`,
	"check_mode":         "write noop: true at the resources, or run with --check",
	"collections":        "remove it: run ccm-push --help for the types; put more types into resources/ next to the manifest",
	"connection":         "remove it: the inventory sets the connection",
	"debugger":           "remove it: use --check --diff and -v",
	"diff":               "run with --diff",
	"environment":        "write it at each exec",
	"fact_path":          "remove it: put the host's own facts into /etc/choria/ccm/facts.d",
	"force_handlers":     "remove it: the host stores pending refreshes and a later run does them",
	"gather_facts":       "remove it: facts in expressions are collected automatically",
	"gather_subset":      "remove it: facts in expressions are collected automatically",
	"gather_timeout":     "remove it: facts in expressions are collected automatically",
	"ignore_errors":      `remove it: other resources continue, unless "ccm.fail_on_error" is set`,
	"ignore_unreachable": `remove it: other hosts continue, unless "max_fail_percentage", "any_errors_fatal" or "rollout" is set`,
	"module_defaults":    "write defaults: {TYPE: {...}}",
	"max_fail":           `write "max_fail_percentage"`,
	"no_log":             "write sensitive: true at the resources",
	"order":              "remove it: hosts run in the order of the inventory",
	"port":               "write connect: {port: PORT} in the inventory",
	"remote_user":        "write -u USER, or connect: {user: USER} in the inventory",
	"run_once":           "write once: true at the resources",
	"sudo":               "write become: true",
	"sudo_user":          `write "become_user"`,
	"throttle":           `write "sema" at the resources, or run with -f N`,
	"timeout":            `write "timeout" at the resources`,
	"user":               "write -u USER, or connect: {user: USER} in the inventory",
	"vars":               `write "data"`,
	"vars_prompt":        "use -e",
	"when":               "write control: {if: EXPRESSION} at the resources",
}

// A Key describes the replacement of a key that resources do not have.
type Key struct {
	Here string // replacing property; empty if the hint applies to every type
	Hint string
}

// TaskKeys maps keys of Ansible's tasks and of other tools to their replacements.
var TaskKeys = map[string]Key{
	"when":          {"", "write control: {if: EXPRESSION}"},
	"loop":          {"", `write "each"`},
	"with_items":    {"", `write "each"`},
	"with_dict":     {"", `write "each", with toPairs(...)`},
	"with_nested":   {"", `write a block with "each" around it: the outer element is Outer`},
	"loop_control":  {"", `use Item for the element, and Outer for the element of an enclosing block with "each"`},
	"state":         {"ensure", `write "ensure"`},
	"src":           {"source", `write "source", or "content" with template(...)`},
	"dest":          {"owner", "the key is the path: - /etc/motd: {...}"},
	"path":          {"owner", "the key is the path: - /etc/motd: {...}"},
	"recurse":       {"", `only file has it, with ensure: directory; for a whole folder with "owner" and "group" use scaffold`},
	"user":          {"owner", `write "owner"`},
	"enabled":       {"enable", `write "enable"`},
	"backup":        {"", "only file has it; for other types remove it and use ccm-push undo"},
	"chdir":         {"cwd", `write "cwd"`},
	"removes":       {"onlyif", "write onlyif: test -e PATH"},
	"cmd":           {"command", `write "command"`},
	"shell":         {"cwd", "write provider: shell"},
	"executable":    {"cwd", `write provider: shell for /bin/sh, or name the program in "command"`},
	"args":          {"", "write all properties on the same level"},
	"changed_when":  {"onlyif", `write readonly: true for a command that changes nothing; otherwise write "onlyif", "unless" or "creates" to detect whether a change is needed`},
	"failed_when":   {"returns", `write returns: [0, 2], the exit codes that mean success; or "register", and a resource with "control" that fails`},
	"ignore_errors": {"", `remove it: other resources continue, unless "ccm.fail_on_error" is set`},
	"no_log":        {"", "write sensitive: true"},
	"check_mode":    {"", "write noop: true"},
	"become":        {"", `"become" is a key of plays; to run one command as another user, write user: NAME at the exec`},
	"become_user":   {"", `"become" is a key of plays; to run one command as another user, write user: NAME at the exec`},
	"delegate_to":   {"", "write on: HOST, or on: controller"},
	"local_action":  {"", "write on: controller at the resource"},
	"run_once":      {"", "write once: true"},
	"password":      {"password_hash", `set "password_hash" to the output of: openssl passwd -6`},
	"retries":       {"", `write "retry"`},
	"until":         {"", `write "retry"`},
	"throttle":      {"", `write "sema"`},
	"semaphore":     {"", `write "sema"`},
	"semaphores":    {"", `write "sema"`},
	"receive":       {"", `write "recv"`},
}

// SharedKeys are keys that tasks of Ansible and resources here both have.
var SharedKeys = []string{"name", "tags", "notify", "delay", "timeout", "register", "vars"}
