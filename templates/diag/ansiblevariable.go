package diag

import "strings"

// AnsibleVariable tells what stands for a variable that Ansible sets by itself, with or
// without ansible_ in front; "" for any other name.
func AnsibleVariable(name string) string {
	const ownHostOnly = "a template sees the facts and data of its own host only"
	return map[string]string{
		"inventory_hostname":         "the name in the inventory is not known to templates: Facts.host.info.hostname is what the host calls itself; or give it a variable there, under another name",
		"inventory_hostname_short":   "the name in the inventory is not known to templates: Facts.host.info.hostname is what the host calls itself; or give it a variable there, under another name",
		"hostname":                   "write Facts.host.info.hostname",
		"fqdn":                       "write Facts.host.info.hostname",
		"nodename":                   "write Facts.host.info.hostname",
		"os_family":                  "write Facts.host.info.platformFamily, in small letters: debian, rhel",
		"distribution":               "write Facts.host.info.platform, in small letters: ubuntu, rocky",
		"distribution_version":       "write Facts.host.info.platformVersion",
		"distribution_major_version": `write Facts.host.info.platformVersion, whose first part is split(Facts.host.info.platformVersion, ".")[0]`,
		"architecture":               "write Facts.host.info.kernelArch",
		"kernel":                     "write Facts.host.info.kernelVersion",
		"system":                     "write Facts.host.info.os, in small letters: linux",
		"virtualization_type":        "write Facts.host.info.virtualizationSystem",
		"memtotal_mb":                "write Facts.memory.virtual.total, which is in bytes",
		"processor_vcpus":            "write len(Facts.cpu.info)",
		"default_ipv4":               "write Facts.network.default_ipv4",
		"groups":                     ownHostOnly,
		"group_names":                ownHostOnly,
		"hostvars":                   ownHostOnly,
		"play_hosts":                 ownHostOnly,
		"vars":                       "write Data",
	}[strings.TrimPrefix(name, "ansible_")]
}
