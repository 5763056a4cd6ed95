package gather

import (
	"context"
	"net"
	"net/netip"

	psnet "github.com/shirou/gopsutil/v4/net"
)

type networkTree struct {
	Addresses   []address             `json:"addresses"`
	Interfaces  []psnet.InterfaceStat `json:"interfaces"`
	DefaultIPv4 string                `json:"default_ipv4"`
	DefaultIPv6 string                `json:"default_ipv6"`
}

// address is one by which other machines may reach the host.
type address struct {
	Interface string `json:"interface"`
	Address   string `json:"address"`
	IPv4      bool   `json:"ipv4"`
	Default   bool   `json:"default"`
}

func networkFacts(ctx context.Context) (any, error) {
	interfaces, err := psnet.InterfacesWithContext(ctx)
	tree := networkTree{
		Addresses:   []address{},
		Interfaces:  append([]psnet.InterfaceStat{}, interfaces...),
		DefaultIPv4: localAddress(ctx, "udp4", "8.8.8.8:53"),
		DefaultIPv6: localAddress(ctx, "udp6", "[2001:4860:4860::8888]:53"),
	}
	for _, i := range interfaces {
		for _, a := range i.Addrs {
			if ip, ok := reachable(a.Addr); ok {
				text := ip.String()
				tree.Addresses = append(tree.Addresses, address{
					Interface: i.Name,
					Address:   text,
					IPv4:      ip.Is4(),
					Default:   text == tree.DefaultIPv4 || text == tree.DefaultIPv6,
				})
			}
		}
	}
	return tree, err
}

// reachable reads the address of an interface, with or without the length of
// its prefix, unless only this machine or its own link can use it.
func reachable(text string) (netip.Addr, bool) {
	prefix, err := netip.ParsePrefix(text)
	ip := prefix.Addr()
	if err != nil {
		if ip, err = netip.ParseAddr(text); err != nil {
			return ip, false
		}
	}
	ip = ip.Unmap()
	return ip, !ip.IsLoopback() && !ip.IsLinkLocalUnicast() && !ip.IsMulticast() && !ip.IsUnspecified()
}

// localAddress is the address from which the host would send to a public one,
// or "". Connecting a UDP socket chooses it and sends nothing.
func localAddress(ctx context.Context, network, public string) string {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, public)
	if err != nil {
		return ""
	}
	defer conn.Close()
	local, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err != nil {
		return ""
	}
	return local.Addr().WithZone("").String()
}
