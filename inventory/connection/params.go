package connection

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Params are an inventory's settings for reaching a host. A field is zero if the inventory does not set it; Address is
// then the name of the host.
type Params struct {
	Address         string        // name or IP address to dial; the host's name unless set
	Port            int           // 1 to 65535
	User            string        // to log in as
	PrivateKeys     []string      // files, as written: ~ is not expanded
	KnownHosts      []string      // files, as written
	HostKeyChecking string        // "yes" or "accept-new"
	Jump            []JumpHost    // hosts to go through, outermost first
	Relay           string        // group or host that hands the host program on, or NoRelay
	ConnectTimeout  time.Duration // covers dial and handshake
	Become          bool          // escalate; Pos["become"] distinguishes false from not set
	BecomeUser      string
	BecomeMethod    string // "sudo", "su" or "doas"
	// Password and BecomePassword are secrets: they are not among the variables of the
	// host, and nothing may show them.
	Password, BecomePassword string
	// SealedPassword and SealedBecome are set instead if the passwords are encrypted or printed by a program.
	SealedPassword, SealedBecome *yamlpos.Node
	// Referred has the passwords that other variables hold ("{{ name }}"), under the same keys as Pos: the position of
	// a password that is written there in clear, "" for any other.
	Referred map[string]string
	Local    bool     // the controller itself, without SSH
	Options  []Option // ssh options without a field of their own
	// Pos has the position ("file:line:column") of every value that is set, under
	// its key in a connect map, or "host_key_checking" and "connect_timeout".
	Pos map[string]string
	// Refused has the reasons why settings cannot be applied, under the same keys, or under the names of variables that
	// have no key. Unless another source overrides such a key, the host must not be dialled, since the fields differ
	// from the inventory. nil if every setting can be applied.
	Refused map[string]yamlpos.Errors
}

// NoRelay as [Params.Relay] means no relay.
const NoRelay = "none"

// An Option is an option of ssh, see ssh_config(5).
type Option struct {
	Name  string // as written
	Value string
	Pos   string // file:line:column
}

// refuse records why a setting cannot be applied, and replaces a lower setting.
func (p *Params) refuse(s Setting) {
	if len(s.refused) == 0 {
		return
	}
	if p.Refused == nil {
		p.Refused = map[string]yamlpos.Errors{}
	}
	key := s.key()
	p.Refused[cmp.Or(key, s.name)] = s.refused
	if key != "" {
		p.Pos[key] = s.at.Pos()
	}
}

// refer records the position of the password that a setting referred to.
func (p *Params) refer(s Setting) {
	if p.Referred == nil {
		p.Referred = map[string]string{}
	}
	place := ""
	if len(s.refused) == 0 && !s.secret.Secret {
		place = s.secret.Pos()
	}
	p.Referred[s.key()] = place
}

// addOption takes an option of a higher layer than those before it.
func (p *Params) addOption(o Option) {
	if !repeats(o.Name) {
		p.Options = slices.DeleteFunc(p.Options, func(lower Option) bool { return strings.EqualFold(lower.Name, o.Name) })
	}
	p.Options = append(p.Options, o)
}

// Format withholds the passwords, however they are printed.
func (p Params) Format(f fmt.State, verb rune) {
	type plain Params
	p.SealedPassword, p.SealedBecome = nil, nil
	if p.Password != "" {
		p.Password = withheld
	}
	if p.BecomePassword != "" {
		p.BecomePassword = withheld
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), plain(p))
}

const withheld = "(secret)"
