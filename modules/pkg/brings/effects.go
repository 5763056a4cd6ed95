package brings

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
	"github.com/ccm-push/ccm-push/modules/service"
)

// A Package is a pending package.
type Package struct {
	Name  string // without architecture
	Asked bool   // a resource names it
	Fresh bool   // nothing of it is on the host
	File  File

	// Only packages of rpm have these.
	Version string    // [epoch:]version-release
	Former  []Control // packages that it replaces, among them another version of its own

	rpm     bool
	start   int64 // bytes of its file before the content of its files, if it has these apart
	control Control
	entries []Entry // the first ones of its files; empty if they are not known
	whole   bool    // these are all
	etc     bool    // these have all files below /etc, except links
}

// text returns the content of a file that the package brings, if it is known.
func (p *Package) text(name string) (string, bool) {
	for _, e := range p.entries {
		if e.Path == name && e.Kind == modules.Regular && !e.Hard && e.Data != nil {
			return string(e.Data), true
		}
	}
	return "", false
}

var (
	errUnforeseen = errors.New("the scripts of the packages may change anything")
	errMany       = errors.New("the packages have too many files")
)

// maxPaths bounds the paths with a prediction each; a folder of /usr counts as one if there are more.
const (
	maxPaths = 3000
	maxTotal = 60_000
)

// forecast collects the changes by packages.
type forecast struct {
	modules.Host
	links   map[string]string // folders that are links to one below /usr or /run
	state   map[string]modules.PathState
	unsure  map[string]bool // paths that differ in a way that is not predicted, and existing paths below
	grows   map[string]bool // folders in unsure with possible new paths below
	touched *Touched
	effects []modules.Effect
}

// Effects predicts the changes by the installation of packages. h shows the files as earlier plans
// leave them. installed are the packages of rpm with triggers; empty with dpkg. An error means that the changes are unknown.
func Effects(h modules.Host, packages []*Package, installed []Header) ([]modules.Effect, error) {
	f := &forecast{Host: h, links: map[string]string{}, state: map[string]modules.PathState{}, unsure: map[string]bool{}, grows: map[string]bool{}, touched: NewTouched()}
	if err := f.configured(); err != nil {
		return nil, err
	}
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/var/run", "/var/lock"} {
		if info, err := h.Files.Stat(dir); err == nil && info.Kind == modules.Symlink {
			f.links[dir] = path.Join(path.Dir(dir), info.Target)
			if path.IsAbs(info.Target) {
				f.links[dir] = path.Clean(info.Target)
			}
		}
	}
	total := 0
	for _, p := range packages {
		if total += len(p.control.Files) + len(p.entries); total > maxTotal {
			return nil, errMany
		}
		f.scripts(p)
		f.files(p)
	}
	f.triggers(packages)
	f.answers(packages, installed)
	if f.touched.Anything {
		return nil, errUnforeseen
	}
	f.collapse()
	f.units(packages)
	if err := f.accounts(packages); err != nil {
		return nil, err
	}
	f.paths(packages)
	for i, e := range f.effects {
		f.effects[i].Likely = e.Kind != modules.DiffersEffect || !f.grows[e.Key]
	}
	return append(f.effects, modules.Elsewhere), nil
}

// configured returns an error if dpkg is set up to omit files, except documentation.
func (f *forecast) configured() error {
	list := []string{"/etc/dpkg/dpkg.cfg"}
	names, _ := f.Files.List("/etc/dpkg/dpkg.cfg.d")
	for _, name := range names {
		list = append(list, "/etc/dpkg/dpkg.cfg.d/"+name)
	}
	for _, name := range list {
		text, err := f.read(name)
		if err != nil && !modules.NotThere(err) {
			return err
		}
		for line := range strings.Lines(text) {
			option, pattern, _ := strings.Cut(strings.TrimSpace(strings.Replace(line, "=", " ", 1)), " ")
			if strings.HasSuffix(option, "path-exclude") && !strings.HasPrefix(strings.Trim(pattern, `"' `), "/usr/share/") {
				return errUnforeseen
			}
		}
	}
	return nil
}

// maxText bounds a file of the host that is read, in bytes.
const maxText = 1 << 20

func (f *forecast) read(name string) (string, error) {
	file, err := f.Files.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxText))
	return string(text), err
}

// canonical returns a path as the host has it.
func (f *forecast) canonical(name string) string {
	for dir, to := range f.links {
		if modules.Inside(name, dir) {
			return to + name[len(dir):]
		}
	}
	return name
}

// undocumented are folders whose files a host may omit.
var undocumented = []string{"/usr/share/doc", "/usr/share/man", "/usr/share/info", "/usr/share/locale", "/usr/share/lintian", "/usr/share/doc-base", "/usr/share/groff", "/usr/share/linda", "/usr/share/bug"}

func isDocumentation(name string) bool {
	return slices.ContainsFunc(undocumented, func(dir string) bool { return modules.Inside(name, dir) })
}

// documentation notes a name in a folder of documentation, and anything below it: the host may omit some of the files.
func (f *forecast) documentation(name string) {
	for _, dir := range undocumented {
		if modules.Inside(name, dir) && name != dir {
			first, _, _ := strings.Cut(name[len(dir)+1:], "/")
			f.anyBelow(path.Join(dir, first))
		}
	}
}

// maxContent bounds the content of a file that later resources see, in bytes.
const maxContent = 256 << 10

// files adds the files of a package.
func (f *forecast) files(p *Package) {
	add := func(name string, s modules.PathState) {
		name = f.canonical(name)
		f.documentation(name)
		if name != "/" && !isDocumentation(name) {
			f.state[name] = s
			for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
				if f.state[dir].Kind == modules.Directory {
					break
				}
				f.state[dir] = modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Directory, Mode: 0o755}}
			}
		}
	}
	for _, e := range p.entries {
		if e.Kind == modules.Directory { // before its files
			add(e.Path, f.stateOf(e))
			if info, err := f.Files.Stat(f.canonical(e.Path)); p.rpm && err == nil && (info.Mode != e.Mode || info.UID != e.UID || info.GID != e.GID) {
				f.touched.Attributes[e.Path] = true // rpm also changes an existing folder
			}
		}
	}
	known := map[string]bool{}
	for _, e := range p.entries {
		if known[e.Path] = true; e.Kind != modules.Directory {
			add(e.Path, f.stateOf(e))
		}
	}
	for _, name := range slices.Concat(p.control.Conffiles, p.control.Files) {
		if known[name] {
			continue
		}
		s := modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Regular, Mode: 0o644, Links: 1}, Partial: true}
		switch path.Dir(f.canonical(name)) {
		case "/usr/bin", "/usr/sbin", "/bin", "/sbin", "/usr/games":
			s.Mode, s.Partial = 0o755, false
		}
		add(name, s)
	}
	if !p.Fresh {
		return
	}
	for _, at := range p.control.Conffiles { // the option --force-confold keeps an existing file
		name := f.canonical(at)
		if _, err := f.Files.Stat(name); err != nil {
			continue
		}
		suffixes := []string{".dpkg-dist", ".dpkg-new"}
		if p.rpm {
			suffixes = []string{".rpmnew", ".rpmorig", ".rpmsave"}
		}
		if !p.rpm || slices.Contains(p.control.Kept, at) && f.differs(name, f.state[name].Content) {
			delete(f.state, name)
		}
		for _, suffix := range suffixes {
			f.unsure[name+suffix] = true
		}
	}
}

// differs reports whether the content of a file of the host is known, and not the given one.
func (f *forecast) differs(name string, content modules.Content) bool {
	text, err := f.read(name)
	sum := sha256.Sum256([]byte(text))
	return err == nil && len(text) < maxText && !content.IsZero() && content.SHA256() != hex.EncodeToString(sum[:])
}

// stateOf returns the state of a file of a package. Users and groups below 100 have the same number everywhere
// (base-passwd); others are not predicted.
func (f *forecast) stateOf(e Entry) modules.PathState {
	s := modules.PathState{FileInfo: modules.FileInfo{Kind: e.Kind, Mode: e.Mode, UID: e.UID, GID: e.GID}}
	s.Partial = e.UID >= 100 || e.GID >= 100 || e.Kind == modules.Special
	switch {
	case e.Kind == modules.Symlink:
		s.Mode, s.Target = fs.ModePerm, e.Target
	case e.Hard:
		s.Partial = true
	case e.Kind == modules.Regular && e.Data == nil:
		s.Size, s.Links, s.Partial = e.Size, 1, s.Partial || e.Sum == ""
		if e.Sum != "" {
			s.Content = modules.HashedContent(e.Sum, e.Size)
		}
	case e.Kind == modules.Regular:
		s.Size, s.Links = int64(len(e.Data)), 1
		if len(e.Data) <= maxContent && (modules.Inside(e.Path, "/etc") || strings.Contains(e.Path, "/systemd/")) {
			s.Content = modules.TextContent(string(e.Data))
		} else {
			sum := sha256.Sum256(e.Data)
			s.Content = modules.HashedContent(hex.EncodeToString(sum[:]), s.Size)
		}
	}
	return s
}

// scripts adds the possible changes by the scripts of a package.
func (f *forecast) scripts(p *Package) {
	t := NewTouched()
	for _, script := range p.control.Scripts {
		t.Read(script, p.Fresh)
	}
	for _, a := range p.control.Answers { // to files and packages that the host may have
		t.Read(a.Script, p.Fresh)
	}
	for _, c := range p.Former {
		for _, script := range c.Leaving {
			t.Read(script, false)
		}
		f.leave(slices.Concat(c.Files, c.Conffiles, c.Ghosts))
	}
	for _, name := range p.control.Ghosts {
		if !isDocumentation(name) {
			f.unsure[f.canonical(name)] = true
		}
	}
	if !p.Fresh && !p.rpm {
		f.former(p, t)
	}
	// systemd has a file trigger for tmpfiles.d(5).
	runs := t.Runs || p.rpm && slices.ContainsFunc(p.control.Files, func(name string) bool { return path.Dir(name) == "/usr/lib/tmpfiles.d" })
	for _, stem := range stems(p.Name) {
		if t.Vague {
			t.Trees["/etc/"+stem] = true
		}
		if t.Vague || runs || len(t.Started) > 0 || !p.whole && !p.rpm {
			for _, dir := range []string{"/var/lib/", "/var/log/", "/var/cache/", "/var/spool/", "/var/www/", "/run/"} {
				f.unlisted(p, dir+stem)
			}
		}
		if t.Vague || !p.whole && !p.rpm {
			f.unlisted(p, "/usr/share/"+stem)
			f.unlisted(p, "/usr/lib/"+stem)
		}
	}
	f.anyBelow("/usr/share/doc/" + p.Name)
	f.touched.add(t)
	for _, name := range p.control.Triggers {
		f.touched.Triggers[name] = true
	}
}

// former adds changes because of the installed version: its files may go, and its scripts run.
func (f *forecast) former(p *Package, t *Touched) {
	found := false
	names, err := f.Files.List(infoDir)
	for _, name := range names {
		switch base, suffix := strings.TrimSuffix(name, path.Ext(name)), path.Ext(name); {
		case base != p.Name && !strings.HasPrefix(base, p.Name+":"):
		case suffix == ".prerm", suffix == ".postrm":
			script, err := f.read(path.Join(infoDir, name))
			if t.Read(script, false); err != nil {
				t.Anything = true
			}
		case suffix == ".list":
			found = true
			text, err := f.read(path.Join(infoDir, name))
			if err != nil || len(text) == maxText {
				t.Anything = true
			}
			for line := range strings.Lines(text) {
				f.leave([]string{path.Clean(strings.TrimSpace(line))})
			}
		}
	}
	t.Anything = t.Anything || err != nil || !found
}

// anyBelow notes a folder below which anything may differ or appear.
func (f *forecast) anyBelow(dir string) { f.unsure[dir], f.grows[dir] = true, true }

// leave notes files of installed packages that may be removed or changed.
func (f *forecast) leave(names []string) {
	for _, name := range names {
		name = f.canonical(name)
		if info, err := f.Files.Stat(name); err == nil && info.Kind != modules.Directory && !isDocumentation(name) {
			f.unsure[name] = true
		}
	}
}

// unlisted notes a folder that may come without being listed.
func (f *forecast) unlisted(p *Package, dir string) {
	if !slices.ContainsFunc(p.control.Files, func(name string) bool { return modules.Inside(name, dir) }) {
		f.anyBelow(dir)
	}
}

// add adds the changes of other scripts.
func (t *Touched) add(o *Touched) {
	maps.Copy(t.Paths, o.Paths)
	maps.Copy(t.Trees, o.Trees)
	maps.Copy(t.Grows, o.Grows)
	maps.Copy(t.Begins, o.Begins)
	maps.Copy(t.Folders, o.Folders)
	maps.Copy(t.Attributes, o.Attributes)
	maps.Copy(t.Users, o.Users)
	maps.Copy(t.Groups, o.Groups)
	maps.Copy(t.Enabled, o.Enabled)
	maps.Copy(t.Started, o.Started)
	maps.Copy(t.Preset, o.Preset)
	maps.Copy(t.Uncertain, o.Uncertain)
	maps.Copy(t.Triggers, o.Triggers)
	t.Accounts, t.Sysusers = t.Accounts || o.Accounts, t.Sysusers || o.Sysusers
	t.Runs, t.Vague, t.Anything = t.Runs || o.Runs, t.Vague || o.Vague, t.Anything || o.Anything
}

// stems are the names that a package may give to its folders.
func stems(name string) []string {
	all := []string{name}
	for _, suffix := range []string{"-common", "-server", "-client", "-data", "-core", "-base", "-bin", "-utils", "-tools", "-daemon", "-full", "-extras"} {
		if base, ok := strings.CutSuffix(name, suffix); ok {
			all = append(all, base)
		}
	}
	first, _, _ := strings.Cut(name, "-")
	letters := strings.TrimRight(first, "0123456789.")
	all = append(all, first, letters)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(s string) bool {
		return len(s) < 3 || slices.Contains([]string{"lib", "apt", "dpkg", "systemd", "python", "perl", "gcc", "fonts", "linux"}, s)
	})
}

// dpkg's folder of scripts and of triggers.
const (
	infoDir    = "/var/lib/dpkg/info"
	triggerDir = "/var/lib/dpkg/triggers"
)

// usual are installed packages whose answer to a trigger is known.
var usual = map[string][]string{
	"libc-bin":            {"/etc/ld.so.cache", "/var/cache/ldconfig"},
	"man-db":              {"/var/cache/man"},
	"systemd":             {"/var/lib/systemd/catalog", "/etc/udev/hwdb.bin"},
	"udev":                {"/etc/udev/hwdb.bin"},
	"dbus":                {},
	"mailcap":             {"/etc/mailcap"},
	"debianutils":         {"/etc/shells", "/var/lib/shells.state"},
	"ca-certificates":     {"/etc/ssl/certs", "/etc/ca-certificates.conf"},
	"initramfs-tools":     {"/boot", "/var/lib/initramfs-tools"},
	"install-info":        {"/usr/share/info"},
	"hicolor-icon-theme":  {"/usr/share/icons"},
	"shared-mime-info":    {"/usr/share/mime"},
	"desktop-file-utils":  {"/usr/share/applications"},
	"fontconfig":          {"/var/cache/fontconfig"},
	"libglib2.0-0":        {"/usr/share/glib-2.0"},
	"libgdk-pixbuf-2.0-0": {"/usr/lib/x86_64-linux-gnu/gdk-pixbuf-2.0"},
	"gnome-menus":         {},
	"menu":                {},
	"sgml-base":           {"/etc/sgml"},
	"php-common":          {"/etc/php", "/var/lib/php"},
	"postgresql-common":   {"/var/cache/postgresql", "/usr/share/postgresql"},
}

// triggers adds the changes by installed packages that wait for files, or for names.
func (f *forecast) triggers(packages []*Package) {
	waiting := map[string]bool{}
	list, _ := f.read(triggerDir + "/File")
	for line := range strings.Lines(list) {
		dir, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || waiting[name] {
			continue
		}
		dir = f.canonical(dir)
		for _, p := range packages {
			hit := func(file string) bool { return modules.Inside(f.canonical(file), dir) }
			if slices.ContainsFunc(p.control.Files, hit) || slices.ContainsFunc(p.control.Conffiles, hit) {
				waiting[name] = true
				break
			}
		}
	}
	for trigger := range f.touched.Triggers {
		if path.Base(trigger) == trigger {
			list, _ := f.read(path.Join(triggerDir, trigger))
			for line := range strings.Lines(list) {
				waiting[strings.TrimSpace(line)] = true
			}
		}
	}
	for name := range waiting {
		name, _, _ = strings.Cut(name, "/") // noawait
		base, _, _ := strings.Cut(name, ":")
		if f.usually(base) {
			continue
		}
		script, err := f.read(path.Join(infoDir, name+".postinst"))
		if err != nil {
			f.touched.Vague = true
			continue
		}
		f.answer(base, script)
	}
}

// usually notes the changes by a trigger of an installed package, if it is in the list usual, and reports whether it is.
func (f *forecast) usually(name string) bool {
	places, ok := usual[name]
	for _, at := range places {
		f.anyBelow(at)
	}
	return ok
}

// answer adds the changes by the trigger of an installed package.
func (f *forecast) answer(name, script string) {
	t := NewTouched()
	t.Read(script, true)
	t.Enabled, t.Started = nil, nil
	f.touched.add(t)
	if t.Vague {
		for _, stem := range stems(name) {
			for _, dir := range []string{"/etc/", "/var/lib/", "/var/log/", "/var/cache/"} {
				f.anyBelow(dir + stem)
			}
		}
	}
}

// answers adds the changes by triggers of installed packages of rpm.
func (f *forecast) answers(packages []*Package, installed []Header) {
	var names, files []string
	for _, p := range packages {
		names = append(names, p.Name)
		for _, e := range p.entries {
			files = append(files, e.Path)
		}
		for _, c := range p.Former {
			files = append(files, slices.Concat(c.Files, c.Conffiles)...)
		}
	}
	for _, h := range installed {
		for _, a := range h.Answers {
			hit := slices.ContainsFunc(a.On, func(on string) bool {
				return slices.Contains(names, on) || path.IsAbs(on) && slices.ContainsFunc(files, func(name string) bool { return strings.HasPrefix(name, on) })
			})
			switch {
			case !hit:
			case strings.Contains(strings.Join(a.On, " "), "/sysusers.d"):
				f.touched.Sysusers = true
			case strings.Contains(strings.Join(a.On, " "), "/tmpfiles.d"): // see scripts
			case !f.usually(a.Package):
				f.answer(a.Package, a.Script)
			}
		}
	}
}

// collapse replaces many paths by their folders, without a prediction.
func (f *forecast) collapse() {
	if len(f.state) <= maxPaths {
		return
	}
	for name := range f.state {
		parts := strings.Split(name, "/")
		if len(parts) > 4 && parts[1] == "usr" && !strings.Contains(name, "/systemd/") {
			delete(f.state, name)
			f.anyBelow(strings.Join(parts[:4], "/"))
		}
	}
	for name := range f.unsure {
		delete(f.state, name)
	}
}

// unitFolder has the units of packages, by its usual name.
const unitFolder = "/usr/lib/systemd/system"

// units predicts the units of the packages.
func (f *forecast) units(packages []*Package) {
	_, err := f.Files.Stat("/run/systemd/system")
	running := err == nil
	_, err = f.Files.Stat("/usr/sbin/policy-rc.d")
	policy := err == nil
	var units []service.Brought
	presets, known := f.presets(packages)
	for id := range f.touched.Preset {
		if f.touched.Enabled[id] = enables(presets, id); !known || !packages[0].rpm {
			f.touched.Uncertain[id] = true
		}
	}
	f.uncertain(packages)
	for _, p := range packages {
		names := map[string]string{}
		for _, name := range slices.Concat(p.control.Files, p.control.Conffiles) {
			if dir := path.Dir(name); dir == unitFolder || dir == "/lib/systemd/system" {
				names[path.Base(name)] = name
			}
		}
		for id, name := range names {
			text, known := p.text(name)
			uncertain := f.touched.Uncertain[id] || f.touched.Uncertain[anyUnit]
			u := service.Brought{ID: id, File: f.canonical(name), Text: text, Enabled: f.touched.Enabled[id] || uncertain, Started: f.touched.Started[id], DropIns: dropIns(f.Files, id, packages)}
			u.Creates = func(name string) bool { return f.touched.creates(p, name) }
			predictable := known && running && !policy && p.Fresh && !uncertain && u.Predictable(f.Files)
			target := name
			if p.rpm { // systemctl creates the link, and otherwise deb-systemd-helper
				target = f.canonical(name)
			}
			for _, link := range u.Links() {
				if f.unsure[link] = !predictable; predictable {
					delete(f.unsure, link)
					f.state[link] = modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Symlink, Mode: fs.ModePerm, Target: target}}
					if dir := path.Dir(link); f.state[dir].Kind == "" {
						f.state[dir] = modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Directory, Mode: 0o755}}
					}
				}
			}
			if predictable {
				units = append(units, u)
			} else {
				f.unsure[f.canonical(name)] = true
			}
		}
		for _, name := range p.control.Conffiles {
			if base, ok := strings.CutPrefix(name, "/etc/init.d/"); ok && names[base+".service"] == "" {
				f.unsure[name] = true
			}
		}
	}
	slices.SortFunc(units, func(a, b service.Brought) int { return cmp.Compare(a.ID, b.ID) })
	f.effects = append(f.effects, service.BroughtEffects(units)...)
}

// dropIns returns the names of the drop-ins of a unit, on the host and in the packages.
func dropIns(files modules.FileReader, id string, packages []*Package) (names []string) {
	for _, dir := range modules.UnitFolders {
		there, _ := files.List(path.Join(dir, id+".d"))
		names = append(names, there...)
	}
	for _, p := range packages {
		for _, name := range slices.Concat(p.control.Files, p.control.Conffiles) {
			if path.Base(path.Dir(name)) == id+".d" {
				names = append(names, path.Base(name))
			}
		}
	}
	return names
}

// uncertain notes the files and links of units with unknown changes.
func (f *forecast) uncertain(packages []*Package) {
	const links = "/etc/systemd/system"
	folders, _ := f.Files.List(links)
	for queue := slices.Collect(maps.Keys(f.touched.Uncertain)); len(queue) > 0; queue = queue[1:] {
		id := queue[0]
		if id == anyUnit {
			f.anyBelow(unitFolder)
			f.anyBelow(links)
			continue
		}
		f.unsure[path.Join(unitFolder, id)], f.unsure[path.Join(links, id)] = true, true
		for _, dir := range append(folders, "multi-user.target.wants") {
			if strings.HasSuffix(dir, ".wants") || strings.HasSuffix(dir, ".requires") {
				f.unsure[path.Join(links, dir, id)] = true
			}
		}
		text, _ := f.read(path.Join(unitFolder, id))
		for _, p := range packages {
			for _, dir := range []string{unitFolder, "/lib/systemd/system"} {
				brought, _ := p.text(path.Join(dir, id))
				text += "\n" + brought
			}
		}
		for line := range strings.Lines(text) { // systemctl enables these, too
			if names, ok := strings.CutPrefix(line, "Also="); ok {
				for _, other := range strings.Fields(names) {
					if !f.touched.Uncertain[other] {
						f.touched.Uncertain[other] = true
						queue = append(queue, other)
					}
				}
			}
		}
	}
}

// creates reports whether the scripts of a new package likely create a file: they change its folder, and contain its name.
func (t *Touched) creates(p *Package, name string) bool {
	changes := t.Paths[name]
	for dir := name; dir != "/"; dir = path.Dir(dir) {
		changes = changes || t.Trees[dir]
	}
	return changes && slices.ContainsFunc(p.control.Scripts, func(script string) bool { return strings.Contains(script, path.Base(name)) })
}

// accounts predicts the users and groups that scripts create.
func (f *forecast) accounts(packages []*Package) error {
	t := f.touched
	if _, err := f.Files.Stat(rpmSysusers); t.Sysusers || err == nil {
		f.sysusers(packages)
	}
	if len(t.Users)+len(t.Groups) == 0 && !t.Accounts {
		return nil
	}
	tables, err := accounts.Read(f.Host)
	if err != nil {
		return err
	}
	defaults, err := accounts.ReadDefaults(f.Files)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(t.Groups)) {
		if _, there := tables.Group(name); !there {
			f.effects = append(f.effects, accounts.GroupEffects(accounts.Group{Name: name, GID: accounts.Unknown}, true)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Users)) {
		if _, there := tables.User(name); there {
			continue
		}
		u := t.Users[name]
		is := accounts.PredictedUser{Exists: true, User: accounts.User{Name: name, UID: accounts.Unknown, GID: accounts.Unknown, Home: u.Home, Shell: u.Shell}}
		switch {
		case u.Useradd || packages[0].rpm: // whose adduser is useradd
			is.Home, is.Shell = cmp.Or(u.Home, path.Join(defaults.Base, name)), cmp.Or(u.Shell, defaults.Shell)
		case u.System:
			is.Home, is.Shell = cmp.Or(u.Home, "/nonexistent"), cmp.Or(u.Shell, "/usr/sbin/nologin")
		}
		f.effects = append(f.effects, tables.UserEffects(is)...)
		if u.Comment {
			f.effects = append(f.effects, accounts.CommentEffect(name))
		}
	}
	if t.Accounts {
		// The kind keeps the ids of existing users and groups: scripts do not change them. Types that read the files
		// themselves do not know this kind, so their predictions are unknown.
		f.effects = append(f.effects, modules.Differ(modules.UserEffect, accounts.PasswdFile, accounts.ShadowFile, accounts.GroupFile)...)
	}
	return nil
}

// sysusers adds the users of files sysusers.d(5).
func (f *forecast) sysusers(packages []*Package) {
	t := f.touched
	for _, p := range packages {
		for _, name := range p.control.Files {
			if path.Dir(name) != "/usr/lib/sysusers.d" {
				continue
			}
			text, known := p.text(name)
			if !known {
				t.Accounts = true
			}
			for line := range strings.Lines(text) {
				switch fields := strings.Fields(line); {
				case len(fields) < 2 || strings.HasPrefix(line, "#"):
				case fields[0] == "g":
					t.Groups[fields[1]] = true
				case strings.HasPrefix(fields[0], "u"):
					u, known := sysuser(line)
					t.Users[fields[1]], t.Groups[fields[1]] = u, true
					t.Accounts = t.Accounts || !known
				default:
					t.Accounts = true
				}
			}
		}
	}
}

// sysuser reads a user of sysusers.d(5): type, name, number, comment, home and shell. known is false if another group or
// a specifier may change the result.
func sysuser(line string) (u User, known bool) {
	u = User{Home: "/", Shell: "/usr/sbin/nologin"}
	fields, _, err := record(strings.NewReplacer(`"`, "'", "\t", " ").Replace(line))
	if err != nil || strings.ContainsAny(line, `\%'`) || len(fields) > 2 && strings.Contains(fields[2], ":") {
		return u, false
	}
	u.Comment = len(fields) > 3 && fields[3] != "-"
	if len(fields) > 4 && fields[4] != "-" {
		u.Home = fields[4]
	}
	if len(fields) > 5 && fields[5] != "-" {
		u.Shell = fields[5]
	}
	return u, true
}

// rpmSysusers is a file of rpm 4.19 and later, which creates the users in sysusers.d(5) itself.
const rpmSysusers = "/usr/lib/rpm/sysusers.sh"

// managers are files that the package manager changes itself.
var managers = []string{
	"/var/lib/rpm", "/usr/lib/sysimage/rpm", "/var/lib/dnf", "/var/cache/dnf", "/var/log/dnf.log", "/var/log/dnf.rpm.log", "/var/log/dnf.librepo.log", "/var/log/hawkey.log",
	"/var/lib/dpkg/arch", "/var/lib/dpkg/available", "/var/lib/dpkg/available-old", "/var/lib/dpkg/diversions", "/var/lib/dpkg/diversions-old",
	"/var/lib/dpkg/info", "/var/lib/dpkg/lock", "/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/parts", "/var/lib/dpkg/statoverride", "/var/lib/dpkg/statoverride-old",
	"/var/lib/dpkg/status", "/var/lib/dpkg/status-old", "/var/lib/dpkg/triggers", "/var/lib/dpkg/updates", "/var/lib/apt", "/var/cache/apt", "/var/log/apt", "/var/log/dpkg.log", "/var/log/alternatives.log", "/var/cache/debconf",
}

// paths adds the effects on paths.
func (f *forecast) paths(packages []*Package) {
	t := f.touched
	trees := map[string]bool{}
	for name := range t.Trees {
		trees[f.canonical(name)] = true
	}
	for name := range t.Paths {
		f.unsure[f.canonical(name)] = true
	}
	for name := range t.Folders {
		name = f.canonical(name)
		if info, err := f.Files.Stat(name); f.state[name].Kind != modules.Directory && (err != nil || info.Kind != modules.Directory) {
			f.unsure[name] = true
		}
	}
	for _, name := range managers {
		f.anyBelow(name)
	}
	for name := range t.Grows {
		f.grows[f.canonical(name)] = true
	}
	f.attributes()
	f.begins()
	inTree := func(name string) bool {
		for dir := name; dir != "/"; dir = path.Dir(dir) {
			if trees[dir] {
				return true
			}
		}
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(f.state)) { // folders before their files
		s := f.state[name]
		info, err := f.Files.Stat(name)
		switch {
		case err != nil && !modules.NotThere(err):
			f.unsure[name] = true
		case s.Kind == modules.Directory && err == nil: // it stays, or is a link to one
			if trees[name] {
				f.unsure[name] = true
			}
		case s.Kind == modules.Directory:
			s.Partial = s.Partial || inTree(name) || f.unsure[name]
			f.effects = append(f.effects, modules.Effect{Kind: modules.PathEffect, Key: name, State: s})
			if inTree(name) {
				f.unsure[name] = true
			}
		case f.unsure[name] || inTree(name) || err == nil && info.Kind != modules.Absent:
			f.unsure[name] = true
		default:
			f.effects = append(f.effects, modules.Effect{Kind: modules.PathEffect, Key: name, State: s})
		}
	}
	for name := range trees {
		if f.state[name].Kind != modules.Directory {
			f.unsure[name] = true
		}
	}
	f.effects = append(f.effects, modules.Differ("", slices.Sorted(maps.Keys(f.unsure))...)...)
}

// attributes applies the changes of owner and mode.
func (f *forecast) attributes() {
	for name := range f.touched.Attributes {
		name = f.canonical(name)
		s, brought := f.state[name]
		info, err := f.Files.Stat(name)
		switch {
		case err == nil && info.Kind == modules.Directory:
			f.effects = append(f.effects, modules.Effect{Kind: modules.PathEffect, Key: name, State: modules.PathState{FileInfo: info, Partial: true}})
		case brought:
			s.Partial = true
			f.state[name] = s
		default:
			f.unsure[name] = true
		}
	}
}

// begins applies the changes of paths by the begin of their names.
func (f *forecast) begins() {
	for begin := range f.touched.Begins {
		begin = f.canonical(begin)
		f.unsure[begin] = true
		names, _ := f.Files.List(path.Dir(begin))
		for name := range f.state {
			names = append(names, strings.TrimPrefix(name, path.Dir(begin)+"/"))
		}
		for _, name := range names {
			if strings.HasPrefix(name, path.Base(begin)) && !strings.Contains(name, "/") {
				f.unsure[path.Join(path.Dir(begin), name)] = true
			}
		}
	}
}
