package brings

import (
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Touched has the possible changes of a host by scripts, in addition to the files of packages.
type Touched struct {
	Paths      map[string]bool // paths that may differ afterwards
	Trees      map[string]bool // folders with possible changes of existing paths below, and likely no new ones
	Grows      map[string]bool // folders in Trees with possible new paths below
	Begins     map[string]bool // paths that begin so may differ
	Folders    map[string]bool // folders that are made, if they are missing
	Attributes map[string]bool // paths whose owner and mode may change
	Users      map[string]User // users that are created, unless they exist
	Groups     map[string]bool
	Accounts   bool            // other changes of users and groups
	Sysusers   bool            // users of files in sysusers.d are created
	Enabled    map[string]bool // units
	Started    map[string]bool
	Preset     map[string]bool // units that presets enable or disable
	Uncertain  map[string]bool // units with other changes; may contain [anyUnit]
	Triggers   map[string]bool // triggers that are activated by name
	Runs       bool            // a service may start, and create folders in /run and /var
	Vague      bool            // a program runs that may change files of its package
	Anything   bool            // anything may change
}

// A User is a user that a script creates. Fields that are not known are empty.
type User struct {
	Home, Shell string
	System      bool // adduser --system
	Useradd     bool // the host's defaults of useradd(8) apply
	Comment     bool // it has a comment; some versions of adduser add commas
}

// NewTouched returns a Touched without changes.
func NewTouched() *Touched {
	return &Touched{
		Paths: map[string]bool{}, Trees: map[string]bool{}, Grows: map[string]bool{}, Begins: map[string]bool{}, Folders: map[string]bool{}, Attributes: map[string]bool{}, Users: map[string]User{}, Groups: map[string]bool{},
		Enabled: map[string]bool{}, Started: map[string]bool{}, Triggers: map[string]bool{},
		Preset: map[string]bool{}, Uncertain: map[string]bool{},
	}
}

// broad are folders of many packages. A script that may change anything in one of them may change anything.
var broad = []string{
	"/", "/bin", "/boot", "/dev", "/etc", "/etc/default", "/etc/systemd", "/etc/systemd/system", "/home", "/lib", "/lib/systemd/system", "/media", "/mnt", "/opt", "/proc", "/root", "/run",
	"/sbin", "/srv", "/sys", "/tmp", "/usr", "/usr/bin", "/usr/lib", "/usr/lib/systemd/system", "/usr/local", "/usr/sbin", "/usr/share", "/usr/share/doc",
	"/var", "/var/cache", "/var/lib", "/var/log", "/var/run", "/var/spool",
}

// passing are folders whose files come and go, and no resource manages.
var passing = []string{"/dev", "/proc", "/sys", "/tmp", "/var/tmp"}

func isPassing(name string) bool {
	return slices.ContainsFunc(passing, func(dir string) bool { return modules.Inside(name, dir) })
}

// isProgram reports whether a path belongs to a program. A script that mentions a program starts it, and does not change it.
func isProgram(name string) bool {
	return slices.Contains([]string{"/bin", "/sbin", "/usr/bin", "/usr/sbin"}, path.Dir(name))
}

// tree notes that anything may change below a folder.
func (t *Touched) tree(dir string) {
	switch {
	case isPassing(dir):
	case slices.Contains(broad, dir):
		t.Anything = true
	default:
		t.Trees[dir] = true
	}
}

// Read adds the possible changes by a maintainer script. fresh reports that the package is not on the host, not even in part:
// then the script has nothing to do for earlier versions.
func (t *Touched) Read(text string, fresh bool) {
	first, rest, _ := strings.Cut(text, "\n")
	if !strings.HasPrefix(first, "#!") {
		rest = text
	}
	interpreter := path.Base(strings.TrimSpace(strings.TrimPrefix(first, "#!")))
	interpreter, _, _ = strings.Cut(interpreter, " ")
	if strings.HasPrefix(first, "#!") && !slices.Contains([]string{"sh", "bash", "dash"}, interpreter) {
		t.literals(rest)
		t.Vague = true
		return
	}
	s := parseScript(text)
	r := reader{t, s, fresh}
	for _, c := range s.commands {
		for _, target := range c.writes {
			r.touch(target, ofPath)
		}
		if len(c.words) > 0 {
			r.command(c.words)
		}
	}
	if s.unclear {
		t.literals(rest)
		t.Vague = true
	}
}

// literals adds all absolute paths in a text that the lexer does not understand.
func (t *Touched) literals(text string) {
	for rest := text; ; {
		at := strings.IndexByte(rest, '/')
		if at < 0 {
			return
		}
		n := at
		for n < len(rest) && (isNameByte(rest[n]) || strings.IndexByte("/.+-@:~%", rest[n]) >= 0) {
			n++
		}
		if name := path.Clean(rest[at:n]); (at == 0 || !isNameByte(rest[at-1])) && !isPassing(name) && !isProgram(name) && !slices.Contains(broad, name) {
			t.Paths[name], t.Trees[name] = true, true
		}
		rest = rest[n:]
	}
}

// reader reads one script.
type reader struct {
	*Touched
	*script
	fresh bool
}

// A depth classifies the changes of a path by a command.
type depth int

const (
	ofAttributes depth = iota
	ofFolder           // the command makes a missing folder
	ofPath
	ofTree
	ofCopy    // new files appear below the path
	ofMention // a command that is not known has it as an argument
)

// minBegin is the least length of the begin of a name that only one package has.
const minBegin = 4

// touch notes a word as a path that a command changes, if it is absolute.
func (r reader) touch(word string, d depth) {
	for _, at := range r.expand(word) {
		r.touchText(at, d)
	}
}

func (r reader) touchText(at text, d depth) {
	if at.begin == "" && !at.exact {
		r.Vague = r.Vague || d != ofMention
		return
	}
	if !strings.HasPrefix(at.begin, "/") {
		return
	}
	name := at.begin
	if n := strings.IndexAny(name, "*?["); n >= 0 {
		name, at.exact = name[:n], false
	}
	if !at.exact { // anything with this begin
		base := name[strings.LastIndexByte(name, '/')+1:]
		switch name = path.Dir(name + "x"); {
		case !slices.Contains(broad, name) && (d == ofPath || d == ofCopy):
			r.tree(name)
			r.Grows[name] = true
		case !slices.Contains(broad, name) && base == "":
			r.tree(name)
		case !slices.Contains(broad, name):
			r.Begins[path.Join(name, base)] = true
		case d == ofMention:
			r.Vague = true
		case len(base) < minBegin || slices.Contains([]string{"/", "/usr", "/var"}, name):
			r.tree(name)
		default: // of its own, such as /var/log/NAME.log*
			r.Begins[path.Join(name, base)] = true
		}
		return
	}
	name = path.Clean(name)
	switch {
	case isPassing(name), d == ofMention && isProgram(name):
	case d == ofAttributes:
		r.Attributes[name] = true
	case d == ofFolder:
		r.Folders[name] = true
	case d == ofPath:
		r.Paths[name] = true
	case d == ofMention && slices.Contains(broad, name):
		r.Vague = true
	default:
		if r.Paths[name] = true; d == ofCopy {
			r.Grows[name] = true
		}
		r.tree(name)
	}
}

// looking are programs and functions that change no file that they get as an argument.
var looking = words(`[ [[ test command which type echo printf cat grep egrep fgrep zgrep readlink realpath stat cmp diff head tail wc cut sort uniq
	tr basename dirname ls id getent exit return true false : set shift read unset expr hostname uname date sleep break continue trap umask
	wait alias let dpkg-query dpkg-vendor dpkg-architecture mktemp tempfile md5sum sha256sum sha1sum sync seq tput tty locale kill pidof pgrep
	py3compile py3clean pypy3compile pypy3clean pycompile pyclean ucfr ischroot selinuxenabled mountpoint df du pathfind whoami
	stty nproc ss ip netstat aa-enabled uuidgen arch getconf logger lsb_release ps xset yes file zcat modinfo lsmod udevadm systemd-detect-virt systemd-escape `)

// quiet are programs whose changes no resource manages.
var quiet = words(`modprobe killall pkill sysctl restorecon update-menus gtk-update-icon-cache update-icon-caches install-info fc-cache mandb glib-compile-schemas
	update-mime-database update-desktop-database update-perl-sax-parsers systemd-hwdb journalctl
	catchsegv apparmor_parser aa-status systemd-sysctl systemd-binfmt systemd-catalog`)

func words(text string) []string { return strings.Fields(text) }

// places are programs with the folders and files that they change.
var places = map[string][]string{
	"ldconfig":               {"/etc/ld.so.cache", "/var/cache/ldconfig"},
	"update-initramfs":       {"/boot/", "/var/lib/initramfs-tools"},
	"update-ca-certificates": {"/etc/ssl/certs", "/etc/ca-certificates.conf"},
	"make-ssl-cert":          {"/etc/ssl/certs", "/etc/ssl/private"},
	"update-xmlcatalog":      {"/etc/xml"},
	"update-catalog":         {"/etc/sgml"},
	"pam-auth-update":        {"/etc/pam.d", "/var/lib/pam"},
	"update-shells":          {"/etc/shells", "/var/lib/shells.state"},
	"add-shell":              {"/etc/shells"},
	"remove-shell":           {"/etc/shells"},
	"update-locale":          {"/etc/default/locale", "/etc/locale.conf"},
	"locale-gen":             {"/usr/lib/locale", "/etc/locale.gen"},
	"newaliases":             {"/etc/aliases", "/etc/aliases.db"},
	"postconf":               {"/etc/postfix"},
	"postalias":              {"/etc/aliases.db"},
	"pg_createcluster":       {"/etc/postgresql", "/var/lib/postgresql", "/var/log/postgresql", "/etc/postgresql-common", "/run/postgresql"},
	"pg_updatedicts":         {"/usr/share/postgresql", "/var/cache/postgresql"},
	"a2enmod":                {"/etc/apache2", "/var/lib/apache2"},
	"a2ensite":               {"/etc/apache2", "/var/lib/apache2"},
	"a2enconf":               {"/etc/apache2", "/var/lib/apache2"},
	"a2dismod":               {"/etc/apache2", "/var/lib/apache2"},
	"a2dissite":              {"/etc/apache2", "/var/lib/apache2"},
	"a2disconf":              {"/etc/apache2", "/var/lib/apache2"},
	"apache2_invoke":         {"/etc/apache2", "/var/lib/apache2"},
	"phpenmod":               {"/etc/php", "/var/lib/php"},
	"php_invoke":             {"/etc/php", "/var/lib/php"},
	"update-cracklib":        {"/var/cache/cracklib"},
	"update-mime":            {"/etc/mailcap"},
	"update-binfmts":         {"/var/lib/binfmts"},
	"update-rc.d":            {"/etc/rc0.d", "/etc/rc1.d", "/etc/rc2.d", "/etc/rc3.d", "/etc/rc4.d", "/etc/rc5.d", "/etc/rc6.d", "/etc/rcS.d", "/etc/init.d/.depend.boot", "/etc/init.d/.depend.start", "/etc/init.d/.depend.stop"},
}

// command notes the possible changes by a simple command.
func (r reader) command(argv []string) {
	programs := r.expand(argv[0])
	if len(programs) != 1 || !programs[0].exact {
		r.others(argv)
		return
	}
	program, rest := path.Base(programs[0].begin), argv[1:]
	switch {
	case slices.Contains(looking, program):
		return
	case slices.Contains(quiet, program), strings.HasPrefix(program, "db_"):
		return
	case places[program] != nil:
		for _, at := range places[program] {
			at = path.Clean(at)
			r.Paths[at], r.Trees[at], r.Grows[at] = true, true, true
		}
		return
	}
	switch {
	case r.ofFiles(program, rest), r.ofDpkg(program, argv), r.ofAccounts(program, rest):
	case r.functions[program]: // which has its arguments as $1 and so on
	default:
		r.others(argv)
	}
}

// ofFiles notes the changes by a program for files, and reports whether the program is one of them.
func (r reader) ofFiles(program string, rest []string) bool {
	switch program {
	case ".", "source":
		if len(rest) == 0 || !strings.HasSuffix(rest[0], "/debconf/confmodule") {
			r.sourced(rest)
		}
	case "exec", "env", "nice", "ionice", "setsid", "nohup", "eval", "builtin":
		for len(rest) > 0 && strings.Contains(rest[0], "=") {
			rest = rest[1:]
		}
		if len(rest) > 0 {
			r.command(rest)
		}
	case "cd", "pushd":
		if len(rest) > 0 { // the next commands may change relative paths
			r.touch(rest[0], ofMention)
		}
	case "chmod", "chown", "chgrp", "setcap", "setfacl", "chattr", "chcon":
		d := ofAttributes
		if hasOption(rest, "R", "--recursive") {
			d = ofTree
		}
		r.all(rest, d)
	case "mkdir":
		r.all(rest, ofFolder)
	case "touch", "rmdir", "mkfifo", "mknod", "tee", "truncate", "unlink", "ssh-keygen", "gzip", "bzip2", "xz":
		r.all(rest, ofPath)
	case "rm", "mv":
		r.all(rest, ofTree)
	case "cp", "ln", "install":
		r.copied(program, rest)
	case "sed", "perl", "awk", "gawk", "mawk":
		r.filtered(program, rest)
	case "find":
		r.found(rest)
	default:
		return false
	}
	return true
}

// ofDpkg notes the changes by a program of dpkg or debhelper, and reports whether the program is one of them.
func (r reader) ofDpkg(program string, argv []string) bool {
	rest := argv[1:]
	switch program {
	case "dpkg":
		if len(rest) == 0 || !slices.Contains([]string{"--compare-versions", "-s", "-l", "-L", "-S", "--status", "--print-architecture", "--validate-version"}, rest[0]) {
			r.others(argv)
		}
	case "dpkg-maintscript-helper":
		if n := slices.Index(rest, "--"); n >= 0 {
			rest = rest[:n]
		}
		if !r.fresh {
			r.all(rest, ofTree)
		}
	case "dpkg-statoverride":
		if !slices.Contains(rest, "--list") {
			r.all(rest, ofAttributes)
		}
	case "dpkg-divert":
		r.all(rest, ofPath)
		for _, word := range rest {
			for _, at := range r.expand(word) {
				if at.exact && strings.HasPrefix(at.begin, "/") {
					r.Paths[path.Clean(at.begin)+".distrib"] = true
				}
			}
		}
	case "dpkg-trigger":
		for _, word := range rest {
			for _, at := range r.expand(word) {
				if at.exact && !strings.HasPrefix(word, "-") {
					r.Triggers[at.begin] = true
				}
			}
		}
	case "deb-systemd-helper":
		r.units(rest, "enable", r.Enabled)
	case "deb-systemd-invoke":
		// debhelper passes $_dh_action, which is start if the package is new.
		r.units(rest, "", r.Started)
	case "systemctl", "systemd-update-helper":
		r.ofUnits(argv)
	case "invoke-rc.d":
		r.Runs = true
		r.startsScript(rest)
	case "service":
		r.Runs = true
	default:
		return false
	}
	return true
}

// anyUnit is a unit with an unknown name.
const anyUnit = ""

// ofUnits notes the changes by systemctl, and by systemd-update-helper, which scripts of rpm run.
func (r reader) ofUnits(argv []string) {
	operands := slices.DeleteFunc(slices.Clone(argv[1:]), func(word string) bool { return strings.HasPrefix(word, "-") })
	if len(operands) == 0 {
		return
	}
	into := r.Uncertain
	verb := operands[0]
	if slices.Contains(argv, "--global") || slices.Contains(argv, "--user") {
		verb = "user-" + verb
	}
	switch verb {
	case "daemon-reload", "daemon-reexec", "is-active", "is-enabled", "show", "list-units", "is-system-running", "reset-failed", "system-reload", "user-reload", "user-reexec", "user-daemon-reload":
		return
	case "try-restart", "condrestart", "try-reload-or-restart", "reload-or-try-restart", "mark-restart-system-units", "mark-reload-system-units", "system-restart", "system-reload-restart":
		r.Runs = true
		return
	case "preset", "install-system-units":
		into = r.Preset
	case "install-user-units", "remove-user-units", "mark-restart-user-units", "user-restart", "user-preset", "user-enable", "user-disable":
		r.tree("/etc/systemd/user")
		r.Grows["/etc/systemd/user"] = true
		return
	case "enable", "disable", "mask", "unmask", "start", "stop", "restart", "reload", "condstop", "kill", "remove-system-units":
		r.Runs = true
	default:
		r.others(argv)
	}
	for _, word := range operands[1:] {
		for _, at := range r.expand(word) {
			id := path.Base(at.begin)
			if !at.exact || at.begin == "" || strings.ContainsAny(id, "*?[") {
				into, id = r.Uncertain, anyUnit
			} else if path.Ext(id) == "" {
				id += ".service"
			}
			into[id] = true
		}
	}
}

// ofAccounts notes the changes by other known programs, and reports whether the program is one of them.
func (r reader) ofAccounts(program string, rest []string) bool {
	switch program {
	case "adduser", "useradd", "addgroup", "groupadd":
		r.account(program, rest)
	case "deluser", "delgroup", "userdel", "groupdel", "usermod", "groupmod", "gpasswd", "passwd", "chpasswd", "chsh", "chfn", "vipw", "pwconv", "update-passwd", "chage":
		r.Accounts = true
	case "systemd-sysusers":
		r.Sysusers = true
	case "systemd-tmpfiles": // its files name folders in /run and /var
		r.Runs = true
	case "update-alternatives", "alternatives":
		r.alternative(rest)
	case "ucf":
		if len(rest) > 0 {
			r.touch(rest[len(rest)-1], ofPath)
			r.Trees["/var/lib/ucf"] = true
		}
	default:
		return false
	}
	return true
}

// others notes a command that is not known.
func (r reader) others(argv []string) {
	r.Vague = true
	for _, word := range argv[1:] {
		r.touch(word, ofMention)
		if strings.ContainsAny(word, " \t\n") { // a script
			r.quoted(word)
		}
		if _, value, ok := strings.Cut(word, "="); ok {
			r.touch(value, ofMention)
		}
	}
}

// quoted notes all absolute paths in a word.
func (r reader) quoted(word string) {
	r.literals(strings.NewReplacer("\x00", " ", "\x01", " ", "\x02", " ").Replace(word))
}

// sourced notes a file of shell commands that the script reads. The defaults in /etc/default are assignments.
func (r reader) sourced(rest []string) {
	for _, word := range rest {
		for _, at := range r.expand(word) {
			if !at.exact || !modules.Inside(path.Clean(at.begin), "/etc/default") && at.begin != "/etc/os-release" {
				r.Vague = true
			}
		}
	}
}

// all notes all arguments that are absolute paths.
func (r reader) all(arguments []string, d depth) {
	for _, word := range arguments {
		if !strings.HasPrefix(word, "-") {
			r.touch(word, d)
		} else if _, value, ok := strings.Cut(word, "="); ok {
			r.touch(value, d)
		}
	}
}

func hasOption(arguments []string, letter, long string) bool {
	return slices.ContainsFunc(arguments, func(word string) bool {
		return word == long || strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.Contains(word, letter)
	})
}

// copied notes the target of a copy: the last argument, unless an option names a folder.
func (r reader) copied(program string, rest []string) {
	d := ofPath
	if program != "ln" && (hasOption(rest, "r", "--recursive") || hasOption(rest, "R", "--archive") || hasOption(rest, "a", "--archive")) {
		d = ofCopy
	}
	if hasOption(rest, "t", "--target-directory") || program == "install" && hasOption(rest, "d", "--directory") || slices.ContainsFunc(rest, func(w string) bool { return strings.HasPrefix(w, "--target-directory=") }) {
		r.all(rest, ofCopy)
		return
	}
	var operands []string
	for _, word := range rest {
		if !strings.HasPrefix(word, "-") {
			operands = append(operands, word)
		}
	}
	if len(operands) == 0 {
		return
	}
	target := operands[len(operands)-1]
	r.touch(target, d)
	// The target may be a folder.
	for _, source := range operands[:len(operands)-1] {
		for _, at := range r.expand(source) {
			if base := path.Base(at.begin); at.exact && base != "." && base != "/" && !strings.ContainsAny(base, "*?[") {
				r.touch(strings.TrimSuffix(target, "/")+"/"+base, d)
			} else {
				r.touch(target, ofCopy)
			}
		}
	}
}

// found notes the changes by find.
func (r reader) found(rest []string) {
	runs := slices.ContainsFunc(rest, func(word string) bool { return slices.Contains([]string{"-exec", "-execdir", "-ok"}, word) })
	at := slices.Index(rest, "-name")
	switch {
	case runs:
		r.all(rest, ofCopy)
	case !slices.Contains(rest, "-delete"):
	case len(rest) > 2 && rest[1] == "-maxdepth" && rest[2] == "1" && at > 0 && at+1 < len(rest):
		r.touch(path.Join(rest[0], rest[at+1]), ofTree)
	default:
		r.all(rest, ofTree)
	}
}

// filtered notes the files that a filter changes in place.
func (r reader) filtered(program string, rest []string) {
	if program == "sed" && !slices.ContainsFunc(rest, func(w string) bool {
		return strings.HasPrefix(w, "-i") || strings.HasPrefix(w, "--in-place") || strings.HasPrefix(w, "-n") && strings.Contains(w, "i") || strings.HasPrefix(w, "-E") && strings.Contains(w, "i")
	}) {
		return
	}
	if program != "sed" {
		for _, word := range rest {
			if program == "perl" || strings.ContainsAny(word, ">|") {
				r.quoted(word)
			}
		}
		if program == "perl" {
			r.Vague = true
			r.all(rest, ofPath)
		}
		return
	}
	given := false
	var operands []string
	for n := 0; n < len(rest); n++ {
		switch word := rest[n]; {
		case word == "-e" || word == "-f" || word == "--expression" || word == "--file":
			given = true
			n++
		case strings.HasPrefix(word, "--expression=") || strings.HasPrefix(word, "--file="):
			given = true
		case !strings.HasPrefix(word, "-"):
			operands = append(operands, word)
		}
	}
	if !given && len(operands) > 0 {
		operands = operands[1:]
	}
	r.all(operands, ofPath)
}

// units notes the units after a verb of debhelper's helpers; an empty verb means any but stop.
func (r reader) units(rest []string, verb string, into map[string]bool) {
	operands := slices.DeleteFunc(slices.Clone(rest), func(word string) bool { return strings.HasPrefix(word, "-") })
	if len(operands) < 2 {
		return
	}
	if is := operands[0]; verb != "" && is != verb || is == "stop" {
		return
	}
	for _, word := range operands[1:] {
		for _, at := range r.expand(word) {
			if !at.exact {
				r.Vague = true
				continue
			}
			into[at.begin] = true
		}
	}
	r.Trees["/var/lib/systemd/deb-systemd-helper-enabled"], r.Trees["/var/lib/systemd/deb-systemd-helper-masked"] = true, true
}

// startsScript notes the unit that invoke-rc.d starts instead of the script of System V.
func (r reader) startsScript(rest []string) {
	operands := slices.DeleteFunc(slices.Clone(rest), func(word string) bool { return strings.HasPrefix(word, "-") })
	if len(operands) < 2 || slices.Contains(rest, "--skip-systemd-native") {
		return
	}
	starts := func(t text) bool { return t.exact && (t.begin == "start" || t.begin == "restart") }
	if !slices.ContainsFunc(r.expand(operands[1]), starts) {
		return
	}
	for _, at := range r.expand(operands[0]) {
		if at.exact {
			r.Started[strings.TrimSuffix(at.begin, ".service")+".service"] = true
		}
	}
}

// alternative notes the links of update-alternatives.
func (r reader) alternative(rest []string) {
	name := func(word string) {
		for _, at := range r.expand(word) {
			if !at.exact || strings.Contains(at.begin, "/") {
				r.tree("/etc/alternatives")
				r.tree("/var/lib/dpkg/alternatives")
				r.tree("/var/lib/alternatives")
				continue
			}
			for _, dir := range []string{"/etc/alternatives/", "/var/lib/dpkg/alternatives/", "/var/lib/alternatives/"} {
				r.Paths[dir+at.begin] = true
			}
		}
	}
	for n := 0; n < len(rest); n++ {
		switch rest[n] {
		case "--install", "--slave":
			if n+3 < len(rest) {
				r.touch(rest[n+1], ofPath)
				name(rest[n+2])
				n += 3
			}
		case "--remove", "--remove-all", "--set", "--auto", "--config":
			if n+1 < len(rest) {
				name(rest[n+1])
				n++
			}
		}
	}
}

// account notes a user or a group that is created.
func (r reader) account(program string, rest []string) {
	u := User{Useradd: program == "useradd"}
	group := program == "addgroup" || program == "groupadd"
	rest = slices.DeleteFunc(slices.Clone(rest), r.isFlag)
	own := !slices.Contains(rest, "--no-user-group") && !slices.Contains(rest, "-N") // it gets a group of its own
	if program == "adduser" && slices.Contains(rest, "--system") {
		own = slices.Contains(rest, "--group")
	}
	var operands []string
	for n := 0; n < len(rest); n++ {
		option, value, inline := strings.Cut(rest[n], "=")
		if !strings.HasPrefix(option, "-") {
			operands = append(operands, rest[n])
			continue
		}
		takes := slices.Contains(words("--home -d --home-dir --shell -s --gecos --comment -c --gid -g --uid -u --ingroup --groups -G --firstuid --lastuid --firstgid --lastgid --base-dir -b --skel -k -K --conf"), option)
		if takes && !inline && n+1 < len(rest) {
			n++
			value = rest[n]
		}
		switch option {
		case "--system", "-r":
			u.System = true
		case "--home", "-d", "--home-dir":
			u.Home = r.one(value)
			r.touch(value, ofPath)
		case "--shell", "-s":
			u.Shell = r.one(value)
		case "--gecos", "--comment", "-c":
			u.Comment = true
		case "--base-dir", "-b":
			r.Accounts = true
		case "--ingroup", "--gid", "-g":
			own = own && group
		case "--groups", "-G":
			r.Accounts = true
		}
	}
	if len(operands) != 1 { // adduser USER GROUP adds a user to a group
		r.Accounts = true
		return
	}
	for _, at := range r.expand(operands[0]) {
		switch {
		case !at.exact:
			r.Accounts = true
		case group:
			r.Groups[at.begin] = true
		default:
			if r.Users[at.begin] = u; own {
				r.Groups[at.begin] = true
			}
		}
	}
}

// one returns the value of an option. If only the shell knows it, it is empty, and accounts have other changes.
func (r reader) one(word string) string {
	texts := r.expand(word)
	if len(texts) != 1 || !texts[0].exact {
		r.Accounts = true
		return ""
	}
	return texts[0].begin
}

// isFlag reports whether a word is a variable that can only be empty or an option without a value, such as --quiet.
func (r reader) isFlag(word string) bool {
	if !strings.HasPrefix(word, string(begin)) {
		return false
	}
	texts := r.expand(word)
	return len(texts) > 0 && !slices.ContainsFunc(texts, func(t text) bool { return !t.exact || t.begin != "" && !strings.HasPrefix(t.begin, "--") })
}
