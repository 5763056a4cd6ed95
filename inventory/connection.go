package inventory

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/ccm-push/ccm-push/inventory/nodeset"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Connection is what the inventory says about reaching a host. Fields that it
// says nothing about are zero, but for Address.
type Connection struct {
	Address         string        // name or IP address to dial; the host's name unless set
	Port            int           // 1 to 65535
	User            string        // to log in as
	PrivateKeys     []string      // files, as written: ~ is not expanded
	KnownHosts      []string      // files, as written
	HostKeyChecking string        // "yes" or "accept-new"
	Jump            []Hop         // hosts to go through, outermost first
	ConnectTimeout  time.Duration // dial, handshake and login
	Become          bool          // escalate; Pos["become"] tells false from not set
	BecomeUser      string
	BecomeMethod    string // "sudo", "su" or "doas"
	// Password and BecomePassword are secrets: they are no variables of the host,
	// and nothing may show them.
	Password, BecomePassword string
	Local                    bool     // the controller itself, without SSH
	Options                  []Option // of ssh, which the other fields do not say
	// Pos has the position ("file:line:column") of every value that is set, under
	// its key in a connect map, or "host_key_checking" and "connect_timeout".
	Pos map[string]string
}

// An Option is one that ssh would have got with -o, as ssh_config(5) has it.
type Option struct {
	Name  string // as written
	Value string
	Pos   string // file:line:column
}

// A setting is one key of a layer that says something about the connection.
type setting struct {
	name   string // as written
	rank   rank
	at     *yamlpos.Node
	fields []field
}

// A rank orders the settings of one layer; the last one wins.
type rank int

const (
	sshArgs     rank = iota // ansible_ssh_common_args and the like
	ansibleVar              // ansible_port and the like
	connectMaps             // what stands below connect:
)

// A field is a value for one field of a connection.
type field struct {
	key string // in a connect map; "" of options
	set func(*Connection)
	// option is what goes to Connection.Options instead; its Pos is not set.
	option Option
}

// Connection gives what the inventory says about reaching the host. Layers are
// those of [Host.Vars]; within one layer connect: wins over ansible_ variables.
func (h *Host) Connection() Connection {
	c := Connection{Address: h.Name, Pos: map[string]string{}}
	for _, s := range h.settings() {
		for _, f := range s.fields {
			if f.key == "" {
				f.option.Pos = s.at.Pos()
				c.addOption(f.option)
				continue
			}
			f.set(&c)
			c.Pos[f.key] = s.at.Pos()
		}
	}
	return c
}

// settings lists what applies to the host, lowest first. A setting of the same
// name replaces the one of a lower layer whole, as variables do.
func (h *Host) settings() []setting {
	var list []setting
	overlay := func(l *layer) {
		for _, s := range l.settings {
			list = slices.DeleteFunc(list, func(lower setting) bool { return lower.name == s.name })
			list = append(list, s)
		}
	}
	for p := range h.places() {
		overlay(p.layer)
	}
	return list
}

// connectKeys is what may stand below connect:.
var connectKeys = []string{
	"address", "port", "user", "password", "private_key", "known_hosts", "jump", "connection",
	"become", "become_user", "become_method", "become_password",
}

// connect reads a connect map into l.
func (b *builder) connect(l *layer, n *yamlpos.Node) {
	l.connects = append(l.connects, without(n, isSecretKey))
	for _, p := range n.Pairs {
		if !slices.Contains(connectKeys, p.Key.Text) {
			b.errs.Add(unknownConnectKey(p.Key))
			continue
		}
		if s, ok := b.setting(connectMaps, p.Key.Text, p.Key.Text, p.Value); ok {
			l.addSettings([]setting{s})
		}
	}
}

func unknownConnectKey(key *yamlpos.Node) error {
	if meant := yamlpos.Suggest(key.Text, connectKeys); meant != "" {
		return key.Errorf("", "unknown key %q (did you mean %q?)", key.Text, meant)
	}
	return key.Errorf("known keys: "+strings.Join(connectKeys, ", "), "unknown key %q", key.Text)
}

// setting reads the value n, written under name, of a key of a connection. Null
// is a setting too: it takes away what a lower layer set under that name.
func (b *builder) setting(r rank, name, key string, n *yamlpos.Node) (setting, bool) {
	if isNull(n) {
		return setting{name: name, rank: r, at: n}, true
	}
	if isSecretKey(key) {
		return b.secretSetting(r, name, key, n)
	}
	texts, err := textsOf(name, n, r == connectMaps && (key == "private_key" || key == "known_hosts"))
	if err != nil {
		b.errs.Add(err)
		return setting{}, false
	}
	f, err := parseField(name, key, texts)
	if err != nil {
		b.errs.Add(positioned(n, err))
		return setting{}, false
	}
	return setting{name, r, n, []field{f}}, true
}

// textsOf gives the text of a scalar, or those of a list where one may stand.
func textsOf(name string, n *yamlpos.Node, list bool) ([]string, error) {
	if n.Kind == yamlpos.Scalar {
		return []string{n.Text}, nil
	}
	if n.Kind == yamlpos.Map || !list {
		return nil, n.Errorf("", "%s must be a single value, not %s", name, n.Describe())
	}
	var texts []string
	err := yamlpos.Decode(n, &texts)
	return texts, err
}

func positioned(n *yamlpos.Node, err error) error {
	if te, ok := errors.AsType[*textError](err); ok {
		return n.Errorf(te.hint, "%s", te.msg)
	}
	return n.Errorf("", "%s", err)
}

// parseField reads texts, which is one text unless key is private_key or
// known_hosts. name is how the errors call it.
func parseField(name, key string, texts []string) (field, error) {
	for _, text := range texts {
		if err := checkLiteral(name, text); err != nil {
			return field{}, err
		}
	}
	if len(texts) == 0 {
		return field{}, badValue("remove the key, or list a file", "%s is an empty list", name)
	}
	set, err := parseValue(name, key, texts)
	return field{key: key, set: set}, err
}

// checkLiteral refuses what no connection value can be.
func checkLiteral(name, text string) error {
	switch {
	case strings.Contains(text, "{{"), strings.Contains(text, "${"):
		return badValue("connection values are read before anything is evaluated: write the value itself", "%s cannot be an expression", name)
	case strings.TrimSpace(text) == "":
		return badValue("", "%s is empty", name)
	case strings.ContainsFunc(text, unicode.IsControl):
		return badValue("", "%s has a control character: %q", name, text)
	}
	return nil
}

func parseValue(name, key string, texts []string) (func(*Connection), error) {
	text := texts[0]
	switch key {
	case "address":
		return func(c *Connection) { c.Address = text }, checkAddress(name, text)
	case "port":
		port, err := parsePort(name, text)
		return func(c *Connection) { c.Port = port }, err
	case "user":
		return func(c *Connection) { c.User = text }, checkWord(name, text)
	case "private_key":
		return func(c *Connection) { c.PrivateKeys = slices.Clone(texts) }, nil
	case "known_hosts":
		return func(c *Connection) { c.KnownHosts = slices.Clone(texts) }, checkKnownHosts(name, texts)
	case "host_key_checking":
		checking, err := parseHostKeyChecking(name, text)
		return func(c *Connection) { c.HostKeyChecking = checking }, err
	case "jump":
		hops, err := parseHops(name, text)
		return func(c *Connection) { c.Jump = slices.Clone(hops) }, err
	case "connect_timeout":
		timeout, err := parseSeconds(name, text)
		return func(c *Connection) { c.ConnectTimeout = timeout }, err
	case "become":
		become, err := parseBool(name, text)
		return func(c *Connection) { c.Become = become }, err
	case "become_user":
		return func(c *Connection) { c.BecomeUser = text }, checkAccount(name, text)
	case "become_method":
		method, err := parseBecomeMethod(name, text)
		return func(c *Connection) { c.BecomeMethod = method }, err
	case "connection":
		local, err := parseKind(name, text)
		return func(c *Connection) { c.Local = local }, err
	}
	panic("inventory: no connection key " + strconv.Quote(key))
}

func checkAddress(name, text string) error {
	if !nodeset.IsName(text) || strings.Contains(text, ":") && !isIPv6(text) {
		return badValue("write a host name or an IP address; a port has a key of its own", "%s %q is no address", name, text)
	}
	return nil
}

func parsePort(name, text string) (int, error) {
	port, err := strconv.Atoi(text)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, badValue("", "%s %q is no number", name, text)
	case port < 1 || port > 65535:
		return 0, badValue("", "%s %s is outside 1-65535", name, text)
	}
	return port, nil
}

// checkWord refuses blanks, and a - in front, which ssh would take for an option.
func checkWord(name, text string) error {
	if strings.ContainsFunc(text, unicode.IsSpace) || strings.HasPrefix(text, "-") {
		return badValue("", "%s %q has a blank, or - in front", name, text)
	}
	return nil
}

// account is what login names are made of (useradd(8), and @ for domains): it
// becomes a word of a command line.
var account = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@+-]*$`)

func checkAccount(name, text string) error {
	if !account.MatchString(text) {
		return badValue("letters, digits and _ . @ + - are allowed", "%s %q is no account name", name, text)
	}
	return nil
}

func checkKnownHosts(name string, files []string) error {
	if slices.Contains(files, "/dev/null") || slices.Contains(files, "none") {
		return badValue("host keys are always verified: remove it and trust the host's key once", "%s without a file would verify nothing", name)
	}
	return nil
}

func parseHostKeyChecking(name, text string) (string, error) {
	switch strings.ToLower(text) {
	case "yes", "true", "on", "ask": // there is nobody to ask during a run
		return "yes", nil
	case "accept-new":
		return "accept-new", nil
	case "no", "false", "off":
		return "", badValue("host keys are always verified: write accept-new to take the key of a new host, or trust it once", "%s %s is not supported", name, text)
	}
	return "", badValue("write yes or accept-new", "%s %q is unknown", name, text)
}

func parseSeconds(name, text string) (time.Duration, error) {
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < 1 || seconds > 24*60*60 {
		return 0, badValue("", "%s %q is no number of seconds from 1 to a day", name, text)
	}
	return time.Duration(seconds) * time.Second, nil
}

// parseBool takes the words of YAML 1.1, quoted ones too, since Ansible does.
func parseBool(name, text string) (value bool, err error) {
	if yamlpos.Decode(textNode("", text), &value) != nil {
		return false, badValue("", "%s must be true or false, not %q", name, text)
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
	return "", badValue("write sudo, su or doas", "%s %q is not supported", name, text)
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
	return false, badValue("write ssh or local", "%s %q is not supported", name, text)
}
