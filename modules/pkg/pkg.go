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
	Name        string `json:"name" required:"true" looks:"^(@[A-Za-z0-9._~-]+/)?[A-Za-z0-9]([A-Za-z0-9._+:~-]*[A-Za-z0-9._+:~])?(\\[[A-Za-z0-9._, -]+\\])?$" doc:"name of the package, with an architecture if it is not the host's own: libc6:i386 (apt), glibc.i686 (dnf, zypper); a virtual package is present when a package that provides it is; with extras (pip): uvicorn[standard]; with a scope (npm): @babel/core"`
	Ensure      string `json:"ensure,omitempty" default:"present" numbers:"refuse" looks:"^([A-Za-z0-9][A-Za-z0-9._+:~^-]*|[<>=!].*)$" doc:"present; absent; latest; a version as the package manager writes it, such as 1.22.1-9 or 1:5.8-1.el9 (dnf and zypper also take one without epoch or release, pacman one without release); or a range of them in the package manager's own order, such as \">= 1.2, < 2\": an installed version in the range is kept; otherwise the package manager's choice is installed if it is in the range, or the highest version in the range"`
	Provider    string `json:"provider,omitempty" enum:"apt,dnf,zypper,apk,pacman,pip,npm" doc:"package manager; default: the one that the host has, the first of these that there is; pip and npm only where they are written"`
	Source      string `json:"source,omitempty" text:"argument" file:"play" doc:"package file next to the manifest, .deb or .rpm; or an https:// URL that the controller downloads it from, with a sha256 in checksum. It is installed if the installed version does not match ensure, so to replace an older version, set ensure to the version of the file"`
	Path        string `json:"path,omitempty" looks:"^/" doc:"absolute path of a file of the host that holds the package, in place of source"`
	Checksum    string `json:"checksum,omitempty" looks:"^(sha256:)?[0-9a-fA-F]{64}$" doc:"SHA-256 of the file at the URL or the path: sha256:… as sha256sum prints it"`
	Hold        *bool  `json:"hold,omitempty" doc:"true: upgrades keep its version (apt-mark hold, dnf versionlock, zypper addlock), and only this resource changes it; false: it is not held; default: the hold is unchanged, and a held package is not changed"`
	CacheValid  string `json:"cache_valid,omitempty" looks:"^[0-9]+[smhd]$" doc:"maximum age of the lists of available packages, such as 1h, in whole minutes; 0s means that they are always too old; before a package is installed or latest is looked up, a list is fetched if it is older than this, is older than the configuration of the repositories, or lacks the package; default: apt, apk and pacman never fetch them, dnf and zypper as they are configured"`
	LockTimeout string `json:"lock_timeout,omitempty" looks:"^[0-9]+[smhd]$" default:"2m" doc:"how long to wait while another process uses the package manager"`

	Virtualenv          string   `json:"virtualenv,omitempty" looks:"^/" doc:"pip: absolute path of the virtualenv to install into, which is created if it does not exist; default: the Python itself"`
	Python              string   `json:"python,omitempty" text:"argument" looks:"^[A-Za-z0-9/]" doc:"pip: the Python that it is for, or that makes the virtualenv: the name of a program, or an absolute path; default: python3"`
	BreakSystemPackages bool     `json:"break_system_packages,omitempty" doc:"pip: also install into the operating system's own Python (PEP 668)"`
	Directory           string   `json:"directory,omitempty" looks:"^/" doc:"npm: absolute path of the project that it is installed for, in its node_modules; default: globally"`
	User                string   `json:"user,omitempty" doc:"pip and npm: user (name or id) to run as; default: the user of the play. Root does not run files that other users can change"`
	Index               string   `json:"index,omitempty" secret:"url" looks:"^https?://" doc:"pip: URL of the index, instead of the host's own; pip reads it from standard input; npm: URL of the registry"`
	Options             []string `json:"options,omitempty" doc:"pip and npm: more options of its command install, such as --find-links=/srv/wheels or --ignore-scripts"`

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
		Doc: "Keeps a package installed, at a version or at the latest one, or away, by apt, dnf, zypper, apk or pacman; or one of Python, " +
			"by pip, or of Node.js, by npm. Configuration files that were changed are kept.",
		New: func() modules.Resource { return new(Package) },
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
	return errors.Join(p.validateName(), p.validateEnsure(), p.validateHold(), p.validateSource(), p.validateLanguage(), badValid, badTimeout)
}

func (p *Package) validateName() error {
	switch {
	case p.Name == "":
		return nil // the tag reports it
	case p.ofLanguage():
		return p.validateLanguageName()
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
		return &modules.PropertyError{Path: "name", Msg: quote(p.Name) + " names no architecture", Hint: "write one such as libc6:i386, or remove the colon to use the host's architecture"}
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

func (p *Package) validateHold() error {
	if p.Hold != nil && *p.Hold && p.Ensure == absent {
		return modules.Errorf("hold", "a package that is absent cannot be held")
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
const Effect modules.EffectKind = "package"

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
