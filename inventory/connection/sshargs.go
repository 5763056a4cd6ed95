package connection

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/kballard/go-shellquote"
)

// An argument is an option of ssh and its value.
type argument struct{ option, value string }

func parseArgs(name, text string) ([]field, error) {
	if err := checkLiteral(name, text); err != nil {
		return nil, err
	}
	words, err := shellquote.Split(text)
	if err != nil {
		return nil, problemf("quote as in a shell", "%s: a quote or a backslash is not closed", name)
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
		if known, ok := switches[word]; ok {
			list = append(list, known)
			continue
		}
		if len(word) < 2 || word[0] != '-' || !strings.Contains("oJpil", word[1:2]) {
			return nil, problemf("remove this option; supported options: -o, -J, -p, -i, -l, -C, -4, -6 and -q", "%s: %q is not supported", name, word)
		}
		flag, value := word[:2], word[2:]
		if value == "" {
			if len(words) == 0 {
				return nil, problemf("", "%s: %s needs a value", name, flag)
			}
			value, words = words[0], words[1:]
		}
		list = append(list, sshArgument(flag, value))
	}
	return list, nil
}

// switches are the flags of ssh that take no value.
var switches = map[string]argument{
	"-A": {"ForwardAgent", "yes"},
	"-a": {"ForwardAgent", "no"},
	"-C": {"Compression", "yes"},
	"-4": {"AddressFamily", "inet"},
	"-6": {"AddressFamily", "inet6"},
	"-q": {"LogLevel", "QUIET"},
}

// sshArgument translates the short flags to the names that they have with -o.
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
// counts, names go by any case, and files of keys and certificates add up.
func argumentFields(name string, arguments []argument) ([]field, error) {
	g := givenOptions{name: name, texts: map[string][]string{}, calls: map[string]string{}}
	for _, a := range arguments {
		if err := g.add(a); err != nil {
			return nil, err
		}
	}
	return g.fields()
}

// givenOptions are options from the same variable.
type givenOptions struct {
	name   string              // variable that contains them
	keys   []string            // connection keys, in the order given
	texts  map[string][]string // by key
	calls  map[string]string   // how errors call it, by key
	passed []field             // options that have no key
}

func (g *givenOptions) add(a argument) error {
	key := optionKey(a.option)
	switch {
	case ignoredOption(a):
		return nil
	case key == "" && passedOn(a.option):
		f, err := optionField(g.name, a)
		if repeats(a.option) || !slices.ContainsFunc(g.passed, f.sameOption) {
			g.passed = append(g.passed, f)
		}
		return err
	case key == "":
		return problemf(optionHint(a), "%s: option %q is not supported", g.name, a.option)
	}
	values := []string{a.value}
	if files := strings.Fields(a.value); key == "known_hosts" && len(files) > 0 {
		values = files
	}
	switch {
	case g.texts[key] == nil:
		g.keys = append(g.keys, key)
		g.texts[key], g.calls[key] = values, a.option
	case key == "private_key":
		g.texts[key] = append(g.texts[key], values...)
	}
	return nil
}

func (g *givenOptions) fields() ([]field, error) {
	var fields []field
	for _, key := range g.keys {
		f, err := parseField(g.calls[key], key, g.texts[key])
		if err != nil {
			return nil, within(g.name, err)
		}
		fields = append(fields, f)
	}
	return append(fields, g.passed...), nil
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
		return jumpKey
	case "connecttimeout":
		return "connect_timeout"
	}
	return ""
}

// optionNames are the options that are passed on unchanged, in [Params.Options].
var optionNames = []string{
	"AddressFamily", "BatchMode", "CertificateFile", "Ciphers", "Compression", "ConnectionAttempts", "GlobalKnownHostsFile",
	"HashKnownHosts", "HostKeyAlgorithms", "HostKeyAlias", "IdentitiesOnly", "IdentityAgent", "KbdInteractiveAuthentication",
	"KexAlgorithms", "LogLevel", "MACs", "NumberOfPasswordPrompts", "PasswordAuthentication", "PreferredAuthentications",
	"PubkeyAcceptedAlgorithms", "PubkeyAuthentication", "ServerAliveCountMax", "ServerAliveInterval",
}

func passedOn(option string) bool {
	return slices.ContainsFunc(optionNames, func(name string) bool { return strings.EqualFold(name, option) })
}

// repeats reports whether all values of an option count; of other options the first does.
func repeats(option string) bool { return strings.EqualFold(option, "CertificateFile") }

func optionField(name string, a argument) (field, error) {
	err := within(name, checkLiteral(a.option, a.value))
	return field{option: Option{Name: a.option, Value: a.value}}, err
}

// within puts the name of the variable in front of a problem with one of its options.
func within(name string, err error) error {
	if p, ok := errors.AsType[*problem](err); ok {
		return &problem{msg: name + ": " + p.msg, hint: p.hint}
	}
	return err
}

func (f field) sameOption(other field) bool {
	return strings.EqualFold(f.option.Name, other.option.Name)
}

// ignoredOption reports whether an option makes no difference: a run has one connection
// per host anyway, and never forwards the agent.
func ignoredOption(a argument) bool {
	switch strings.ToLower(a.option) {
	case "controlmaster", "controlpath", "controlpersist":
		return true
	case "forwardagent":
		return strings.EqualFold(a.value, "no")
	}
	return false
}

// jumpByCommand matches the usual ProxyCommand for a jump host.
var jumpByCommand = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^ssh (?:-q )?-W "?%h:%p"? (?:-q )?([\w.@-]+)$`)
})

func optionHint(a argument) string {
	switch strings.ToLower(a.option) {
	case "proxycommand":
		if m := jumpByCommand().FindStringSubmatch(a.value); m != nil {
			return "use ProxyJump: -J " + m[1]
		}
		return "use ProxyJump; a command is run from your own ssh_config only"
	case "forwardagent":
		return "a host could use your keys while it is connected; to connect through a host, use ProxyJump"
	}
	return "supported: HostName, Port, User, IdentityFile, UserKnownHostsFile, StrictHostKeyChecking, ProxyJump, ConnectTimeout, " +
		strings.Join(optionNames, ", ")
}
