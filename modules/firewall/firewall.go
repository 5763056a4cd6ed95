package firewall

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
)

// A Firewall is one rule for incoming packets. It is put in force, and stored for the next boot; a drift of either is
// repaired.
type Firewall struct {
	Name      string   `json:"name" text:"argument" required:"true" doc:"name of the rule, such as https or \"no telnet\"; identifies it in nftables"`
	Ensure    string   `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"absent: the rule is removed"`
	Action    string   `json:"action,omitempty" enum:"accept,drop,reject" default:"accept" doc:"drop: discard packets; reject: discard them and notify the sender"`
	Service   string   `json:"service,omitempty" doc:"service in place of port, such as ssh, http or postgresql"`
	Port      string   `json:"port,omitempty" looks:"^[0-9, -]+$" doc:"port, ports (80,443) or range (8000-8100); without port and service, the rule applies to all packets"`
	Protocol  string   `json:"protocol,omitempty" enum:"tcp,udp,both" doc:"protocol of port; default: tcp"`
	Source    []string `json:"source,omitempty" doc:"IPv4 and IPv6 addresses and networks of the sender; default: all"`
	Interface string   `json:"interface,omitempty" text:"argument" doc:"network interface; default: all"`
	Zone      string   `json:"zone,omitempty" text:"argument" doc:"zone of firewalld; default: its default zone"`
	Provider  string   `json:"provider,omitempty" enum:"nftables,firewalld,ufw" doc:"default: firewalld or ufw if active, else nftables"`
	// Restore is set if the resource undoes another one.
	Restore *Restore `json:"restore,omitempty" wire:"only"`

	warned bool // limits of the rule have been reported
}

// A Restore is the earlier state of a rule, in the words of its firewall.
type Restore struct {
	About   []string `json:"about,omitempty"` // with ufw and firewalld: all rules to restore
	InForce []string `json:"in_force"`
	Kept    []string `json:"kept"`
}

const (
	present = "present"
	absent  = "absent"

	accept = "accept"
	drop   = "drop"
	reject = "reject"

	nftables  = "nftables"
	firewalld = "firewalld"
	ufw       = "ufw"

	tcp  = "tcp"
	udp  = "udp"
	both = "both"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "firewall",
		Doc:  "Allows or forbids access to a port of the host, now and after a boot, with firewalld, ufw or nftables. Other rules stay: if they drop the packets, the result has a warning. A rule that would cut off the run is refused.",
		New:  func() modules.Resource { return new(Firewall) },
	}
}

// Requires implements [modules.Requirer].
func (f *Firewall) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

// maxName is less than the 127 bytes that nftables takes as a comment.
const maxName = 100

var (
	// nameShape excludes characters that would end a quoted text of nft, which has no escapes.
	nameShape      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^"'\\\x00-\x1f\x7f]+$`) })
	zoneShape      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,17}$`) })
	interfaceShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.:@-]{1,15}$`) })
)

// Validate implements [modules.Resource].
func (f *Firewall) Validate() error {
	var errs []error
	if f.Name != "" && (!nameShape().MatchString(f.Name) || len(f.Name) > maxName) {
		errs = append(errs, modules.Errorf("name", "%q is not a valid rule name: use at most %d bytes, without quotes, backslashes and control characters", f.Name, maxName))
	}
	if f.Interface != "" && !interfaceShape().MatchString(f.Interface) {
		errs = append(errs, modules.Errorf("interface", "%q is not a valid interface name", f.Interface))
	}
	if f.Zone != "" && !zoneShape().MatchString(f.Zone) {
		errs = append(errs, modules.Errorf("zone", "%q is not a valid zone name", f.Zone))
	}
	if f.Zone != "" && f.Provider != "" && f.Provider != firewalld {
		errs = append(errs, modules.Errorf("zone", `"zone" is only valid with firewalld`))
	}
	for n, source := range f.Source {
		if _, err := parseSource(source); err != nil {
			errs = append(errs, &modules.PropertyError{Path: "source[" + strconv.Itoa(n) + "]", Msg: err.Error(), Hint: "write an address or a network, such as 192.0.2.7, 192.0.2.0/24 or 2001:db8::/32"})
		}
	}
	_, err := parsePorts(f.Port)
	errs = append(errs, err)
	_, known := services[f.Service]
	switch {
	case f.Port != "" && f.Service != "":
		errs = append(errs, modules.Errorf("service", "'port' and 'service' are mutually exclusive"))
	case f.Service != "" && !known:
		errs = append(errs, &modules.PropertyError{Path: "service", Msg: fmt.Sprintf("no ports are known of a service %q", f.Service), Hint: `write its "port" and "protocol"`})
	case f.Port == "" && f.Protocol != "":
		errs = append(errs, modules.Errorf("protocol", "'protocol' needs 'port'"))
	case f.Port == "" && f.Service == "" && len(f.Source) == 0 && f.Interface == "" && f.Ensure != absent && f.Restore == nil:
		errs = append(errs, &modules.PropertyError{Path: "port", Msg: "the rule does not select any packets", Hint: `write "port", "service", "source" or "interface"`})
	}
	return errors.Join(errs...)
}

// A span is ports from the first to the last of it.
type span struct{ first, last uint16 }

// parsePorts reads the property "port". The error is a [modules.PropertyError].
func parsePorts(text string) ([]span, error) {
	if text == "" {
		return nil, nil
	}
	var all []span
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		first, err := strconv.ParseUint(from, 10, 16)
		last := first
		if isRange && err == nil {
			last, err = strconv.ParseUint(to, 10, 16)
		}
		if err != nil || first == 0 || last < first {
			return nil, &modules.PropertyError{Path: "port", Msg: fmt.Sprintf("%q is not a port", part), Hint: `write ports from 1 to 65535, such as 443, "80,443" or 8000-8100`}
		}
		all = append(all, span{uint16(first), uint16(last)})
	}
	return merged(all), nil
}

// parseSource reads an address or a network. Host bits in a network address are an error: the address or the length
// must be wrong.
func parseSource(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		if addr.Zone() == "" && !addr.Is4In6() {
			return netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		return netip.Prefix{}, fmt.Errorf("%q is not an address of a packet", text)
	}
	network, err := netip.ParsePrefix(text)
	switch {
	case err != nil, network.Addr().Is4In6():
		return netip.Prefix{}, fmt.Errorf("%q is neither an address nor a network", text)
	case network.Masked() != network:
		return netip.Prefix{}, fmt.Errorf("%q has bits set after its prefix: the network is %s", text, network.Masked())
	}
	return network, nil
}

// rules are the rules of the resource, one for each source and protocol.
func (f *Firewall) rules() []rule {
	if f.Ensure == absent {
		return nil
	}
	ports := map[string][]span{}
	if f.Service != "" {
		ports = services[f.Service]
	} else if spans, _ := parsePorts(f.Port); spans != nil { // Validate has seen it
		if f.Protocol != udp {
			ports[tcp] = spans
		}
		if f.Protocol == udp || f.Protocol == both {
			ports[udp] = spans
		}
	}
	sources := []netip.Prefix{{}}
	if len(f.Source) > 0 {
		sources = nil
	}
	for _, text := range f.Source {
		source, _ := parseSource(text)
		if source.Bits() == 0 { // a network without bits is anywhere, as nft lists it
			source = netip.Prefix{}
		}
		sources = append(sources, source)
	}
	var all []rule
	for _, source := range sources {
		one := rule{name: f.Name, source: source, iface: f.Interface, verdict: cmp.Or(f.Action, accept)}
		if len(ports) == 0 {
			all = append(all, one)
		}
		for _, proto := range []string{tcp, udp} {
			if one.ports = ports[proto]; one.ports != nil {
				one.proto = proto
				all = append(all, one)
			}
		}
	}
	return ordered(all)
}

// services are the services with well-known ports (most names are firewalld's).
var services = map[string]map[string][]span{
	"dhcpv6-client": {udp: {{546, 546}}},
	"dns":           {tcp: {{53, 53}}, udp: {{53, 53}}},
	"ftp":           {tcp: {{21, 21}}},
	"http":          {tcp: {{80, 80}}},
	"http3":         {udp: {{443, 443}}},
	"https":         {tcp: {{443, 443}}},
	"imap":          {tcp: {{143, 143}}},
	"imaps":         {tcp: {{993, 993}}},
	"kerberos":      {tcp: {{88, 88}}, udp: {{88, 88}}},
	"ldap":          {tcp: {{389, 389}}},
	"ldaps":         {tcp: {{636, 636}}},
	"mdns":          {udp: {{5353, 5353}}},
	"mysql":         {tcp: {{3306, 3306}}},
	"nfs":           {tcp: {{2049, 2049}}},
	"ntp":           {udp: {{123, 123}}},
	"pop3":          {tcp: {{110, 110}}},
	"pop3s":         {tcp: {{995, 995}}},
	"postgresql":    {tcp: {{5432, 5432}}},
	"redis":         {tcp: {{6379, 6379}}},
	"samba":         {tcp: {{139, 139}, {445, 445}}, udp: {{137, 138}}},
	"smtp":          {tcp: {{25, 25}}},
	"smtps":         {tcp: {{465, 465}}},
	"snmp":          {udp: {{161, 161}}},
	"ssh":           {tcp: {{22, 22}}},
	"submission":    {tcp: {{587, 587}}},
	"syslog":        {udp: {{514, 514}}},
	"telnet":        {tcp: {{23, 23}}},
	"wireguard":     {udp: {{51820, 51820}}},
}
