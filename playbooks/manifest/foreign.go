package manifest

import "github.com/ccm-push/ccm-push/inventory/yamlpos"

// foreignPlayKeys are keys of Ansible's plays, with what to write here.
var foreignPlayKeys = map[string]string{
	"vars":               "write data",
	"remote_user":        "write -u USER, or connect: {user: USER} in the inventory",
	"gather_facts":       "leave it out: the facts that are mentioned are asked for",
	"connection":         "leave it out: the inventory says how a host is reached",
	"any_errors_fatal":   "write max_fail_percentage: 0",
	"environment":        "write it at each exec",
	"vars_prompt":        "use -e",
	"module_defaults":    "write an entry called defaults into a list of resources",
	"resources":          "write ccm: {resources: [...]}",
	"resources_jet_file": "write ccm: {resources_jet_file: ...}",
}

// foreignResourceKeys are keys of Ansible's tasks and of other tools, with what
// to write here.
var foreignResourceKeys = map[string]string{
	"when":          "write control: {if: EXPRESSION}",
	"loop":          "write each",
	"with_items":    "write each",
	"with_dict":     "write each, with toPairs(...)",
	"state":         "write ensure",
	"src":           "write source, or content with template(...)",
	"dest":          "the key is the path: - /etc/motd: {...}",
	"chdir":         "write cwd",
	"cmd":           "write command",
	"shell":         "write provider: shell",
	"executable":    "write provider: shell for /bin/sh, or name the program in command",
	"args":          "write the properties beside each other",
	"register":      "write recv where the value is used, as in recv: {content: exec#token.stdout}; to decide, write onlyif, unless, creates or subscribe",
	"changed_when":  "write onlyif, unless or creates",
	"failed_when":   "write returns",
	"ignore_errors": "leave it out: other resources go on, unless ccm.fail_on_error is set",
	"no_log":        "write sensitive: true",
	"check_mode":    "write noop: true",
	"become":        "escalation is for a play; exec has user",
	"become_user":   "escalation is for a play; exec has user",
	"delegate_to":   "write a play of its own for that host",
	"run_once":      "write a play of its own for one host",
	"password":      "a user has password_hash: write a hash, as openssl passwd -6 prints it",
	"retries":       "write retry",
	"until":         "write retry",
	"throttle":      "write sema",
	"vars":          "write data at the play",
}

// withoutForeign reports the keys of a play that other tools have, and leaves
// them out.
func (l *loader) withoutForeign(n *yamlpos.Node) *yamlpos.Node {
	kept := *n
	kept.Pairs = nil
	for _, pair := range n.Pairs {
		if hint, foreign := foreignPlayKeys[pair.Key.Text]; foreign {
			l.add(pair.Key.Errorf(hint, "unknown key %q", pair.Key.Text))
			continue
		}
		kept.Pairs = append(kept.Pairs, pair)
	}
	return &kept
}
