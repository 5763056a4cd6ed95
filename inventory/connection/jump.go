package connection

import (
	"net"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/pattern"
)

// A JumpHost is one host of the route to another one.
type JumpHost struct {
	User string // "" if none is written
	Host string // a host of the inventory, or a name or address
	Port int    // 1 to 65535, or 0 if none is written
}

// Place is host or host:port.
func (h JumpHost) Place() string {
	if h.Port == 0 {
		return h.Host
	}
	return net.JoinHostPort(h.Host, strconv.Itoa(h.Port))
}

// String is [user@]host[:port].
func (h JumpHost) String() string {
	if h.User == "" {
		return h.Place()
	}
	return h.User + "@" + h.Place()
}

const jumpHint = "write [user@]host[:port]; separate several jump hosts with commas, in the order of connection"

// parseJumps reads the value of jump: none, or [user@]host[:port],... like the ProxyJump of ssh_config(5).
func parseJumps(name, text string) ([]JumpHost, error) {
	if text == "none" {
		return nil, nil
	}
	var jumps []JumpHost
	for one := range strings.SplitSeq(text, ",") {
		jump, err := parseJump(name, one)
		if err != nil {
			return nil, err
		}
		jumps = append(jumps, jump)
	}
	return jumps, nil
}

func parseJump(name, text string) (JumpHost, error) {
	var jump JumpHost
	rest := text
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		jump.User, rest = text[:i], text[i+1:]
		if jump.User == "" {
			return jump, problemf(jumpHint, "%s: %q has no user before @", name, text)
		}
		if err := checkWord("user", jump.User); err != nil {
			return jump, within(name, err)
		}
	}
	host, port := pattern.SplitPort(rest)
	jump.Host = host
	if !pattern.IsHostName(host) {
		return jump, problemf(jumpHint, "%s: %q is not a host", name, rest)
	}
	if port == "" {
		return jump, nil
	}
	number, err := ParsePort("port", port)
	jump.Port = number
	return jump, within(name, err)
}
