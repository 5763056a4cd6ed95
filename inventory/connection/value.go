package connection

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/ccm-push/ccm-push/inventory/pattern"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A problem is an error in a text itself. The caller knows the position of the text and adds it.
type problem struct{ msg, hint string }

func (e *problem) Error() string { return e.msg }

func problemf(hint, format string, args ...any) error {
	return &problem{fmt.Sprintf(format, args...), hint}
}

func positioned(n *yamlpos.Node, err error) error {
	if p, ok := errors.AsType[*problem](err); ok {
		return n.Errorf(p.hint, "%s", p.msg)
	}
	return n.Errorf("", "%s", err)
}

// parseField reads texts: one text unless key is private_key or known_hosts. name is the name used in errors.
func parseField(name, key string, texts []string) (field, error) {
	for _, text := range texts {
		if err := checkLiteral(name, text); err != nil {
			return field{}, err
		}
	}
	if len(texts) == 0 {
		return field{}, problemf("remove the key, or list a file", "%q is an empty list", name)
	}
	set, err := parseValue(name, key, texts)
	return field{key: key, set: set}, err
}

// checkLiteral refuses texts that cannot be a connection value.
func checkLiteral(name, text string) error {
	switch {
	case strings.Contains(text, "{{"), strings.Contains(text, "{%"), strings.Contains(text, "${"):
		return problemf("write the value itself: ccm-push reads connection settings before it evaluates expressions", "%q cannot be an expression", name)
	case strings.TrimSpace(text) == "":
		return problemf("", "%q is empty", name)
	case strings.ContainsFunc(text, unicode.IsControl):
		return problemf("", "%q has a control character: %q", name, text)
	}
	return nil
}

func parseValue(name, key string, texts []string) (func(*Params), error) {
	text := texts[0]
	switch key {
	case "address":
		return func(p *Params) { p.Address = text }, checkAddress(name, text)
	case "port":
		port, err := ParsePort(name, text)
		return func(p *Params) { p.Port = port }, err
	case "user":
		return func(p *Params) { p.User = text }, checkWord(name, text)
	case "private_key":
		return func(p *Params) { p.PrivateKeys = slices.Clone(texts) }, nil
	case "known_hosts":
		return func(p *Params) { p.KnownHosts = slices.Clone(texts) }, checkKnownHosts(name, texts)
	case "host_key_checking":
		checking, err := parseHostKeyChecking(name, text)
		return func(p *Params) { p.HostKeyChecking = checking }, err
	case jumpKey:
		jumps, err := parseJumps(name, text)
		return func(p *Params) { p.Jump = slices.Clone(jumps) }, err
	case relayKey:
		return func(p *Params) { p.Relay = text }, checkRelay(name, text)
	case "connect_timeout":
		timeout, err := parseSeconds(name, text)
		return func(p *Params) { p.ConnectTimeout = timeout }, err
	case "become":
		become, err := parseBool(name, text)
		return func(p *Params) { p.Become = become }, err
	case "become_user":
		return func(p *Params) { p.BecomeUser = text }, checkAccount(name, text)
	case "become_method":
		method, err := parseBecomeMethod(name, text)
		return func(p *Params) { p.BecomeMethod = method }, err
	case "connection":
		local, err := parseKind(name, text)
		return func(p *Params) { p.Local = local }, err
	}
	panic("connection: no connection key " + strconv.Quote(key))
}

func checkAddress(name, text string) error {
	if !pattern.IsHostName(text) {
		return problemf("write a host name or an IP address; a port has a key of its own", "the value %[2]q of %[1]q is not an address", name, text)
	}
	return nil
}

// ParsePort parses a port number. name is the name used in errors.
func ParsePort(name, text string) (int, error) {
	port, err := strconv.Atoi(text)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, problemf("", "the value %[2]q of %[1]q is not a number", name, text)
	case port < 1 || port > 65535:
		return 0, problemf("", "%q must be from 1 to 65535, not %s", name, text)
	}
	return port, nil
}

func checkRelay(name, text string) error {
	if !pattern.IsName(text) {
		return problemf("write the name of a group or of a host, or "+NoRelay, "%s: %q is not a name", name, text)
	}
	return nil
}

// checkWord refuses blanks, and a - in front, which ssh would take for an option.
func checkWord(name, text string) error {
	if strings.ContainsFunc(text, unicode.IsSpace) || strings.HasPrefix(text, "-") {
		return problemf("", "the value %[2]q of %[1]q has a blank, or - in front", name, text)
	}
	return nil
}

func checkAccount(name, text string) error {
	if !isAccount(text) {
		return problemf("letters, digits and _ . @ + - are allowed", "the value %[2]q of %[1]q is not an account name", name, text)
	}
	return nil
}

// isAccount holds text to what login names are made of (useradd(8), and @ for
// domains): it becomes a word of a command line.
func isAccount(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_':
		case i > 0 && strings.IndexByte(".@+-", c) >= 0:
		default:
			return false
		}
	}
	return text != ""
}

func checkKnownHosts(name string, files []string) error {
	if slices.Contains(files, "/dev/null") || slices.Contains(files, "none") {
		return problemf("host keys are always verified: remove it and trust the host's key once", "%q without a file would verify nothing", name)
	}
	return nil
}

func parseHostKeyChecking(name, text string) (string, error) {
	switch strings.ToLower(text) {
	case "yes", "true", "on", "ask": // a run never prompts
		return "yes", nil
	case "accept-new":
		return "accept-new", nil
	case "no", "false", "off":
		return "", problemf("host keys are always verified: write accept-new to take the key of a new host, or trust it once", "%q cannot be %s", name, text)
	}
	return "", problemf("write yes or accept-new", "%q cannot be %q", name, text)
}

func parseSeconds(name, text string) (time.Duration, error) {
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < 1 || seconds > 24*60*60 {
		return 0, problemf("", "%q must be a number of seconds from 1 to a day, not %q", name, text)
	}
	return time.Duration(seconds) * time.Second, nil
}

// parseBool takes the words of YAML 1.1, quoted ones too, since Ansible does.
func parseBool(name, text string) (value bool, err error) {
	if yamlpos.Decode(yamlpos.TextFrom("", text), &value) != nil {
		return false, problemf("", "%q must be true or false, not %q", name, text)
	}
	return value, nil
}

// parseBecomeMethod takes the names of Ansible's plugins too, whole ones included.
func parseBecomeMethod(name, text string) (string, error) {
	switch text {
	case "sudo", "ansible.builtin.sudo":
		return "sudo", nil
	case "su", "ansible.builtin.su":
		return "su", nil
	case "doas", "community.general.doas":
		return "doas", nil
	}
	return "", problemf("write sudo, su or doas", "%q cannot be %q", name, text)
}

// parseKind reads how a host is talked to, and reports whether that is without
// SSH. Ansible's other ways of SSH mean the same here.
func parseKind(name, text string) (local bool, err error) {
	switch text {
	case "local", "ansible.builtin.local":
		return true, nil
	case "ssh", "smart", "paramiko", "paramiko_ssh", "ansible.builtin.ssh", "ansible.builtin.paramiko_ssh":
		return false, nil
	}
	return false, problemf("supported values: ssh, local", "%q cannot be %q", name, text)
}

// secret reads a password into s. Output about s has its position only, and no error contains the text. A password that
// another variable holds has no fields until its reference is followed.
func secret(s Setting, key string) Setting {
	s.secret = s.at
	s.at = &yamlpos.Node{File: s.at.File, Line: s.at.Line, Column: s.at.Column}
	if s.refers() {
		return s
	}
	if err := checkSecret(strconv.Quote(s.name), s.secret); err != nil {
		s.refuse(err)
		return s
	}
	s.fields = passwordField(key, s.secret)
	return s
}

// passwordField sets a password that has been checked.
func passwordField(key string, n *yamlpos.Node) []field {
	text, sealed := n.Text, (*yamlpos.Node)(nil)
	if n.Sealed != nil {
		text, sealed = "", n
	}
	set := func(p *Params) { p.Password, p.SealedPassword = text, sealed }
	if key == "become_password" {
		set = func(p *Params) { p.BecomePassword, p.SealedBecome = text, sealed }
	}
	return []field{{key: key, set: set}}
}

// checkSecret refuses a value that cannot be a password. subject begins the message.
func checkSecret(subject string, n *yamlpos.Node) error {
	switch {
	case n.CanOpen():
		return nil
	case n.Sealed != nil:
		return n.EncryptedErrorf("%s is encrypted by ansible-vault", subject)
	case n.Kind != yamlpos.Scalar:
		return n.Errorf("", "%s must be a single value", subject)
	case n.Text == "":
		return n.Errorf("remove it, or write the key without a value to unset an inherited one", "%s is empty", subject)
	case yamlpos.IsTemplate(n):
		return n.Errorf(`only a single "{{ name }}" of another variable of the host works here; for a literal password write !unsafe before it in YAML; for a prompt pass -k or -K; for passwords from a program pass a second -i SCRIPT that prints {"db":{"vars":{"ansible_become_password":"…"}}}, for example from ansible-vault view`, "%s cannot be an expression", subject)
	case strings.ContainsFunc(n.Text, unicode.IsControl):
		return n.Errorf("", "%s has a control character", subject)
	}
	if _, isText := n.Value.(string); !isText && yamlpos.From(n, n.Value).Text != n.Text {
		return n.Errorf("quote it, on a line of an INI inventory twice: '\"…\"'", "%s is not read as text, but as a number or a boolean that is written another way", subject)
	}
	return nil
}
