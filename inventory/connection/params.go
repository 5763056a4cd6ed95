package connection

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Params are what an inventory says about reaching a host. Fields that it says
// nothing about are zero, but for Address.
type Params struct {
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
	if p.Password != "" {
		p.Password = withheld
	}
	if p.BecomePassword != "" {
		p.BecomePassword = withheld
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), plain(p))
}

const withheld = "(secret)"
