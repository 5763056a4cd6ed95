package jinja

import (
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// A fact is a fact of Ansible, made of facts of ccm-push.
type fact struct {
	paths []string // facts of ccm-push
	of    func(x *exec, values []any) any
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// renamed returns a function that translates a value; others are capitalized.
func renamed(names map[string]string) func(x *exec, values []any) any {
	return func(_ *exec, values []any) any {
		s := text(values[0])
		if name, ok := names[s]; ok {
			return name
		}
		if s == "" {
			return s
		}
		return strings.ToUpper(s[:1]) + s[1:]
	}
}

func same(_ *exec, values []any) any { return values[0] }

var facts = map[string]fact{
	"os_family": {[]string{"host.info.platformFamily"}, renamed(map[string]string{
		"rhel": "RedHat", "fedora": "RedHat", "arch": "Archlinux",
	})},
	"distribution": {[]string{"host.info.platform"}, renamed(map[string]string{
		"centos": "CentOS", "redhat": "RedHat", "almalinux": "AlmaLinux", "oracle": "OracleLinux", "arch": "Archlinux",
		"opensuse-leap": "openSUSE Leap", "sles": "SLES", "linuxmint": "Linux Mint",
	})},
	"distribution_version": {[]string{"host.info.platform", "host.info.platformVersion"}, func(_ *exec, v []any) any {
		if text(v[0]) == "debian" { // Ansible reads VERSION_ID, which has no minor version there
			return firstLabel(text(v[1]))
		}
		return v[1]
	}},
	"distribution_major_version": {[]string{"host.info.platformVersion"}, func(_ *exec, v []any) any { return firstLabel(text(v[0])) }},
	"distribution_release":       {[]string{"host.release.codename"}, same},
	"pkg_mgr": {[]string{"host.info.platformFamily", "host.info.platformVersion"}, func(_ *exec, v []any) any {
		switch family := text(v[0]); family {
		case "debian":
			return "apt"
		case "suse":
			return "zypper"
		case "arch":
			return "pacman"
		case "alpine":
			return "apk"
		case "rhel":
			if major := firstLabel(text(v[1])); major == "6" || major == "7" {
				return "yum"
			}
			return "dnf"
		case "fedora":
			return "dnf"
		}
		return "unknown"
	}},
	"system":              {[]string{"host.info.os"}, renamed(map[string]string{"freebsd": "FreeBSD", "openbsd": "OpenBSD", "netbsd": "NetBSD"})},
	"architecture":        {[]string{"host.info.kernelArch"}, same},
	"machine":             {[]string{"host.info.kernelArch"}, same},
	"kernel":              {[]string{"host.info.kernelVersion"}, same},
	"nodename":            {[]string{"host.info.hostname"}, same},
	"hostname":            {[]string{"host.info.hostname"}, func(_ *exec, v []any) any { return firstLabel(text(v[0])) }},
	"virtualization_type": {[]string{"host.info.virtualizationSystem"}, same},
	"virtualization_role": {[]string{"host.info.virtualizationRole"}, same},
	"memtotal_mb":         {[]string{"memory.virtual.total"}, mebibytes},
	"memfree_mb":          {[]string{"memory.virtual.free"}, mebibytes},
	"swaptotal_mb":        {[]string{"memory.swap.info.total"}, mebibytes},
	"processor_vcpus":     {[]string{"cpu.info"}, func(x *exec, v []any) any { return int64(len(x.iterate(v[0]))) }},
	"swapfree_mb":         {[]string{"memory.swap.info.free"}, mebibytes},
	"uptime_seconds":      {[]string{"host.info.uptime"}, same},
	"fqdn":                {[]string{"identity.fqdn"}, same},
	"domain": {[]string{"identity.fqdn"}, func(_ *exec, v []any) any {
		_, domain, _ := strings.Cut(text(v[0]), ".")
		return domain
	}},
	"user_id":    {[]string{"identity.user.name"}, same},
	"user_uid":   {[]string{"identity.user.uid"}, same},
	"user_gid":   {[]string{"identity.user.gid"}, same},
	"user_dir":   {[]string{"identity.user.home"}, same},
	"user_shell": {[]string{"identity.user.shell"}, same},
	"user_gecos": {[]string{"identity.user.comment"}, same},
	"env": {[]string{"identity.user.home", "identity.user.name", "identity.user.shell"}, func(x *exec, v []any) any {
		return x.known("ansible_env", map[string]any{"HOME": v[0], "USER": v[1], "SHELL": v[2]})
	}},
	"service_mgr": {[]string{"host.service_manager"}, func(x *exec, v []any) any {
		if text(v[0]) != "systemd" {
			x.failf("the fact ansible_service_mgr is known only on hosts with systemd")
		}
		return v[0]
	}},
	"processor_cores":            {processor, cores},
	"processor_count":            {processor, sockets},
	"processor_threads_per_core": {processor, threads},
	"all_ipv4_addresses":         {[]string{"network.interfaces"}, allIPv4},
	"default_ipv4":               {[]string{"network.default_ipv4", "network.default_interface", "network.default_gateway", "network.interfaces"}, defaultIPv4},
	"default_ipv6":               {[]string{"network.default_ipv6"}, defaultIPv6},
}

// partialFacts has the known keys of facts that have more of them in Ansible.
var partialFacts = map[string]map[string]bool{
	"default_ipv4": words("address interface gateway netmask network prefix macaddress mtu"),
	"default_ipv6": words("address"),
	"env":          words("HOME USER SHELL"),
}

func mebibytes(_ *exec, v []any) any {
	f, _ := asFloat(v[0])
	return int64(f) >> 20
}

// processor are the facts about processors.
var processor = []string{"cpu.info", "host.info.kernelArch"}

// topology returns the number of sockets, of cores of a socket and of threads of a core. They are known for x86 only.
func topology(x *exec, v []any) (sockets, cores, threads int64) {
	first, seen, inFirst := "", map[string]bool{}, map[string]bool{}
	for _, item := range x.iterate(v[0]) {
		d, isDict := item.(*dict)
		if !isDict {
			break
		}
		socket, _ := d.get(x, "physicalId")
		core, _ := d.get(x, "coreId")
		id := text(socket)
		if id == "" || text(core) == "" {
			break
		}
		if seen[id] = true; first == "" || first == id {
			first = id
			inFirst[text(core)] = true
			threads++
		}
	}
	sockets, cores = int64(len(seen)), int64(len(inFirst))
	if text(v[1]) != "x86_64" || cores == 0 || threads*sockets != int64(len(x.iterate(v[0]))) {
		x.failf("ccm-push does not know the sockets and cores of this host; use ansible_processor_vcpus, or set the fact in the data")
	}
	return sockets, cores, threads / cores
}

func sockets(x *exec, v []any) any { n, _, _ := topology(x, v); return n }
func cores(x *exec, v []any) any   { _, n, _ := topology(x, v); return n }
func threads(x *exec, v []any) any { _, _, n := topology(x, v); return n }

// interfaceAddresses returns the IPv4 addresses of an interface with the lengths of their prefixes.
func interfaceAddresses(x *exec, of any) (list []netip.Prefix) {
	d, isDict := of.(*dict)
	if !isDict {
		return nil
	}
	addrs, _ := d.get(x, "addrs")
	if addrs == nil {
		return nil
	}
	for _, item := range x.iterate(addrs) {
		if one, isDict := item.(*dict); isDict {
			addr, _ := one.get(x, "addr")
			if p, err := netip.ParsePrefix(text(addr)); err == nil && p.Addr().Is4() {
				list = append(list, p)
			}
		}
	}
	return list
}

// allIPv4 returns the addresses of a host except 127.0.0.0/8. Ansible lists several in the order of /sys/class/net, which is
// not known.
func allIPv4(x *exec, v []any) any {
	var all []any
	for _, one := range x.iterate(v[0]) {
		for _, p := range interfaceAddresses(x, one) {
			if !p.Addr().IsLoopback() {
				all = append(all, p.Addr().String())
			}
		}
	}
	if len(all) > 1 {
		x.failf("the host has several addresses, whose order in Ansible is not known; use ansible_default_ipv4.address, or set ansible_all_ipv4_addresses in the data")
	}
	return x.newList(all)
}

// defaultIPv4 returns a dict with the interface of the default route.
func defaultIPv4(x *exec, v []any) any {
	address, device := text(v[0]), text(v[1])
	if address == "" {
		return newDict()
	}
	known := map[string]any{"address": address}
	for _, one := range x.iterate(v[3]) {
		d, isDict := one.(*dict)
		if !isDict {
			continue
		}
		if name, _ := d.get(x, "name"); device == "" || text(name) != device {
			continue
		}
		for _, p := range interfaceAddresses(x, one) {
			if p.Addr().String() != address {
				continue
			}
			known["interface"], known["prefix"], known["network"] = device, strconv.Itoa(p.Bits()), p.Masked().Addr().String()
			known["netmask"] = net.IP(net.CIDRMask(p.Bits(), 32)).String()
			if gateway := text(v[2]); gateway != "" {
				known["gateway"] = gateway
			}
			if mac, _ := d.get(x, "hardwareAddr"); text(mac) != "" {
				known["macaddress"] = mac
			}
			if mtu, ok := d.get(x, "mtu"); ok {
				known["mtu"] = mtu
			}
		}
	}
	return x.known("ansible_default_ipv4", known)
}

// defaultIPv6 returns a dict with the address of the default route, without Ansible's other keys.
func defaultIPv6(x *exec, v []any) any {
	if text(v[0]) == "" {
		return newDict()
	}
	return x.known("ansible_default_ipv6", map[string]any{"address": v[0]})
}

// otherFacts has facts of Ansible without an equal here. A template that reads one must not silently print something else.
var otherFacts = words(`all_ipv6_addresses apparmor bios_date bios_vendor bios_version board_asset_tag
	board_name board_serial board_vendor board_version chassis_asset_tag chassis_serial chassis_vendor chassis_version cmdline
	date_time device_links devices distribution_file_parsed distribution_file_path distribution_file_variety
	distribution_minor_version dns effective_group_id effective_user_id fibre_channel_wwn fips form_factor hostnqn interfaces is_chroot iscsi_iqn kernel_version lo loadavg local locally_reachable_ips lsb lvm machine_id memory_mb
	mounts nvme_nqn os_name processor processor_nproc
	product_name product_serial product_uuid product_version proc_cmdline python python_version real_group_id real_user_id
	selinux selinux_python_present services packages ssh_host_key_dsa_public ssh_host_key_ecdsa_public
	ssh_host_key_ed25519_public ssh_host_key_rsa_public system_capabilities system_capabilities_enforced
	system_vendor systemd userspace_architecture
	userspace_bits virtualization_tech_guest virtualization_tech_host gather_subset`)

// interfaceFact matches facts of network interfaces, such as ansible_eth0.
var interfaceFact = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(eth|en[opsx]|bond|br|team|wlan|wlp|docker|virbr|vlan|tun|tap|wg)[0-9][a-z0-9_]*$`)
})

func words(s string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(s) {
		set[word] = true
	}
	return set
}

// fact returns a fact by its name without ansible_, made of the facts of a host. It is an error to read a fact of
// Ansible that has no equal, even with a default.
func (x *exec) fact(name string, of func() *dict) (v any, known bool) {
	f, ok := facts[name]
	if !ok {
		if otherFacts[name] || interfaceFact().MatchString(name) {
			x.failf("ccm-push has no equal of the fact ansible_%s; set ansible_%s in the data", name, name)
		}
		return nil, false
	}
	values := make([]any, len(f.paths))
	for i, path := range f.paths {
		var at any = of()
		for key := range strings.SplitSeq(path, ".") {
			d, isDict := at.(*dict)
			if !isDict {
				return nil, false
			}
			if at, ok = d.get(x, key); !ok {
				return nil, false
			}
		}
		values[i] = at
	}
	return f.of(x, values), true
}
