// Package module carries tasks over, by their modules: one function for each, and one line in the table of
// modules.go. Which arguments a module has, and what has the place of each, stands in playbooks/manifest/ansible,
// which is asked first: a function sees no argument that is not there. It reads arguments with [task.Task.Arg],
// writes them with [task.Task.Put] and its like, and calls [task.Task.Write] with the entry; what it cannot carry
// over it says with [task.Task.Problem]. Loops and keywords are none of its concern.
package module

import (
	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/task"
)

// Carriers are the functions of modules, by their names in playbooks/manifest/ansible.
var Carriers = map[string]func(t *task.Task){
	// accounts.go
	"authorized_key": keyTask,
	"group":          groupTask,
	"sudoers":        sudoersTask,
	"user":           userTask,
	// commands.go
	"command": commandTask, "raw": commandTask, "shell": commandTask,
	"script": scriptTask,
	// containers.go
	"docker_container": containerTask("docker"), "podman_container": containerTask("podman"),
	"docker_image": storeTask("docker", "image"), "docker_image_pull": storeTask("docker", "image"), "podman_image": storeTask("podman", "image"),
	"docker_network": storeTask("docker", "network"), "podman_network": storeTask("podman", "network"),
	"docker_volume": storeTask("docker", "volume"), "podman_volume": storeTask("podman", "volume"),
	// control.go
	"assert":       assertTask,
	"debug":        debugTask,
	"fail":         failTask,
	"gather_facts": nothingTask, "ping": nothingTask, "setup": nothingTask, "wait_for_connection": nothingTask,
	"pause":    pauseTask,
	"wait_for": waitTask,
	// edits.go
	"blockinfile": blockTask,
	"ini_file":    iniTask,
	"lineinfile":  lineTask,
	"replace":     replaceTask,
	// files.go
	"copy":      copyTask,
	"fetch":     fetchTask,
	"file":      fileTask,
	"get_url":   downloadTask,
	"template":  templateTask,
	"unarchive": archiveTask,
	// firewall.go
	"firewalld": firewalldTask,
	"iptables":  iptablesTask,
	"ufw":       ufwTask,
	// looks.go
	"find":          findTask,
	"getent":        gatherTask(facts.Query{Getent: "*"}),
	"package_facts": gatherTask(facts.Query{Package: "*"}),
	"service_facts": gatherTask(facts.Query{Service: "*"}),
	"stat":          statTask,
	// network.go
	"git":   gitTask,
	"slurp": slurpTask,
	"uri":   uriTask,
	// languages.go
	"npm": npmTask,
	"pip": pipTask,
	// packages.go
	"apk": packageTask, "apt": packageTask, "dnf": packageTask, "package": packageTask, "pacman": packageTask, "zypper": packageTask,
	"debconf":         debconfTask,
	"dpkg_selections": holdTask("selection", map[string]string{"hold": "true", "install": "false"}),
	"yum_versionlock": holdTask("state", map[string]string{"present": "true", "absent": "false"}),
	// repositories.go
	"apt_repository": aptRepositoryTask, "deb822_repository": deb822Task, "yum_repository": yumRepositoryTask,
	// services.go
	"cron":    cronTask,
	"service": serviceTask, "systemd": serviceTask, "sysvinit": serviceTask,
	// system.go
	"alternatives": alternativesTask,
	"hostname":     namedTask("hostname"), "timezone": namedTask("timezone"),
	"kernel_blacklist": blacklistTask,
	"locale_gen":       localeTask,
	"modprobe":         modprobeTask,
	"mount":            mountTask,
	"reboot":           rebootTask,
	"seboolean":        sebooleanTask,
	"sefcontext":       fcontextTask,
	"selinux":          selinuxTask,
	"seport":           seportTask,
	"sysctl":           sysctlTask,
	// tls.go
	"openssl_privatekey": privateKeyTask,
	"openssl_csr":        requestTask,
	"x509_certificate":   certificateTask,
}
