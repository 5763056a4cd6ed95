package expression

import (
	"strings"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
)

// A Kind is what is known of the type of a value.
type Kind int

const (
	AnyKind Kind = iota
	TextKind
	NumberKind // a whole number
	floatKind  // a number that Python prints with a fraction, if only .0
	fractKind  // a number that is written with a fraction, and printed as it is written
	boolKind
	maybeBoolKind // a boolean or something else
	ListKind
	MapKind
)

// A fact is a variable that Ansible sets by itself.
type fact struct {
	expr   string            // what has its value here; "" if it can only be compared
	kind   Kind              //
	values map[string]string // its values that are called otherwise here; of several with a blank between
	of     string            // what those are values of
}

// families are those of operating systems, as gopsutil calls them.
var (
	families = map[string]string{"Debian": "debian", "RedHat": "rhel fedora", "Suse": "suse", "Archlinux": "arch", "Alpine": "alpine", "Gentoo": "gentoo"}
	systems  = map[string]string{
		"Debian": "debian", "Ubuntu": "ubuntu", "CentOS": "centos", "Fedora": "fedora", "RedHat": "redhat", "Rocky": "rocky", "AlmaLinux": "almalinux",
		"Amazon": "amazon", "OracleLinux": "oracle", "Archlinux": "arch", "Alpine": "alpine", "openSUSE Leap": "opensuse-leap", "SLES": "sles", "Raspbian": "raspbian",
		"Gentoo": "gentoo", "Linux Mint": "linuxmint", "Kali": "kali",
	}
	managers = map[string]string{"apt": "debian", "zypper": "suse", "pacman": "arch", "apk": "alpine", "dnf": "rhel fedora"}
	kernels  = map[string]string{"Linux": "linux", "FreeBSD": "freebsd", "Darwin": "darwin", "OpenBSD": "openbsd", "NetBSD": "netbsd"}
)

// factNames are facts by their names, without ansible_ before them.
var factNames = map[string]fact{
	"os_family":                  {of: "Facts.host.info.platformFamily", kind: TextKind, values: families},
	"distribution":               {of: "Facts.host.info.platform", kind: TextKind, values: systems},
	"pkg_mgr":                    {of: "Facts.host.info.platformFamily", kind: TextKind, values: managers},
	"system":                     {of: "Facts.host.info.os", kind: TextKind, values: kernels},
	"distribution_version":       {expr: "(Facts.host.info.platform == 'debian' ? split(Facts.host.info.platformVersion, '.')[0] : Facts.host.info.platformVersion)", kind: TextKind},
	"distribution_release":       {expr: "Facts.host.release.codename", kind: TextKind},
	"distribution_major_version": {expr: "split(Facts.host.info.platformVersion, '.')[0]", kind: TextKind},
	"service_mgr":                {of: "Facts.host.service_manager", kind: TextKind, values: map[string]string{"systemd": "systemd"}},
	"architecture":               {expr: "Facts.host.info.kernelArch", kind: TextKind},
	"machine":                    {expr: "Facts.host.info.kernelArch", kind: TextKind},
	"kernel":                     {expr: "Facts.host.info.kernelVersion", kind: TextKind},
	"nodename":                   {expr: "Facts.host.info.hostname", kind: TextKind},
	"hostname":                   {expr: "split(Facts.host.info.hostname, '.')[0]", kind: TextKind},
	"virtualization_type":        {expr: "Facts.host.info.virtualizationSystem", kind: TextKind},
	"virtualization_role":        {expr: "Facts.host.info.virtualizationRole", kind: TextKind},
	"memtotal_mb":                {expr: "int(Facts.memory.virtual.total / 1048576)", kind: NumberKind},
	"memfree_mb":                 {expr: "int(Facts.memory.virtual.free / 1048576)", kind: NumberKind},
	"swaptotal_mb":               {expr: "int(Facts.memory.swap.info.total / 1048576)", kind: NumberKind},
	"processor_vcpus":            {expr: "len(Facts.cpu.info)", kind: NumberKind},
	"default_ipv4.address":       {expr: "Facts.network.default_ipv4", kind: TextKind},
	"default_ipv4.interface":     {expr: "Facts.network.default_interface", kind: TextKind},
	"default_ipv4.gateway":       {expr: "Facts.network.default_gateway", kind: TextKind},
	"fqdn":                       {expr: "Facts.identity.fqdn", kind: TextKind},
	"domain":                     {expr: "join(split(Facts.identity.fqdn, '.')[1:], '.')", kind: TextKind},
	"user_id":                    {expr: "Facts.identity.user.name", kind: TextKind},
	"user_uid":                   {expr: "Facts.identity.user.uid", kind: NumberKind},
	"user_gid":                   {expr: "Facts.identity.user.gid", kind: NumberKind},
	"user_gecos":                 {expr: "Facts.identity.user.comment", kind: TextKind},
	"user_dir":                   {expr: "Facts.identity.user.home", kind: TextKind},
	"user_shell":                 {expr: "Facts.identity.user.shell", kind: TextKind},
	"env.HOME":                   {expr: "Facts.identity.user.home", kind: TextKind},
	"env.USER":                   {expr: "Facts.identity.user.name", kind: TextKind},
	"env.SHELL":                  {expr: "Facts.identity.user.shell", kind: TextKind},
	"default_ipv6.address":       {expr: "Facts.network.default_ipv6", kind: TextKind},
}

// magicNames are the variables of the inventory and the run.
var magicNames = map[string]fact{
	"inventory_hostname":       {expr: "Host.name", kind: TextKind},
	"inventory_hostname_short": {expr: "split(Host.name, '.')[0]", kind: TextKind},
	"group_names":              {expr: "Host.groups", kind: ListKind},
	"groups":                   {expr: "Groups", kind: MapKind},
	"hostvars":                 {expr: "Hosts", kind: MapKind},
	"play_hosts":               {expr: "Play.hosts", kind: ListKind},
	"ansible_play_hosts":       {expr: "Play.hosts", kind: ListKind},
	"ansible_play_hosts_all":   {expr: "Play.hosts", kind: ListKind},
	"ansible_play_name":        {expr: "Play.name", kind: TextKind},
	"ansible_check_mode":       {expr: "Run.check", kind: boolKind},
	"ansible_host":             {expr: "Data.ansible_host ?? Host.name", kind: TextKind},
	"vars":                     {expr: "Data", kind: MapKind},
}

// factOf finds the fact that an expression names: ansible_x, ansible_facts.x or
// ansible_facts['x'], with a key behind it for those that are maps.
func factOf(e *j2.Expr) (fact, bool) {
	path, ok := factPath(e)
	if !ok {
		return fact{}, false
	}
	f, ok := factNames[path]
	return f, ok
}

// factPath is the name of a fact, without ansible_.
func factPath(e *j2.Expr) (string, bool) {
	switch e.Op {
	case j2.Name:
		return strings.CutPrefix(e.Text, "ansible_")
	case j2.Attr, j2.Index:
		key := e.Text
		if e.Op == j2.Index {
			key, _ = e.Args[1].Lit.(string)
		}
		if key == "" {
			return "", false
		}
		if e.Args[0].Op == j2.Name && e.Args[0].Text == "ansible_facts" {
			return strings.TrimPrefix(key, "ansible_"), true
		}
		if base, ok := factPath(e.Args[0]); ok {
			return base + "." + key, true
		}
	}
	return "", false
}

// notFact reports whether a variable that begins with ansible_ is one of the inventory.
func notFact(name string) bool {
	switch name {
	case "ansible_user", "ansible_port", "ansible_ssh_user", "ansible_ssh_port", "ansible_connection", "ansible_become_user", "ansible_python_interpreter", "ansible_ssh_private_key_file", "ansible_ssh_host":
		return true
	}
	return false
}

// IsFact reports whether a variable is one that Ansible itself sets, or that says how the host is reached.
func IsFact(name string) bool {
	_, magic := magicNames[name]
	short, ansible := strings.CutPrefix(name, "ansible_")
	is := magic || notFact(name) || name == "ansible_facts"
	for known := range factNames {
		is = is || ansible && (known == short || strings.HasPrefix(known, short+"."))
	}
	return is
}
