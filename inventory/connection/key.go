package connection

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// keys are the keys allowed below connect:.
var keys = []string{
	"address", "port", "user", "password", "private_key", "known_hosts", jumpKey, relayKey, "connection",
	"become", "become_user", "become_method", "become_password",
}

const (
	jumpKey  = "jump"
	relayKey = "relay"
)

// IsKey reports whether a key is allowed below connect:.
func IsKey(key string) bool { return slices.Contains(keys, key) }

// IsNearKey reports whether a key was probably meant as a key of connect:, by [yamlpos.Suggest], so misspelt keys count
// too.
func IsNearKey(key string) bool { return yamlpos.Suggest(key, keys) != "" }

func unknownKey(key *yamlpos.Node) error {
	if meant := yamlpos.Suggest(key.Text, keys); meant != "" {
		return key.Errorf("", "unknown key %q (did you mean %q?)", key.Text, meant)
	}
	return key.Errorf("known keys: "+strings.Join(keys, ", "), "unknown key %q", key.Text)
}

// keyOf returns the connection key that an Ansible variable sets; "" if it sets none. The old names with ssh in them
// still work in Ansible.
func keyOf(variable string) string {
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
	// keyVars are the variables with a key below connect:, each by its usual name.
	keyVars = []string{
		"ansible_host", "ansible_port", "ansible_user", "ansible_ssh_private_key_file", "ansible_connection",
		"ansible_become", "ansible_become_user", "ansible_become_method", "ansible_become_password", "ansible_password",
	}
)

// IsSecretKey reports whether the value of a key below connect: is a secret.
func IsSecretKey(key string) bool { return key == "password" || key == "become_password" }

// IsSecretVariable reports whether an Ansible variable is a password. Passwords are read into [Params] and omitted from
// the variables.
func IsSecretVariable(name string) bool {
	return strings.HasPrefix(name, "ansible_") && IsSecretKey(keyOf(name))
}
