package reach

import "github.com/ccm-push/ccm-push/modules"

// Things between a login and the host, by the effects of plans. A name that ends in * means all names with that prefix.

// places are files and directories, with all their contents.
var places = []struct {
	what  string
	paths []string
}{
	{"the SSH server", []string{"/etc/ssh", "/etc/default/ssh", "/etc/conf.d/sshd", "/etc/sysconfig/sshd", "/etc/dropbear"}},
	{"the accounts of the host", []string{"/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow", "/etc/shells", "/etc/nologin"}},
	{"sudo or doas", []string{"/etc/sudoers", "/etc/sudoers.d", "/etc/sudo.conf", "/etc/doas.conf", "/etc/doas.d"}},
	{"PAM", []string{"/etc/pam.d", "/etc/pam.conf", "/etc/security"}},
	{"the name service", []string{
		"/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/hosts", "/etc/hosts.allow", "/etc/hosts.deny",
		"/etc/systemd/resolved.conf", "/etc/systemd/resolved.conf.d", "/etc/sssd",
	}},
	{"interfaces or routes", []string{
		"/etc/network", "/etc/netplan", "/etc/NetworkManager", "/etc/systemd/network", "/etc/sysconfig/network",
		"/etc/sysconfig/network-scripts", "/etc/iproute2", "/etc/conf.d/net", "/etc/dhcpcd.conf", "/etc/dhcp",
	}},
	{"the firewall", []string{
		"/etc/nftables*", "/etc/iptables*", "/etc/sysconfig/nftables*", "/etc/sysconfig/iptables*", "/etc/sysconfig/ip6tables*",
		"/etc/ufw", "/etc/default/ufw", "/etc/firewalld", "/etc/shorewall",
	}},
}

// units are services and sockets, without their suffix, and their unit files.
var units = []struct {
	what  string
	names []string
}{
	{"the SSH server", []string{"ssh", "sshd", "dropbear"}},
	{"the name service", []string{"systemd-resolved", "resolvconf", "sssd"}},
	{"interfaces or routes", []string{"networking", "network", "NetworkManager", "systemd-networkd", "dhcpcd", "wpa_supplicant"}},
	{"the firewall", []string{"nftables", "iptables", "ip6tables", "netfilter-persistent", "firewalld", "ufw", "shorewall"}},
}

// packages bring the above along, and start and stop it.
var packages = []struct {
	what  string
	names []string
}{
	{"the SSH server", []string{"openssh", "openssh-server*", "dropbear"}},
	{"sudo or doas", []string{"sudo", "sudo-*", "doas", "opendoas"}},
	{"PAM", []string{"pam", "libpam*", "linux-pam"}},
	{"interfaces or routes", []string{"ifupdown*", "netplan*", "network-manager", "NetworkManager", "iproute*", "dhcpcd*"}},
	{"the firewall", []string{"nftables", "iptables*", "firewalld", "ufw", "shorewall"}},
}

// groups usually may use sudo and doas.
var groups = []string{"root", "sudo", "wheel", "admin"}

// unitDirs lists the folders of unit files and of scripts of services.
var unitDirs = append([]string{"/etc/init.d"}, modules.UnitFolders...)
