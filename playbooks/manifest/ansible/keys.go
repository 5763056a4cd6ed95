package ansible

// PlaybookKeys are keys that only a playbook of Ansible has, with what has the place of
// each here.
var PlaybookKeys = map[string]string{
	"tasks": resourcesHere, "roles": resourcesHere, "pre_tasks": resourcesHere, "post_tasks": resourcesHere, "handlers": resourcesHere,
	"import_playbook": "include: FILE", "ansible.builtin.import_playbook": "include: FILE",
}

const resourcesHere = "ccm: {resources: [...]}"

// PlayKeys are keys of Ansible's plays, with what to write here.
var PlayKeys = map[string]string{
	"become_exe":         "leave it out: become, become_user and become_method say it all",
	"become_flags":       "leave it out: become, become_user and become_method say it all",
	"check_mode":         "write noop: true at the resources, or run with --check",
	"collections":        "leave it out: ccm-push --help lists the types, and resources/ beside the manifest may have more",
	"connection":         "leave it out: the inventory says how a host is reached",
	"debugger":           "leave it out: --check --diff and -v tell more",
	"diff":               "run with --diff",
	"environment":        "write it at each exec",
	"fact_path":          "leave it out: a host has facts of its own in /etc/choria/ccm/facts.d",
	"force_handlers":     "leave it out: a refresh that is due is noted by the host, and done in a later run",
	"gather_facts":       "leave it out: the facts that are mentioned are asked for",
	"gather_subset":      "leave it out: the facts that are mentioned are asked for",
	"gather_timeout":     "leave it out: the facts that are mentioned are asked for",
	"ignore_errors":      "leave it out: other resources go on, unless ccm.fail_on_error is set",
	"ignore_unreachable": "leave it out: other hosts go on, unless max_fail_percentage, any_errors_fatal or rollout is set",
	"module_defaults":    "write defaults: {TYPE: {...}}",
	"max_fail":           "write max_fail_percentage",
	"no_log":             "write sensitive: true at the resources",
	"order":              "leave it out: hosts have the order of the inventory",
	"port":               "write connect: {port: PORT} in the inventory",
	"remote_user":        "write -u USER, or connect: {user: USER} in the inventory",
	"run_once":           "write once: true at the resources",
	"sudo":               "write become: true",
	"sudo_user":          "write become_user",
	"throttle":           "write sema at the resources, or run with -f N",
	"timeout":            "write timeout at the resources",
	"user":               "write -u USER, or connect: {user: USER} in the inventory",
	"vars":               "write data",
	"vars_prompt":        "use -e",
	"when":               "write control: {if: EXPRESSION} at the resources",
}

// A Key is what to write in place of a key that resources do not have.
type Key struct {
	Here string // the property that takes its place; "" if every type has what the hint says
	Hint string
}

// TaskKeys are keys of Ansible's tasks and of other tools, with what
// to write here.
var TaskKeys = map[string]Key{
	"when":          {"", "write control: {if: EXPRESSION}"},
	"loop":          {"", "write each"},
	"with_items":    {"", "write each"},
	"with_dict":     {"", "write each, with toPairs(...)"},
	"with_nested":   {"", "write a block with each around it: the outer element is Outer"},
	"loop_control":  {"", "the element is Item; that of a block with each around it is Outer"},
	"state":         {"ensure", "write ensure"},
	"src":           {"source", "write source, or content with template(...)"},
	"dest":          {"owner", "the key is the path: - /etc/motd: {...}"},
	"path":          {"owner", "the key is the path: - /etc/motd: {...}"},
	"recurse":       {"", "file has it, with ensure: directory; scaffold keeps a whole folder, with owner and group"},
	"user":          {"owner", "write owner"},
	"enabled":       {"enable", "write enable"},
	"backup":        {"", "file has it; elsewhere leave it out: ccm-push undo brings back what a run has changed"},
	"chdir":         {"cwd", "write cwd"},
	"removes":       {"onlyif", "write onlyif: test -e PATH"},
	"cmd":           {"command", "write command"},
	"shell":         {"cwd", "write provider: shell"},
	"executable":    {"cwd", "write provider: shell for /bin/sh, or name the program in command"},
	"args":          {"", "write the properties beside each other"},
	"changed_when":  {"onlyif", "write readonly: true for a command that changes nothing; or onlyif, unless or creates, which say whether there is something to change"},
	"failed_when":   {"returns", "write returns: [0, 2], the exit codes that mean success; or register, and a resource with control that fails"},
	"ignore_errors": {"", "leave it out: other resources go on, unless ccm.fail_on_error is set"},
	"no_log":        {"", "write sensitive: true"},
	"check_mode":    {"", "write noop: true"},
	"become":        {"", "escalation is for a play; exec has user"},
	"become_user":   {"", "escalation is for a play; exec has user"},
	"delegate_to":   {"", "write on: HOST, or on: controller"},
	"local_action":  {"", "write on: controller at the resource"},
	"run_once":      {"", "write once: true"},
	"password":      {"password_hash", "a user has password_hash: write a hash, as openssl passwd -6 prints it"},
	"retries":       {"", "write retry"},
	"until":         {"", "write retry"},
	"throttle":      {"", "write sema"},
	"semaphore":     {"", "write sema"},
	"semaphores":    {"", "write sema"},
	"receive":       {"", "write recv"},
	"vars":          {"", "write data at the play"},
}

// SharedKeys are keys that tasks of Ansible and resources here both have.
var SharedKeys = []string{"name", "tags", "notify", "delay", "timeout", "register"}
