package semanage

import (
	"bufio"
	"io"
	"path"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Config is the file that chooses the policy of a host, and the mode of the kernel at boot (selinux_config(5)).
const Config = "/etc/selinux/config"

// kernel is the file system of a kernel that runs SELinux.
const kernel = "/sys/fs/selinux"

// maxFile bounds a file of the store, in bytes.
const maxFile = 16 << 20

// A System is the SELinux of a host.
type System struct {
	Policy string // such as targeted
	// Running means that the kernel applies the policy, in enforcing or permissive mode.
	Running bool

	dir string // active folder of the store
}

// Find returns the SELinux of a host. The error names the missing part.
func Find(files modules.FileReader) (System, error) {
	s := System{Policy: "targeted"}
	lines, err := read(files, Config)
	switch {
	case modules.NotThere(err):
		return s, modules.Refuse("this host has no SELinux: the file %s does not exist (install a policy, such as selinux-policy-targeted or selinux-policy-default)", Config)
	case err != nil:
		return s, modules.PermissionRefusal(err)
	}
	for _, line := range lines {
		if value, ok := strings.CutPrefix(line, "SELINUXTYPE="); ok {
			s.Policy = strings.TrimSpace(value)
		}
	}
	_, err = modules.Follow(files, kernel+"/enforce")
	if s.Running = err == nil; err != nil && !modules.NotThere(err) {
		return s, modules.PermissionRefusal(err)
	}
	for _, at := range s.stores() {
		_, err := modules.Follow(files, at)
		if err == nil {
			s.dir = at
			return s, nil
		}
		if !modules.NotThere(err) {
			return s, modules.PermissionRefusal(err)
		}
	}
	return s, modules.Refuse("this host has no policy %s, which %s names: neither %s is there", s.Policy, Config, strings.Join(s.stores(), " nor "))
}

// Has reports whether a host has a policy. While a plan of a package is pending, the answer is in doubt.
func Has(h modules.Host) (bool, error) {
	_, err := modules.Follow(h.Files, Config)
	if modules.NotThere(err) {
		h.Forecast.Lookup(modules.AnyEffect, "")
		return false, nil
	}
	return err == nil, modules.PermissionRefusal(err)
}

// stores are the possible folders of a policy's store: of libsemanage today, and of older versions.
func (s System) stores() []string {
	return []string{"/var/lib/selinux/" + s.Policy + "/active", "/etc/selinux/" + s.Policy + "/active"}
}

// Local returns the lines of a file of the store, such as ports.local: the records added on this host.
func (s System) Local(files modules.FileReader, name string) ([]string, error) {
	lines, err := read(files, path.Join(s.dir, name))
	if modules.NotThere(err) {
		return nil, nil
	}
	return lines, modules.PermissionRefusal(err)
}

// Differ returns the effect of a plan on a file of the store. kind predicts the content of the file.
func (s System) Differ(kind modules.EffectKind, name string) []modules.Effect {
	return modules.Differ(kind, path.Join(s.dir, name))
}

// Kernel returns the text of a file of the running SELinux, such as enforce.
func (s System) Kernel(files modules.FileReader, name string) (string, error) {
	lines, err := read(files, path.Join(kernel, name))
	return strings.Join(lines, "\n"), err
}

// Knows reports whether the policy certainly has a type of files: it assigns the type to one.
func (s System) Knows(files modules.FileReader, typ string) bool {
	lines, err := read(files, "/etc/selinux/"+s.Policy+"/contexts/files/file_contexts")
	if err != nil {
		return false
	}
	for _, line := range lines {
		if strings.Contains(line, ":"+typ+":") || strings.HasSuffix(line, ":"+typ) {
			return true
		}
	}
	return false
}

// Watched returns the files that show a change to a file of the store.
func Watched(files modules.FileReader, name string) modules.Sources {
	sources := modules.Sources{Paths: []string{Config, kernel + "/enforce"}}
	s, err := Find(files)
	if err != nil { // Check reports the error
		sources.Paths = append(sources.Paths, s.stores()...)
		return sources
	}
	sources.Paths = append(sources.Paths, path.Join(s.dir, name))
	return sources
}

// read returns the lines of a file, without comments and empty lines.
func read(files modules.FileReader, at string) ([]string, error) {
	file, err := files.Open(at)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var lines []string
	scanner := bufio.NewScanner(io.LimitReader(file, maxFile))
	for scanner.Scan() {
		if line := strings.TrimSpace(scanner.Text()); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines, scanner.Err()
}

// A Context is the SELinux context of a file or a port. The zero Context means none.
type Context struct {
	User, Type, Range string
}

// None is the type of files whose label SELinux does not change.
const None = "<<none>>"

// ParseContext reads user:role:type:range, of which a policy without levels has no range.
func ParseContext(text string) Context {
	if text == None {
		return Context{Type: None}
	}
	const most = 4 // the range has colons of its own
	parts := append(strings.SplitN(text, ":", most), "", "", "", "")
	return Context{User: parts[0], Type: parts[2], Range: parts[3]}
}
