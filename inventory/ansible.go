package inventory

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// connectionKey says which key of a connection an Ansible variable is, "" if it
// is none. The old names with ssh in them still work in Ansible.
func connectionKey(variable string) string {
	switch variable {
	case "ansible_host", "ansible_ssh_host":
		return "address"
	case "ansible_port", "ansible_ssh_port":
		return "port"
	case "ansible_user", "ansible_ssh_user":
		return "user"
	case "ansible_ssh_private_key_file", "ansible_private_key_file":
		return "private_key"
	case "ansible_host_key_checking", "ansible_ssh_host_key_checking":
		return "host_key_checking"
	case "ansible_timeout", "ansible_ssh_timeout":
		return "connect_timeout"
	case "ansible_become":
		return "become"
	case "ansible_become_user":
		return "become_user"
	case "ansible_become_method":
		return "become_method"
	case "ansible_connection":
		return "connection"
	case "ansible_password", "ansible_ssh_pass", "ansible_ssh_password":
		return "password"
	case "ansible_become_password", "ansible_become_pass", "ansible_sudo_pass", "ansible_su_pass", "ansible_doas_pass":
		return "become_password"
	}
	return ""
}

// The other variables of Ansible that are about the connection.
var (
	argsVars        = []string{"ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args"}
	ignoredVars     = []string{"ansible_python_interpreter", "ansible_shell_type", "ansible_pipelining", "ansible_ssh_pipelining"}
	unsupportedVars = []string{
		"ansible_become_exe", "ansible_become_flags",
		"ansible_ssh_executable", "ansible_scp_extra_args", "ansible_sftp_extra_args",
	}
	// meantVars is what a misspelt variable may have been meant to be.
	meantVars = append([]string{
		"ansible_host", "ansible_port", "ansible_user", "ansible_ssh_private_key_file", "ansible_connection",
		"ansible_become", "ansible_become_user", "ansible_become_method", "ansible_become_password", "ansible_password",
		priorityKey,
	}, argsVars...)
)

// ansibleSettings reads the variables in a map that concern the connection.
func (b *builder) ansibleSettings(vars *yamlpos.Node) []setting {
	var list []setting
	for _, p := range vars.Pairs {
		if strings.HasPrefix(p.Key.Text, "ansible_") {
			if s, ok := b.ansibleSetting(p.Key, p.Value); ok {
				list = append(list, s)
			}
		}
	}
	return list
}

func (b *builder) ansibleSetting(key, value *yamlpos.Node) (setting, bool) {
	name := key.Text
	if field := connectionKey(name); field != "" {
		return b.setting(ansibleVar, name, field, asVariable(value))
	}
	switch {
	case name == priorityKey:
	case slices.Contains(argsVars, name):
		return b.argsSetting(name, value)
	case slices.Contains(ignoredVars, name):
		b.notes.ignore(key)
	case slices.Contains(unsupportedVars, name):
		b.errs.Add(key.Errorf("remove it", "%s is not supported yet", name))
	default:
		if meant := yamlpos.Suggest(name, meantVars); meant != "" {
			b.notes.nearMiss(key, meant)
		}
	}
	return setting{}, false
}

// asVariable gives n the text that the value of a variable has: 0x10 is 16.
func asVariable(n *yamlpos.Node) *yamlpos.Node {
	if _, isText := n.Value.(string); isText || n.Kind != yamlpos.Scalar {
		return n
	}
	return yamlpos.From(n, n.Value)
}

// argsSetting reads arguments that Ansible would give to ssh. They are never
// given to a shell or to ssh: what is not understood is an error.
func (b *builder) argsSetting(name string, n *yamlpos.Node) (setting, bool) {
	if isNull(n) || n.Kind == yamlpos.Scalar && n.Text == "" {
		return setting{name: name, rank: sshArgs, at: n}, true
	}
	texts, err := textsOf(name, n, false)
	if err != nil {
		b.errs.Add(err)
		return setting{}, false
	}
	fields, err := parseArgs(name, texts[0])
	if err != nil {
		b.errs.Add(positioned(n, err))
		return setting{}, false
	}
	return setting{name, sshArgs, n, fields}, true
}
