package jinja

import (
	"strings"
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
	"default_ipv4":        {[]string{"network.default_ipv4", "network.default_interface", "network.default_gateway"}, address},
	"default_ipv6":        {[]string{"network.default_ipv6"}, address},
	"fqdn":                {[]string{"identity.fqdn"}, same},
	"domain": {[]string{"identity.fqdn"}, func(_ *exec, v []any) any {
		_, domain, _ := strings.Cut(text(v[0]), ".")
		return domain
	}},
	"user_id":    {[]string{"identity.user.name"}, same},
	"user_uid":   {[]string{"identity.user.uid"}, same},
	"user_gid":   {[]string{"identity.user.gid"}, same},
	"user_gecos": {[]string{"identity.user.comment"}, same},
	"user_dir":   {[]string{"identity.user.home"}, same},
	"user_shell": {[]string{"identity.user.shell"}, same},
	"service_mgr": {[]string{"host.service_manager"}, func(x *exec, v []any) any {
		if text(v[0]) != "systemd" {
			x.failf("systemd does not manage the services of the host; set ansible_service_mgr in the data")
		}
		return v[0]
	}},
}

func mebibytes(_ *exec, v []any) any {
	f, _ := asFloat(v[0])
	return int64(f) >> 20
}

// address returns a dict with the address of the default route, its interface and its gateway, without Ansible's other
// keys.
func address(x *exec, v []any) any {
	d := newDict()
	for i, key := range []string{"address", "interface", "gateway"} {
		if i < len(v) && text(v[i]) != "" {
			d.set(x, key, v[i])
		}
	}
	return d
}

// otherFacts has facts of Ansible without an equal here. A template that reads one must not silently print something else.
var otherFacts = words(`all_ipv4_addresses all_ipv6_addresses apparmor bios_date bios_vendor bios_version board_asset_tag board_name
	board_serial board_vendor board_version chassis_asset_tag chassis_serial chassis_vendor chassis_version cmdline
	date_time device_links devices distribution_file_parsed distribution_file_path distribution_file_variety
	distribution_minor_version dns effective_group_id effective_user_id env fibre_channel_wwn fips form_factor hostnqn
	interfaces is_chroot iscsi_iqn kernel_version lo loadavg local locally_reachable_ips lsb lvm machine_id memory_mb
	mounts nvme_nqn os_name processor processor_cores processor_count processor_nproc processor_threads_per_core
	product_name product_serial product_uuid product_version proc_cmdline python python_version real_group_id real_user_id
	selinux selinux_python_present services packages ssh_host_key_dsa_public ssh_host_key_ecdsa_public
	ssh_host_key_ed25519_public ssh_host_key_rsa_public swapfree_mb system_capabilities system_capabilities_enforced
	system_vendor systemd uptime_seconds userspace_architecture userspace_bits virtualization_tech_guest
	virtualization_tech_host gather_subset`)

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
		if otherFacts[name] {
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
