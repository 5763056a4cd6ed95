package inventory

import (
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"

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
	}
	return ""
}

// The other variables of Ansible that are about the connection.
var (
	argsVars        = []string{"ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args"}
	ignoredVars     = []string{"ansible_python_interpreter", "ansible_shell_type", "ansible_pipelining", "ansible_ssh_pipelining"}
	unsupportedVars = []string{
		"ansible_password", "ansible_ssh_pass", "ansible_ssh_password",
		"ansible_become_password", "ansible_become_pass", "ansible_sudo_pass",
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
	case name == "ansible_connection":
		b.checkConnection(value)
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

// checkConnection refuses connections that are not SSH.
func (b *builder) checkConnection(n *yamlpos.Node) {
	if isNull(n) || n.Text == "ssh" || n.Text == "smart" {
		return
	}
	b.errs.Add(n.Errorf("write ssh, or remove it", "ansible_connection %q is not supported yet", n.Text))
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

// An argument is an option of ssh and its value.
type argument struct{ option, value string }

func parseArgs(name, text string) ([]field, error) {
	if err := checkLiteral(name, text); err != nil {
		return nil, err
	}
	words, err := shellquote.Split(text)
	if err != nil {
		return nil, badValue("quote as in a shell", "%s: a quote or a backslash is not closed", name)
	}
	arguments, err := splitArgs(name, words)
	if err != nil {
		return nil, err
	}
	return argumentFields(name, arguments)
}

// splitArgs pairs the words of an ssh command line: -o Port=22, -oPort=22, -p 22.
func splitArgs(name string, words []string) ([]argument, error) {
	var list []argument
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		if len(word) < 2 || word[0] != '-' || !strings.Contains("oJpil", word[1:2]) {
			return nil, badValue("only -o, -J, -p, -i and -l are understood", "%s: %q is not supported", name, word)
		}
		flag, value := word[:2], word[2:]
		if value == "" {
			if len(words) == 0 {
				return nil, badValue("", "%s: %s needs a value", name, flag)
			}
			value, words = words[0], words[1:]
		}
		list = append(list, sshArgument(flag, value))
	}
	return list, nil
}

// sshArgument gives the short flags the names they have behind -o.
func sshArgument(flag, value string) argument {
	switch flag {
	case "-J":
		return argument{"ProxyJump", value}
	case "-p":
		return argument{"Port", value}
	case "-i":
		return argument{"IdentityFile", value}
	case "-l":
		return argument{"User", value}
	}
	end := strings.IndexAny(value, "= \t")
	if end < 0 {
		return argument{option: value}
	}
	return argument{value[:end], strings.TrimLeft(value[end+1:], "= \t")}
}

// argumentFields reads options. As in ssh_config(5) the first value of an option
// counts, names go by any case, and IdentityFile adds up.
func argumentFields(name string, arguments []argument) ([]field, error) {
	var keys []string // in the order given
	texts := map[string][]string{}
	calls := map[string]string{}
	for _, a := range arguments {
		key := optionKey(a.option)
		if multiplexing(a.option) {
			continue
		}
		if key == "" {
			return nil, badValue(optionHint(a.option), "%s: option %q is not supported", name, a.option)
		}
		values := []string{a.value}
		if files := strings.Fields(a.value); key == "known_hosts" && len(files) > 0 {
			values = files
		}
		switch {
		case texts[key] == nil:
			keys = append(keys, key)
			texts[key], calls[key] = values, name+": "+a.option
		case key == "private_key":
			texts[key] = append(texts[key], values...)
		}
	}
	var fields []field
	for _, key := range keys {
		f, err := parseField(calls[key], key, texts[key])
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	return fields, nil
}

func optionKey(option string) string {
	switch strings.ToLower(option) {
	case "hostname":
		return "address"
	case "port":
		return "port"
	case "user":
		return "user"
	case "identityfile":
		return "private_key"
	case "userknownhostsfile":
		return "known_hosts"
	case "stricthostkeychecking":
		return "host_key_checking"
	case "proxyjump":
		return "jump"
	case "connecttimeout":
		return "connect_timeout"
	}
	return ""
}

// multiplexing reports whether an option is about sharing connections. A run has
// one connection per host anyway, so it has nothing to say here.
func multiplexing(option string) bool {
	switch strings.ToLower(option) {
	case "controlmaster", "controlpath", "controlpersist":
		return true
	}
	return false
}

func optionHint(option string) string {
	if strings.EqualFold(option, "proxycommand") {
		return "use ProxyJump"
	}
	return "understood are HostName, Port, User, IdentityFile, UserKnownHostsFile, StrictHostKeyChecking, ProxyJump and ConnectTimeout"
}
