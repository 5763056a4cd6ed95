package sshconfig

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// A Hop is a host on the way to another one.
type Hop struct {
	User string // "" if the hop does not say
	Host string
	Port int // 0 if the hop does not say
}

// String is [user@]host[:port].
func (h Hop) String() string {
	place := h.Host
	switch {
	case h.Port != 0:
		place = net.JoinHostPort(h.Host, strconv.Itoa(h.Port))
	case strings.Contains(h.Host, ":"):
		place = "[" + h.Host + "]"
	}
	if h.User == "" {
		return place
	}
	return h.User + "@" + place
}

// parseJump reads the argument of ProxyJump: none, or hops with commas, outermost
// first, each [user@]host[:port] or ssh://[user@]host[:port].
func parseJump(arg string) (values []string, hops []Hop, err error) {
	if end := strings.IndexAny(arg, blanks+"#"); end >= 0 {
		arg = arg[:end]
	}
	if strings.EqualFold(arg, "none") {
		return []string{"none"}, nil, nil
	}
	for one := range strings.SplitSeq(arg, ",") {
		hop, ok := parseHop(one)
		if !ok {
			return nil, nil, fmt.Errorf("%q is not a host such as user@host:22", one)
		}
		hops = append(hops, hop)
		values = append(values, hop.String())
	}
	return values, hops, nil
}

func parseHop(arg string) (Hop, bool) {
	if uri, isURI := strings.CutPrefix(arg, "ssh://"); isURI {
		return parseURI(uri)
	}
	var hop Hop
	if i := strings.LastIndexByte(arg, '@'); i >= 0 {
		if hop.User, arg = arg[:i], arg[i+1:]; hop.User == "" {
			return hop, false
		}
	}
	return hop.at(arg)
}

// parseURI reads what follows ssh:// (draft-ietf-secsh-scp-sftp-ssh-uri-04).
func parseURI(arg string) (Hop, bool) {
	var hop Hop
	if user, rest, found := strings.Cut(arg, "@"); found {
		user, _, _ = strings.Cut(user, ";")
		name, err := url.PathUnescape(user)
		if err != nil || name == "" {
			return hop, false
		}
		hop.User, arg = name, rest
	}
	return hop.at(strings.TrimSuffix(arg, "/"))
}

// at adds the place, host or host:port, where an IPv6 address has brackets.
func (h Hop) at(place string) (Hop, bool) {
	host, port, found := strings.Cut(place, ":")
	if strings.HasPrefix(place, "[") {
		inside, rest, closed := strings.Cut(place[1:], "]")
		if !closed || rest != "" && rest[0] != ':' {
			return h, false
		}
		host, port, found = inside, strings.TrimPrefix(rest, ":"), rest != ""
	}
	if host == "" || strings.Contains(host, "/") {
		return h, false
	}
	h.Host = host
	if !found || port == "" {
		return h, true
	}
	n, err := parsePort(port)
	h.Port = n
	return h, err == nil
}
