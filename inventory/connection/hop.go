package connection

import (
	"net"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/pattern"
)

// A Hop is a host on the way to another one.
type Hop struct {
	User string // "" if the hop does not say
	Host string // a host of the inventory, or a name or address
	Port int    // 1 to 65535, or 0 if the hop does not say
}

// Place is host or host:port.
func (h Hop) Place() string {
	if h.Port == 0 {
		return h.Host
	}
	return net.JoinHostPort(h.Host, strconv.Itoa(h.Port))
}

// String is [user@]host[:port].
func (h Hop) String() string {
	if h.User == "" {
		return h.Place()
	}
	return h.User + "@" + h.Place()
}

const hopHint = "write [user@]host[:port], several of them with commas, outermost first"

// parseHops reads the value of jump: none, or [user@]host[:port],... as the
// ProxyJump of ssh_config(5) has it.
func parseHops(name, text string) ([]Hop, error) {
	if text == "none" {
		return nil, nil
	}
	var hops []Hop
	for one := range strings.SplitSeq(text, ",") {
		hop, err := parseHop(name, one)
		if err != nil {
			return nil, err
		}
		hops = append(hops, hop)
	}
	return hops, nil
}

func parseHop(name, text string) (Hop, error) {
	var hop Hop
	rest := text
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		hop.User, rest = text[:i], text[i+1:]
		if hop.User == "" {
			return hop, problemf(hopHint, "%s: %q has no user before @", name, text)
		}
		if err := checkWord(name+": user", hop.User); err != nil {
			return hop, err
		}
	}
	host, port := pattern.SplitPort(rest)
	hop.Host = host
	if !pattern.IsHostName(host) {
		return hop, problemf(hopHint, "%s: %q is not a host", name, rest)
	}
	if port == "" {
		return hop, nil
	}
	var err error
	hop.Port, err = ParsePort(name+": port", port)
	return hop, err
}
