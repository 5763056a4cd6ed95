//go:build e2e

package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// TestFleetForecastsOfPackages measures predictions about packages that are not installed yet. For each package of
// testdata/forecasts/packages, the test draws a manifest from the files and scripts of the package, and compares a check
// run with the run that follows. The packages between two empty lines share a host. The test fails if a certain
// prediction is wrong. CCM_PACKAGES is a list of packages, or all. CCM_SEED chooses the manifests. FORECASTS_OUT is a
// folder for the results. Packages with results in this folder are skipped.
func TestFleetForecastsOfPackages(t *testing.T) {
	chosen := os.Getenv("CCM_PACKAGES")
	if chosen == "" {
		t.Skip(needs.Prefix + "packages of the Debian archive; run: make forecasts PACKAGES=1")
	}
	needs.Program(t, "dpkg-deb")
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("CCM_SEED"), "1"), 10, 64)
	require.NoError(t, err)
	out := cmp.Or(os.Getenv("FORECASTS_OUT"), t.TempDir())
	var mu sync.Mutex
	all := map[string]*forecasts{}
	archive := startDebian(t, t.TempDir())
	t.Run("hosts", func(t *testing.T) {
		for i, names := range forecastPackages(t) {
			t.Run(fmt.Sprint(i+1), func(t *testing.T) {
				var f *fleet
				for _, name := range names {
					if chosen != "all" && !slices.Contains(strings.Split(chosen, ","), name) {
						continue
					}
					results := filepath.Join(out, fmt.Sprintf("%s.%d.jsonl", name, seed))
					c, ok := earlierForecasts(t, results)
					if !ok {
						if f == nil {
							f = startForecastsHost(t, archive)
						}
						c = &forecasts{}
						manifest := drawPackageManifest(readPackage(f, archive, name), seed)
						write(t, f.path(name+".yaml"), manifest)
						write(t, filepath.Join(out, fmt.Sprintf("%s.%d.yaml", name, seed)), manifest)
						c.measure(f, archive, name+".yaml", name, "fresh")
						c.keep(t, results)
					}
					mu.Lock()
					all[name] = c
					mu.Unlock()
				}
			})
		}
	})
	text, sum := "", &gradeCount{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var n gradeCount
		for _, p := range all[name].Predictions {
			n.add(p)
			sum.add(p)
		}
		for _, r := range all[name].Runs {
			n.excess += r.Excess
			sum.excess += r.Excess
		}
		text += n.row(name, "")
	}
	t.Logf("seed %d, %d packages\n%s%s", seed, len(all), text, sum.row("all", ""))
	reportWrong(t, all)
}

// forecastPackages returns the names of testdata/forecasts/packages, by host.
func forecastPackages(t *testing.T) (hosts [][]string) {
	text, err := os.ReadFile("testdata/forecasts/packages")
	require.NoError(t, err)
	for paragraph := range strings.SplitSeq(string(text), "\n\n") {
		var names []string
		for line := range strings.Lines(paragraph) {
			if name, _, _ := strings.Cut(line, "#"); strings.TrimSpace(name) != "" {
				names = append(names, strings.TrimSpace(name))
			}
		}
		hosts = append(hosts, names)
	}
	return hosts
}

// A heldPackage lists the content of a package that a manifest may manage.
type heldPackage struct {
	name, root                string // root is the folder with its files
	conffiles, files, folders []string
	units, users, groups      []string
	alternatives              [][]string // link, name and path
}

var (
	plainPath      = regexp.MustCompile(`^/[\w./@+-]+$`)
	continued      = regexp.MustCompile(`\\\n\s*`)
	assignment     = regexp.MustCompile(`(?m)^\s*(\w+)=["']?([\w./-]+)["']?\s*$`)
	makesUser      = regexp.MustCompile(`(?m)^\s*(?:adduser|useradd)\s(.*)$`)
	makesGroup     = regexp.MustCompile(`(?m)^\s*(?:addgroup|groupadd|adduser\s.*--group)\s(.*)$`)
	makesUsers     = regexp.MustCompile(`(?m)^u\s+(\S+)`)
	installsChoice = regexp.MustCompile(`update-alternatives.*--install\s+(\S+)\s+(\S+)\s+(\S+)`)
	accountName    = regexp.MustCompile(`^_?[a-zA-Z][\w-]*$`)
)

// readPackage fetches the version of a package that the host would install, and its dependencies of the same source,
// such as nginx-common.
func readPackage(f *fleet, archive *debian, name string) *heldPackage {
	f.Helper()
	p := &heldPackage{name: name, root: filepath.Join(f.path("packages"), name)}
	require.NoError(f, os.MkdirAll(p.root, 0o755))
	var uris []*url.URL
	source := ""
	for line := range strings.Lines(f.sh(forecastsHost, "apt-get -qq --print-uris install "+name)) {
		quoted, rest, _ := strings.Cut(line, " ")
		uri, err := url.Parse(strings.Trim(quoted, "'"))
		require.NoError(f, err)
		if uris = append(uris, uri); strings.HasPrefix(rest, name+"_") {
			source = path.Dir(uri.Path)
		}
	}
	require.NotEmpty(f, source, "%s is installed, or has another name", name)
	scripts := ""
	for _, uri := range uris {
		if path.Dir(uri.Path) != source {
			continue
		}
		file, err := archive.fetch(uri.Host + uri.Path)
		require.NoError(f, err, uri)
		control := filepath.Join(f.path("packages"), path.Base(file))
		outputOf(f, exec.Command("dpkg-deb", "--control", file, control))
		outputOf(f, exec.Command("dpkg-deb", "--extract", file, p.root))
		for _, script := range []string{"preinst", "postinst"} {
			text, _ := os.ReadFile(filepath.Join(control, script)) // missing scripts are empty
			scripts += continued.ReplaceAllString(string(text), " ") + "\n"
		}
		listed, _ := os.ReadFile(filepath.Join(control, "conffiles")) // may be missing
		p.conffiles = append(p.conffiles, strings.Fields(string(listed))...)
	}
	for _, match := range assignment.FindAllStringSubmatch(scripts, -1) {
		scripts = strings.NewReplacer("${"+match[1]+"}", match[2], `"$`+match[1]+`"`, match[2], "$"+match[1]+" ", match[2]+" ", "$"+match[1]+"\n", match[2]+"\n").Replace(scripts)
	}
	last := func(makes *regexp.Regexp) (names []string) {
		for _, match := range makes.FindAllStringSubmatch(scripts, -1) {
			command, _, _ := strings.Cut(match[1], ">")
			command, _, _ = strings.Cut(command, "|")
			if words := strings.Fields(command); len(words) > 0 && accountName.MatchString(strings.Trim(words[len(words)-1], `"';`)) {
				names = append(names, strings.Trim(words[len(words)-1], `"';`))
			}
		}
		return names
	}
	p.users, p.groups = last(makesUser), last(makesGroup)
	for _, match := range installsChoice.FindAllStringSubmatch(strings.NewReplacer(`"`, "", "'", "").Replace(scripts), -1) {
		if !strings.Contains(match[0], "$") {
			p.alternatives = append(p.alternatives, match[1:])
		}
	}
	p.conffiles = slices.DeleteFunc(p.conffiles, func(at string) bool { return !plainPath.MatchString(at) })
	slices.Sort(p.conffiles)
	require.NoError(f, filepath.WalkDir(p.root, func(file string, entry fs.DirEntry, err error) error {
		at := strings.TrimPrefix(file, p.root)
		switch dir, base := path.Dir(at), path.Base(at); {
		case err != nil || at == "":
			return err
		case strings.HasPrefix(at, "/usr/share/doc"), strings.HasPrefix(at, "/usr/share/man"), at == "/usr/share/lintian", at == "/usr/share/locale":
			return fs.SkipDir
		case !plainPath.MatchString(at):
		case entry.IsDir():
			p.folders = append(p.folders, at)
		case !entry.Type().IsRegular():
		case strings.HasSuffix(dir, "lib/systemd/system") && !strings.Contains(base, "@"):
			p.units = append(p.units, base)
		case strings.HasSuffix(dir, "/sysusers.d"):
			for _, match := range makesUsers.FindAllStringSubmatch(p.text(at), -1) {
				p.users = append(p.users, match[1])
			}
		default:
			p.files = append(p.files, at)
		}
		return nil
	}))
	for _, at := range p.conffiles {
		if unit := path.Base(at); path.Dir(at) == "/etc/init.d" && !slices.Contains(p.units, unit+".service") {
			p.units = append(p.units, unit+".service")
		}
	}
	slices.Sort(p.users)
	slices.Sort(p.groups)
	p.users, p.groups = slices.Compact(p.users), slices.Compact(p.groups)
	return p
}

func (p *heldPackage) text(at string) string {
	text, _ := os.ReadFile(filepath.Join(p.root, at))
	return string(text)
}

// A packageDrawing is a manifest that is being drawn.
type packageDrawing struct {
	*rand.Rand
	*heldPackage
	resources []map[string]any
	used      map[string]bool // paths and accounts
	files     []string        // references of resources that services may subscribe to
}

// packageResources is the number of resources of a manifest.
const packageResources = 24

// drawPackageManifest returns a manifest in JSON, which is YAML.
func drawPackageManifest(p *heldPackage, seed uint64) string {
	h := fnv.New64()
	fmt.Fprint(h, p.name)
	d := &packageDrawing{rand.New(rand.NewPCG(seed, h.Sum64())), p, nil, map[string]bool{}, nil}
	d.add("package", p.name, map[string]any{})
	kinds := []func(){d.line, d.line, d.line, d.conffile, d.conffile, d.conffile, d.newFile, d.newFile, d.folder, d.folder, d.link, d.account, d.account, d.cron, d.ini, d.exec, d.choice}
	for i := 0; len(d.resources) < packageResources-3 && i < 5; i++ {
		d.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		for _, draw := range kinds {
			if len(d.resources) < packageResources-3 {
				draw()
			}
		}
	}
	d.services()
	for range 20 {
		if len(d.resources) < packageResources-1 {
			kinds[d.IntN(len(kinds))]()
		}
	}
	d.guarded() // last: if its prediction is unknown, later ones are, too
	text, _ := json.MarshalIndent([]any{map[string]any{"name": p.name, "hosts": "all", "ccm": map[string]any{"resources": d.resources}}}, "", " ")
	return string(text) + "\n"
}

// add adds a resource, and returns its reference.
func (d *packageDrawing) add(typ, name string, properties map[string]any) string {
	d.resources = append(d.resources, map[string]any{typ: []any{map[string]any{name: properties}}})
	return typ + "#" + name
}

// one returns a random element, or the zero value of an empty list.
func one[T any](d *packageDrawing, all ...T) (element T) {
	if len(all) > 0 {
		element = all[d.IntN(len(all))]
	}
	return element
}

// unused returns a random element that no resource has yet, or nothing.
func (d *packageDrawing) unused(all []string) string {
	at := one(d, slices.DeleteFunc(slices.Clone(all), func(at string) bool { return d.used[at] })...)
	d.used[at] = true
	return at
}

// commented returns configuration files in which # begins a comment, and whose text has no expression.
func (d *packageDrawing) commented() []string {
	return slices.DeleteFunc(slices.Clone(d.conffiles), func(at string) bool {
		text := d.text(at)
		return len(text) > 16<<10 || !strings.Contains("\n"+text, "\n#") || strings.Contains(text, "{{") || strings.Contains(text, "${") || strings.HasPrefix(text, "#!")
	})
}

func (d *packageDrawing) note() string { return fmt.Sprintf("# note %d of the test", d.IntN(1000)) }

func (d *packageDrawing) line() {
	at := d.unused(d.commented())
	if at == "" {
		return
	}
	properties := map[string]any{"path": at, "line": d.note()}
	switch comments := regexp.MustCompile(`(?m)^#[ \w.,=-]{8,60}$`).FindAllString(d.text(at), -1); {
	case len(comments) > 0 && d.IntN(2) == 0:
		properties["regexp"] = "^" + regexp.QuoteMeta(one(d, comments...)) + "$"
	case d.IntN(3) == 0:
		properties = map[string]any{"path": at, "block": d.note() + "\n" + d.note() + "\n"}
	}
	d.files = append(d.files, d.add("line", "note in "+at, properties))
}

func (d *packageDrawing) conffile() {
	at := d.unused(d.conffiles)
	if at == "" {
		return
	}
	properties := map[string]any{}
	info, err := os.Stat(filepath.Join(d.root, at))
	switch choice := d.IntN(6); {
	case choice < 2 && slices.Contains(d.commented(), at):
		properties["content"] = strings.TrimRight(d.text(at), "\n") + "\n" + d.note() + "\n"
	case choice == 2 && (strings.HasPrefix(at, "/etc/cron.") || strings.HasPrefix(at, "/etc/logrotate.d")):
		properties["ensure"] = "absent"
	case choice == 3:
		properties["owner"], properties["group"] = "root", one(d, append(d.groups, "root", "adm")...)
		fallthrough
	default:
		properties["mode"] = one(d, "0644", "0644", "0664")
		if err == nil && info.Mode()&0o111 != 0 {
			properties["mode"] = one(d, "0755", "0744")
		}
	}
	d.files = append(d.files, d.add("file", at, properties))
}

// ownFolders returns folders of the package below some folders, without /etc/init.d: after a change there, predictions
// about all services are unknown.
func (d *packageDrawing) ownFolders(below ...string) []string {
	return slices.DeleteFunc(slices.Clone(d.folders), func(at string) bool {
		return at == "/etc/init.d" || !slices.ContainsFunc(below, func(dir string) bool { return strings.HasPrefix(at, dir+"/") })
	})
}

func (d *packageDrawing) owned() map[string]any {
	return map[string]any{"owner": one(d, append(d.users, "root", "root")...), "group": one(d, append(d.groups, "root", "root")...), "mode": one(d, "0644", "0644", "0664")}
}

func (d *packageDrawing) newFile() {
	dir := one(d, append(d.ownFolders("/etc", "/var/lib", "/usr/share", "/var/log"), "/etc/"+d.name)...)
	at := path.Join(dir, fmt.Sprintf("%s-note%d", strings.ReplaceAll(d.name, ".", ""), d.IntN(1000)))
	properties := d.owned()
	properties["content"] = d.note() + "\n"
	if !slices.Contains(d.folders, dir) {
		if d.used[dir] {
			return
		}
		d.used[dir] = true
		d.add("file", dir, map[string]any{"ensure": "directory", "mode": "0755"})
	}
	d.files = append(d.files, d.add("file", at, properties))
}

func (d *packageDrawing) folder() {
	at := d.unused(d.ownFolders("/etc", "/var/lib", "/usr/share", "/var/cache"))
	if at == "" || d.IntN(3) == 0 {
		at = path.Join(one(d, "/etc/", "/var/lib/", "/usr/share/", "/srv/", "/etc/"+d.name+"/"), fmt.Sprintf("%s-folder%d", d.name, d.IntN(1000)))
	}
	properties := map[string]any{"ensure": "directory"}
	if d.IntN(2) == 0 {
		properties = d.owned()
		properties["ensure"], properties["mode"] = "directory", one(d, "0755", "0755", "0775")
		if strings.HasPrefix(at, "/var/") && slices.Contains(d.folders, at) {
			delete(properties, "owner") // its service may need it
		}
	}
	d.used[at] = true
	d.add("file", at, properties)
}

func (d *packageDrawing) link() {
	targets := append(slices.Clone(d.conffiles), "/srv/nothing")
	for _, at := range d.heldPackage.files {
		if strings.HasPrefix(at, "/usr/share/") || strings.HasPrefix(at, "/usr/bin/") {
			targets = append(targets, at)
		}
	}
	dir := one(d, append(d.ownFolders("/etc", "/usr/share"), "/usr/local/bin", "/srv")...)
	d.files = append(d.files, d.add("link", path.Join(dir, fmt.Sprintf("%s-link%d", d.name, d.IntN(1000))), map[string]any{"target": one(d, targets...)}))
}

func (d *packageDrawing) account() {
	if name := d.unused(d.users); name != "" {
		d.add("user", name, one(d, map[string]any{}, map[string]any{"comment": "The service " + d.name}, map[string]any{"groups": []string{"adm"}, "append": true},
			map[string]any{"shell": "/usr/sbin/nologin"}))
	} else if name := d.unused(d.groups); name != "" {
		d.add("group", name, map[string]any{})
	}
}

func (d *packageDrawing) cron() {
	programs := append(slices.DeleteFunc(slices.Clone(d.heldPackage.files), func(at string) bool { return !strings.Contains(at, "bin/") }), "/bin/true")
	d.add("cron", fmt.Sprintf("%s %d", d.name, d.IntN(1000)), map[string]any{"user": one(d, append(d.users, "root", "root")...), "command": one(d, programs...) + " --version >/dev/null", "minute": fmt.Sprint(d.IntN(60)), "hour": "3"})
}

func (d *packageDrawing) ini() {
	settings := regexp.MustCompile(`(?m)^(\w+) ?= ?([\w/]+)$`)
	at := d.unused(slices.DeleteFunc(d.commented(), func(at string) bool {
		text := d.text(at)
		section := regexp.MustCompile(`(?m)^\[[\w .-]+\]$`).FindStringIndex(text)
		return section != nil && settings.MatchString(text[section[0]:]) || !settings.MatchString(text)
	}))
	switch {
	case at != "" && d.IntN(2) == 0: // a value of a file without sections, or above them
		match := one(d, settings.FindAllStringSubmatch(d.text(at), -1)...)
		d.files = append(d.files, d.add("ini", match[1]+" in "+at, map[string]any{"path": at, "option": match[1], "value": match[2]}))
	case len(d.units) > 0 && d.IntN(3) > 0:
		at = path.Join("/etc/systemd/system", one(d, d.units...)+".d", fmt.Sprintf("note%d.conf", d.IntN(1000)))
		if !d.used[path.Dir(at)] {
			d.used[path.Dir(at)] = true
			d.add("file", path.Dir(at), map[string]any{"ensure": "directory"})
		}
		d.files = append(d.files, d.add("ini", at, map[string]any{"section": "Unit", "option": "Documentation", "value": "https://example.net/" + d.name, "separator": "=", "create": true, "mode": "0644"}))
	default:
		d.files = append(d.files, d.add("ini", fmt.Sprintf("/etc/default/%s-note%d", d.name, d.IntN(1000)), map[string]any{"option": "NOTE", "value": fmt.Sprint(d.IntN(1000)), "separator": "=", "create": true, "mode": "0644"}))
	}
}

// made returns the path of a new file.
func (d *packageDrawing) made() string {
	return path.Join(one(d, append(d.ownFolders("/var/lib", "/etc"), "/srv")...), fmt.Sprintf("made%d", d.IntN(1000)))
}

func (d *packageDrawing) exec() {
	made, name := d.made(), fmt.Sprintf("command %d", len(d.resources))
	if len(d.files) > 0 && d.IntN(2) == 0 {
		d.add("exec", name, map[string]any{"command": "touch " + made, "refreshonly": true, "subscribe": []string{one(d, d.files...)}, "affects": []string{made}})
	} else {
		d.add("exec", name, map[string]any{"command": "touch " + made, "creates": made, "affects": []string{made}})
	}
}

// guarded adds a command whose guard depends on a file of the package.
func (d *packageDrawing) guarded() {
	made, held := d.made(), one(d, append(slices.Concat(d.conffiles, d.heldPackage.files), "/srv/nothing")...)
	properties := map[string]any{"command": "touch " + made, "affects": []string{made}}
	switch d.IntN(3) {
	case 0:
		properties["onlyif"] = "test -e " + held
	case 1:
		properties["unless"] = "test -e " + held
	default:
		properties["creates"] = held
	}
	d.add("exec", "guarded command", properties)
}

func (d *packageDrawing) choice() {
	for _, c := range d.alternatives {
		if !d.used[c[1]] {
			d.used[c[1]] = true
			d.add("alternatives", c[1], map[string]any{"path": c[2], "ensure": one(d, "present", "selected", "auto")})
			return
		}
	}
}

// services adds resources for at most two units. Few of them are units that never start at boot.
func (d *packageDrawing) services() {
	startsAtBoot := func(unit string) bool {
		text := d.text("/lib/systemd/system/"+unit) + d.text("/usr/lib/systemd/system/"+unit)
		return text == "" || strings.Contains(text, "\n[Install]") // without a unit file, it is a script in init.d
	}
	units := slices.DeleteFunc(slices.Clone(d.units), func(unit string) bool {
		return !strings.HasSuffix(unit, ".service") && !strings.HasSuffix(unit, ".timer")
	})
	slices.SortStableFunc(units, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	n := 0
	for _, unit := range units {
		if n == 2 || !startsAtBoot(unit) && d.IntN(3) > 0 {
			continue
		}
		n++
		properties := one(d, map[string]any{"enable": true}, map[string]any{"enable": true}, map[string]any{}, map[string]any{"enable": true, "reload": true}, map[string]any{"ensure": "stopped", "enable": false}, map[string]any{"enable": false})
		if !startsAtBoot(unit) {
			properties = one(d, map[string]any{}, map[string]any{"ensure": "stopped"})
		}
		if len(d.files) > 0 && d.IntN(4) > 0 {
			subscribed := []string{one(d, d.files...), one(d, d.files...)}
			slices.Sort(subscribed)
			properties["subscribe"] = slices.Compact(subscribed)
		}
		d.add("service", strings.TrimSuffix(unit, ".service"), properties)
	}
}
