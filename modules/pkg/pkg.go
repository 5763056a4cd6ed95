package pkg

import (
	"errors"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// A Package is a package of the operating system. It behaves like CCM's package resource, with intended exceptions:
//   - ensure defaults to present, as in CCM's schema;
//   - latest changes nothing if no newer version is available;
//   - versions compare as in the package manager itself, and may be a range;
//   - a held package is not changed, and that is an error, unless the resource sets hold;
//   - neighbours go through one transaction.
type Package struct {
	Name        string `json:"name" required:"true" looks:"^(@[A-Za-z0-9._~-]+/)?[A-Za-z0-9]([A-Za-z0-9._+:~-]*[A-Za-z0-9._+:~])?(\\[[A-Za-z0-9._, -]+\\])?$" doc:"name of the package; with an architecture: libc6:i386 (apt), glibc.i686 (dnf, zypper); with extras (pip): uvicorn[standard]; with a scope (npm): @babel/core"`
	Ensure      string `json:"ensure,omitempty" default:"present" numbers:"refuse" looks:"^([A-Za-z0-9][A-Za-z0-9._+:~^-]*|[<>=!].*)$" doc:"present, absent, latest, a version such as 1:5.8-1.el9, or a range such as \">= 1.2, < 2\""`
	Provider    string `json:"provider,omitempty" enum:"apt,dnf,zypper,apk,pacman,pip,npm" doc:"default: the first of these that the host has, except pip and npm"`
	Source      string `json:"source,omitempty" text:"argument" file:"play" doc:"package file (.deb, .rpm) next to the manifest, or https:// URL that the controller downloads"`
	Path        string `json:"path,omitempty" looks:"^/" doc:"absolute path of a package file on the host, in place of source"`
	Checksum    string `json:"checksum,omitempty" looks:"^(sha256:)?[0-9a-fA-F]{64}$" doc:"SHA-256 of the file at the URL or path"`
	Hold        *bool  `json:"hold,omitempty" doc:"true: only this resource changes the version, and upgrades keep it; false: not held; default: unchanged"`
	CacheValid  string `json:"cache_valid,omitempty" looks:"^[0-9]+[smhd]$" doc:"maximum age of the package lists, such as 1h (0s: always too old); default: apt, apk and pacman never fetch lists, dnf and zypper as configured"`
	LockTimeout string `json:"lock_timeout,omitempty" looks:"^[0-9]+[smhd]$" default:"2m" doc:"how long to wait for another process that uses the package manager"`

	Virtualenv          string   `json:"virtualenv,omitempty" looks:"^/" doc:"pip: absolute path of the virtualenv, created if missing"`
	Python              string   `json:"python,omitempty" text:"argument" looks:"^[A-Za-z0-9/]" doc:"pip: program name or absolute path; default: python3"`
	BreakSystemPackages bool     `json:"break_system_packages,omitempty" doc:"pip: also install into the operating system's Python (PEP 668)"`
	Directory           string   `json:"directory,omitempty" looks:"^/" doc:"npm: absolute path of the project; default: global"`
	User                string   `json:"user,omitempty" doc:"pip, npm: user (name or id) to run as; default: user of the play"`
	Index               string   `json:"index,omitempty" secret:"url" looks:"^https?://" doc:"pip: URL of the index; npm: URL of the registry"`
	Options             []string `json:"options,omitempty" doc:"pip, npm: more options of install, such as --ignore-scripts"`

	// Content is the file, if the controller sends it.
	Content modules.Content `json:"content,omitzero" wire:"only"`

	fetched bool // the lists, by this resource or together with it
	offered bool // the result of Check depends on the repositories
}

// The values of ensure that are not a version.
const (
	present = "present"
	absent  = "absent"
	latest  = "latest"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "package",
		Doc:  "Installs, upgrades or removes a package, by apt, dnf, zypper, apk or pacman, or a package of Python (pip) or Node.js (npm). Changed configuration files are kept.",
		New:  func() modules.Resource { return new(Package) },
	}
}

var (
	nameCharacters    = lazily(`^[a-zA-Z0-9._+:~-]+$`)
	versionCharacters = lazily(`^[a-zA-Z0-9._+:~^-]+$`)
)

// lazily returns a pattern that is compiled on first use: most runs need few of them, or none.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

const dangerous = ";&|$`()[]{}<>*?'\"\\!\n\r\t"

// Validate implements [modules.Resource].
func (p *Package) Validate() error {
	_, badValid := parseDuration("cache_valid", p.CacheValid)
	_, badTimeout := parseDuration("lock_timeout", p.LockTimeout)
	var badHold error
	if p.Hold != nil && *p.Hold && p.Ensure == absent {
		badHold = modules.Errorf("hold", "a package that is absent cannot be held")
	}
	return errors.Join(p.validateName(), p.validateEnsure(), badHold, p.validateSource(), p.validateLanguage(), badValid, badTimeout)
}

func (p *Package) validateName() error {
	switch {
	case p.Name == "":
		return nil // the tag reports it
	case p.ofLanguage():
		return p.place().validateName(p.Name)
	case strings.ContainsAny(p.Name, dangerous):
		return modules.Errorf("name", "package name contains dangerous characters: %q", p.Name)
	case !nameCharacters().MatchString(p.Name):
		return modules.Errorf("name", "package name contains invalid characters: %q (allowed: alphanumeric, ._+:~-)", p.Name)
	case !isAlphanumeric(p.Name[0]):
		return modules.Errorf("name", "package name %q does not begin with a letter or digit", p.Name)
	case strings.HasSuffix(p.Name, "-"): // apt-get install NAME- removes it
		return &modules.PropertyError{Path: "name", Msg: "package name ends with a dash: " + p.Name, Hint: "to remove a package, write ensure: absent"}
	}
	switch _, arch, given := strings.Cut(p.Name, ":"); {
	case given && (arch == "" || arch == "any" || arch == "native"):
		return &modules.PropertyError{Path: "name", Msg: quote(p.Name) + " names no architecture", Hint: "write an architecture after the colon, as in libc6:i386, or remove the colon to use the host's architecture"}
	}
	return nil
}

func (p *Package) validateEnsure() error {
	switch {
	case p.Ensure == "":
		return nil
	case isRange(p.Ensure):
		if _, ok := parseRange(p.Ensure); !ok {
			return &modules.PropertyError{
				Path: "ensure",
				Msg:  "this is not a range of versions: " + quote(p.Ensure),
				Hint: `write bounds with commas between them, such as ">= 1.2, < 2"; operators are >=, >, <, <=, = and !=`,
			}
		}
		return nil
	case strings.ContainsAny(p.Ensure, dangerous):
		return modules.Errorf("ensure", "package version/ensure contains dangerous characters: %q", p.Ensure)
	case !isVersion(p.Ensure):
		return &modules.PropertyError{
			Path: "ensure",
			Msg:  "package version/ensure is neither a word nor a version: " + quote(p.Ensure),
			Hint: "write present, absent, latest or a version such as 1.22.1-9",
		}
	}
	return nil
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// parseDuration reads a whole number and a unit; "" is 0.
func parseDuration(property, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	number, day := text, time.Duration(1)
	if hours, ok := strings.CutSuffix(text, "d"); ok {
		number, day = hours+"h", 24
	}
	d, err := time.ParseDuration(number)
	if err != nil || d < 0 || d > maxDuration || strings.ContainsAny(text, ".+-") {
		return 0, &modules.PropertyError{Path: property, Msg: "invalid duration " + quote(text), Hint: "write a number and a unit, such as 90s, 5m, 1h or 2d"}
	}
	return d * day, nil
}

// maxDuration is longer than any sensible value, and small enough to calculate with.
const maxDuration = 10 * 365 * 24 * time.Hour

// Effect is the kind of effect that a package has: Key is its name, State a
// [State].
const Effect = modules.PackageEffect

// A State is the state of a package on a host. The zero State means absent.
type State struct {
	Installed  bool
	Version    string // "" if it is absent, or not known beforehand
	Unfinished string // dpkg's word for a package that is installed in part: half-configured
	Torn       bool   // files of it are missing, so that it has to be installed again
	Stuck      bool   // it cannot be removed before that
	Held       bool   // on hold
}

// there reports whether there is something of the package, be it in part.
func (s State) there() bool { return s.Installed || s.Unfinished != "" }
