//go:build !host

package modules

import (
	"path"
	"strings"
)

// Related is a type whose resources declare their relations to things that other resources may manage: an account, a
// path, a package. In a play that is a graph, the controller orders resources by them. Only the controller calls it,
// when the resource is prepared and validated, so a type's file for it has the build tag !host. It depends on the
// values alone; received ones are zero.
type Related interface {
	Related() []Relation
}

// A Relation is the relation of one resource to one thing.
type Relation struct {
	Verb  Verb
	Thing Thing
	Reach Reach  // for Needs and Leaves; other verbs concern the thing itself
	Weak  bool   // a guess, by a name: in a circle it is dropped first
	Why   string // role of the thing for Needs and Leaves, such as "owner"
}

// A Verb is the action of a resource on a thing.
type Verb int

// Verbs. A resource that Needs a thing runs after resources that make or edit it. A resource that Leaves a thing runs
// before resources that remove it. Resources that edit the same thing take turns, after resources that make it.
// Resources with Turns also take turns, but Turns does not order other resources.
const (
	Makes Verb = iota + 1
	Removes
	Edits
	Needs
	Leaves
	Turns
)

// Reach is the range in which the thing of a path is searched.
type Reach int

// The reaches.
const (
	There   Reach = iota // exactly there
	Nearest              // there or, if no resource looks after that, at the nearest directory above it
	Within               // there and anywhere below it
)

// A Thing is something on a host. Two are the same if kind and key are equal.
type Thing struct {
	Kind ThingKind
	Key  string
}

// ThingKind is a sort of things. A type may bring its own.
type ThingKind string

// The kinds that several types know.
const (
	ThingPath    ThingKind = "path"    // absolute and clean
	ThingUser    ThingKind = "user"    // by name, or by id in decimal digits
	ThingGroup   ThingKind = "group"   // likewise
	ThingPackage ThingKind = "package" // as its manager calls it, without an architecture
	ThingService ThingKind = "service" // a unit, without the suffix .service
	ThingAnswers ThingKind = "answers" // to the questions of a package, by its name
	ThingTable   ThingKind = "table"   // data that programs own and rewrite as a whole, such as the accounts
)

// PathOf is the thing at a path.
func PathOf(p string) Thing { return Thing{ThingPath, path.Clean(p)} }

// NeedsParent orders a resource after the directory of a path.
func NeedsParent(p string) Relation {
	return Relation{Verb: Needs, Thing: PathOf(path.Dir(p)), Reach: Nearest, Why: "parent directory"}
}

// LeavesParent orders the removal of a path before the removal of its directory.
func LeavesParent(p string) Relation {
	return Relation{Verb: Leaves, Thing: PathOf(path.Dir(p)), Reach: Nearest, Why: "parent directory"}
}

// NeedsOwner orders a resource after its owner and group; "" means none.
func NeedsOwner(owner, group string) []Relation {
	var all []Relation
	if owner != "" {
		all = append(all, Relation{Verb: Needs, Thing: Thing{ThingUser, owner}, Why: "owner"})
	}
	if group != "" {
		all = append(all, Relation{Verb: Needs, Thing: Thing{ThingGroup, group}, Why: "group"})
	}
	return all
}

// packagePaths are directories with packages' own settings and data. Usually, the next element of a path below them is
// the name of its package.
var packagePaths = []string{"/etc", "/etc/default", "/etc/sysconfig", "/var/lib", "/var/log", "/usr/share", "/opt"}

// NeedsPackageOf orders a resource after the package that a path probably belongs to, by its name:
// /etc/nginx/nginx.conf to nginx.
func NeedsPackageOf(p string) []Relation {
	var all []Relation
	for _, dir := range packagePaths {
		rest, below := strings.CutPrefix(p, dir+"/")
		if !below {
			continue
		}
		name, _, _ := strings.Cut(rest, "/")
		name = strings.TrimSuffix(strings.TrimSuffix(name, ".conf"), ".d")
		for _, called := range alsoCalled(name) {
			all = append(all, Relation{Verb: Needs, Thing: Thing{ThingPackage, called}, Weak: true, Why: "package of its directory"})
		}
	}
	return all
}

// NeedsCommand orders a resource after the requirements of a command that begins with word and starts in dir: its file,
// and the package of the same name.
func NeedsCommand(word, dir, why string) []Relation {
	if word == "" {
		return nil
	}
	var all []Relation
	if strings.Contains(word, "/") {
		file := word
		if !path.IsAbs(file) {
			file = path.Join("/", dir, file)
		}
		all = append(all, Relation{Verb: Needs, Thing: PathOf(file), Reach: Nearest, Why: why})
	}
	for _, name := range alsoCalled(path.Base(word)) {
		all = append(all, Relation{Verb: Needs, Thing: Thing{ThingPackage, name}, Weak: true, Why: "package of its command"})
	}
	return all
}

// families are services whose unit, package and settings have different names.
var families = [][]string{
	{"ssh", "sshd", "openssh-server", "openssh"},
	{"cron", "crond", "cronie", "dcron"},
	{"apache2", "httpd", "apache"},
	{"named", "bind9", "bind"},
	{"mysql", "mysqld", "mysql-server", "default-mysql-server"},
	{"mariadb", "mariadb-server"},
	{"docker", "docker.io", "docker-ce", "moby-engine"},
	{"redis", "redis-server"},
	{"chrony", "chronyd"},
	{"ntp", "ntpd", "ntpsec"},
	{"samba", "smbd", "smb", "nmbd"},
	{"rsyslog", "rsyslogd"},
	{"haproxy"},
	{"prometheus-node-exporter", "node_exporter", "prometheus2"},
	{"NetworkManager", "network-manager"},
	{"isc-dhcp-server", "dhcpd", "dhcp-server"},
	{"keepalived"},
	{"snmpd", "net-snmp"},
	{"avahi-daemon", "avahi"},
	{"firewalld"},
	{"tftpd-hpa", "tftp", "tftp-server"},
	{"vsftpd"},
	{"crio", "cri-o"},
	{"podman", "podman.socket"},
}

var familyOf = func() map[string][]string {
	of := map[string][]string{}
	for _, family := range families {
		for _, name := range family {
			of[name] = family
		}
	}
	return of
}()

// alsoCalled returns a name, and other names of the same software.
func alsoCalled(name string) []string {
	if name == "" {
		return nil
	}
	all := []string{name}
	for _, other := range familyOf[name] {
		if other != name {
			all = append(all, other)
		}
	}
	return all
}

// ServiceRelations returns the relations of a service, of whichever type: it comes after its unit file with the
// drop-ins, its package and its settings.
func ServiceRelations(unit string) []Relation {
	name := strings.TrimSuffix(unit, ".service")
	file := unit
	if path.Ext(unit) == "" || !isUnitSuffix(path.Ext(unit)) {
		file = unit + ".service"
	}
	all := []Relation{{Verb: Makes, Thing: Thing{ThingService, name}}}
	files := []string{file}
	base := strings.TrimSuffix(name, path.Ext(file))
	if template, _, isInstance := strings.Cut(file, "@"); isInstance {
		files, base = append(files, template+"@"+path.Ext(file)), template
	}
	for _, folder := range UnitFolders {
		for _, f := range files {
			all = append(all,
				Relation{Verb: Needs, Thing: PathOf(folder + "/" + f), Why: "unit file"},
				Relation{Verb: Needs, Thing: PathOf(folder + "/" + f + ".d"), Reach: Within, Why: "drop-in of its unit"},
				Relation{Verb: Leaves, Thing: PathOf(folder + "/" + f), Why: "unit file"})
		}
	}
	all = append(all, Relation{Verb: Needs, Thing: PathOf("/etc/init.d/" + base), Why: "init script"},
		Relation{Verb: Needs, Thing: PathOf("/etc/containers/systemd/" + base + ".container"), Why: "quadlet of its unit"})
	return append(all, softwareRelations(base)...)
}

// isUnitSuffix reports whether systemd has units of a kind; see systemd.unit(5).
func isUnitSuffix(ext string) bool {
	switch ext {
	case ".service", ".socket", ".device", ".mount", ".automount", ".swap", ".target", ".path", ".timer", ".slice", ".scope":
		return true
	}
	return false
}

// softwareRelations are the package and the settings of a service.
func softwareRelations(base string) []Relation {
	var all []Relation
	for _, name := range append(alsoCalled(base), base+"-server") {
		all = append(all, Relation{Verb: Needs, Thing: Thing{ThingPackage, name}, Weak: true, Why: "package"},
			Relation{Verb: Leaves, Thing: Thing{ThingPackage, name}, Weak: true, Why: "package"})
		for _, at := range []string{"/etc/" + name, "/etc/" + name + ".d"} {
			all = append(all, Relation{Verb: Needs, Thing: PathOf(at), Reach: Within, Weak: true, Why: "configuration"})
		}
		for _, at := range []string{"/etc/" + name + ".conf", "/etc/default/" + name, "/etc/sysconfig/" + name, "/etc/conf.d/" + name} {
			all = append(all, Relation{Verb: Needs, Thing: PathOf(at), Weak: true, Why: "configuration"})
		}
	}
	return all
}

// repositories are the directories and files that say where packages are from, and
// whose keys they are signed with.
var repositories = []string{
	"/etc/apt", "/usr/share/keyrings", "/etc/yum.repos.d", "/etc/yum.conf", "/etc/dnf", "/etc/pki/rpm-gpg",
	"/etc/zypp", "/etc/apk", "/etc/pacman.conf", "/etc/pacman.d",
}

// PackageRelations returns the relations of a package, of whichever type: it comes after the definitions of
// repositories.
func PackageRelations(name string, gone bool) []Relation {
	plain, _, _ := strings.Cut(name, ":") // libc6:i386
	verb := Makes
	if gone {
		verb = Removes
	}
	all := []Relation{{Verb: verb, Thing: Thing{ThingPackage, plain}}}
	if at := strings.LastIndexByte(plain, '.'); at > 0 { // glibc.i686
		all = append(all, Relation{Verb: verb, Thing: Thing{ThingPackage, plain[:at]}})
	}
	if gone {
		return all
	}
	all = append(all, Relation{Verb: Needs, Thing: Thing{ThingAnswers, plain}, Why: "answers to its questions"})
	return append(all, NeedsRepositories()...)
}

// NeedsRepositories orders a resource after the definitions of package repositories.
func NeedsRepositories() []Relation {
	var all []Relation
	for _, at := range repositories {
		all = append(all, Relation{Verb: Needs, Thing: PathOf(at), Reach: Within, Why: "package repository or key"})
	}
	return all
}

// Rewrites declares that the resource rewrites a table as a whole, so that no other resource may do so at the same
// time.
func Rewrites(table string) Relation {
	return Relation{Verb: Turns, Thing: Thing{ThingTable, table}}
}
