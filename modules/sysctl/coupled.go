package sysctl

import (
	"path"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// zeroes maps a setting to the one that the kernel sets to 0 with it (Documentation/admin-guide/sysctl/vm.rst).
var zeroes = map[string]string{
	"vm/dirty_bytes": "vm/dirty_ratio", "vm/dirty_ratio": "vm/dirty_bytes",
	"vm/dirty_background_bytes": "vm/dirty_background_ratio", "vm/dirty_background_ratio": "vm/dirty_background_bytes",
	"vm/overcommit_kbytes": "vm/overcommit_ratio", "vm/overcommit_ratio": "vm/overcommit_kbytes",
}

// synonyms maps a setting to its other name.
var synonyms = map[string]string{
	"net/ipv4/ip_forward": "net/ipv4/conf/all/forwarding", "net/ipv4/conf/all/forwarding": "net/ipv4/ip_forward",
	"net/netfilter/nf_conntrack_max": "net/nf_conntrack_max", "net/nf_conntrack_max": "net/netfilter/nf_conntrack_max",
	// kernel/ucount.c:
	"fs/inotify/max_user_instances": "user/max_inotify_instances", "user/max_inotify_instances": "fs/inotify/max_user_instances",
	"fs/inotify/max_user_watches": "user/max_inotify_watches", "user/max_inotify_watches": "fs/inotify/max_user_watches",
	"fs/fanotify/max_user_groups": "user/max_fanotify_groups", "user/max_fanotify_groups": "fs/fanotify/max_user_groups",
	"fs/fanotify/max_user_marks": "user/max_fanotify_marks", "user/max_fanotify_marks": "fs/fanotify/max_user_marks",
}

// spread lists settings below net. The kernel copies their value for "all" to each interface, too, and also to
// "default" if it is true here (inet_forward_change in net/ipv4/devinet.c; net/ipv6/addrconf.c).
var spread = map[string]bool{
	"ipv4/forwarding": true, "ipv6/forwarding": true, "ipv6/disable_ipv6": true, "ipv6/addr_gen_mode": true, "ipv6/ignore_routes_with_linkdown": true,
	"ipv6/force_forwarding": false,
}

// effects returns the changes when the kernel sets the setting to a new value: the setting, and others that the kernel
// sets with it.
func (s *Sysctl) effects(h modules.Host, want string) []modules.Effect {
	var all []modules.Effect
	set := func(key, want string) {
		all = append(all, modules.Effect{Kind: settingEffect, Key: key, State: want})
		all = append(all, modules.Differ(settingEffect, path.Join(settings, key))...)
	}
	key := s.key()
	set(key, want)
	if other, is := zeroes[key]; is {
		set(other, "0")
	}
	other, is := synonyms[key]
	if is {
		set(other, want)
	}
	for _, key := range []string{key, other} { // net/FAMILY/conf/INTERFACE/SETTING, or neigh in place of conf
		parts := strings.Split(key, "/")
		if len(parts) != 5 || parts[0] != "net" {
			continue
		}
		family, table, of, setting := parts[1], parts[2], parts[3], parts[4]
		folder := path.Join("net", family, table)
		interfaces, _ := h.Files.List(path.Join(settings, folder))
		for _, name := range interfaces {
			toDefault, spreads := spread[family+"/"+setting]
			switch at := path.Join(folder, name, setting); {
			case name == of:
			case table == "conf" && of == "all" && spreads && (name != "default" || toDefault):
				set(at, want)
			case table == "conf" && of == "default" && family == "ipv4" && setting != "forwarding" && name != "all", table == "neigh" && of == "default":
				all = append(all, modules.Differ("", path.Join(settings, at))...) // unless it was set for the interface itself before
			}
		}
		if key == "net/ipv4/conf/all/forwarding" {
			set("net/ipv4/conf/all/accept_redirects", map[bool]string{true: "1", false: "0"}[want == "0"])
		}
		if milliseconds := strings.TrimSuffix(setting, "_ms"); table == "neigh" && (milliseconds == "base_reachable_time" || milliseconds == "retrans_time") {
			for _, name := range append(interfaces, of) {
				for _, setting := range []string{milliseconds, milliseconds + "_ms"} {
					if at := path.Join(folder, name, setting); at != key {
						all = append(all, modules.Differ("", path.Join(settings, at))...)
					}
				}
			}
		}
	}
	return all
}
