package expr

import (
	"errors"
	"fmt"
	"math/big"
	"net/netip"
)

// netFunctions calculate with networks in CIDR notation.
var netFunctions = []*function{
	pure("parseCidr", 1, 1, parseCidr, kString),
	pure("cidrSubnet", 3, 3, cidrSubnet, kString, kInt),
	pure("cidrHost", 2, 2, cidrHost, kString, kInt),
}

func network(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return p, fmt.Errorf("%q is not a network, such as 10.0.0.0/24", s)
	}
	return p.Masked(), nil
}

// offset returns the address n after another; ok is false beyond the last one.
func offset(a netip.Addr, n *big.Int) (sum netip.Addr, ok bool) {
	at := new(big.Int).Add(new(big.Int).SetBytes(a.AsSlice()), n)
	b := make([]byte, a.BitLen()/8)
	if at.BitLen() > a.BitLen() || at.Sign() < 0 {
		return a, false
	}
	sum, ok = netip.AddrFromSlice(at.FillBytes(b))
	return sum, ok
}

// size returns the number of addresses of a network.
func size(p netip.Prefix) *big.Int {
	return new(big.Int).Lsh(big.NewInt(1), uint(p.Addr().BitLen()-p.Bits()))
}

func mask(p netip.Prefix) netip.Addr {
	all := new(big.Int).Lsh(big.NewInt(1), uint(p.Addr().BitLen()))
	a, _ := netip.AddrFromSlice(new(big.Int).Sub(all, size(p)).FillBytes(make([]byte, p.Addr().BitLen()/8)))
	return a
}

// parseCidr returns the parts of a network. All addresses count as usable in IPv6, and in an IPv4 network with one or
// two.
func parseCidr(args []any) (any, error) {
	p, err := network(args[0].(string))
	if err != nil {
		return nil, err
	}
	last, _ := offset(p.Addr(), new(big.Int).Sub(size(p), big.NewInt(1)))
	first, end := p.Addr(), last
	if p.Addr().Is4() && p.Bits() < 31 {
		first, end = first.Next(), end.Prev()
	}
	return map[string]any{
		"network": p.Addr().String(), "netmask": mask(p).String(), "broadcast": last.String(),
		"firstUsable": first.String(), "lastUsable": end.String(), "cidr": int64(p.Bits()),
	}, nil
}

func cidrSubnet(args []any) (any, error) {
	p, err := network(args[0].(string))
	if err != nil {
		return nil, err
	}
	bits, i := args[1].(int64), args[2].(int64)
	if bits < int64(p.Bits()) || bits > int64(p.Addr().BitLen()) {
		return nil, fmt.Errorf("the prefix length %d is outside %d-%d", bits, p.Bits(), p.Addr().BitLen())
	}
	number := new(big.Int).Lsh(big.NewInt(1), uint(bits)-uint(p.Bits()))
	if i < 0 || big.NewInt(i).Cmp(number) >= 0 {
		return nil, fmt.Errorf("only %v subnets exist, none with the index %d", number, i)
	}
	each := new(big.Int).Lsh(big.NewInt(1), uint(p.Addr().BitLen())-uint(bits))
	a, _ := offset(p.Addr(), each.Mul(each, big.NewInt(i)))
	return netip.PrefixFrom(a, int(bits)).String(), nil
}

// cidrHost returns an address for hosts: the first address of a network, and the last one in IPv4, are not for hosts,
// unless the network has only two addresses.
func cidrHost(args []any) (any, error) {
	p, err := network(args[0].(string))
	if err != nil {
		return nil, err
	}
	i, skipped, usable := args[1].(int64), int64(1), new(big.Int).Sub(size(p), big.NewInt(1))
	switch left := p.Addr().BitLen() - p.Bits(); {
	case left == 0:
		return nil, errors.New("a network of one address has none for hosts")
	case left == 1:
		skipped, usable = 0, big.NewInt(2)
	case p.Addr().Is4():
		usable.Sub(usable, big.NewInt(1))
	}
	if i < 0 || big.NewInt(i).Cmp(usable) >= 0 {
		return nil, fmt.Errorf("only %v host addresses exist, none with the index %d", usable, i)
	}
	a, _ := offset(p.Addr(), new(big.Int).Add(big.NewInt(i), big.NewInt(skipped)))
	return a.String(), nil
}
