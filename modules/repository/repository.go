package repository

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// A Repository is a repository of a package manager: a file of apt in the format deb822 or a section of a file of dnf
// or zypper, and the key that signs its packages. The definition is managed as a whole: a setting that is missing in
// the manifest is removed.
type Repository struct {
	Name          string            `json:"name" required:"true" looks:"^[A-Za-z0-9][A-Za-z0-9_.:-]*$" doc:"name of the repository, its file, and its section (dnf, zypper)"`
	Ensure        string            `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"absent: definition and key are removed; installed packages stay"`
	Provider      string            `json:"provider,omitempty" enum:"apt,dnf,zypper" doc:"default: the package manager of the host"`
	Description   string            `json:"description,omitempty" doc:"description in one line; default: name (dnf, zypper)"`
	URIs          []string          `json:"uris,omitempty" also:"baseurl" doc:"URLs; several are mirrors"`
	Suites        []string          `json:"suites,omitempty" doc:"apt: suites, such as bookworm, or one path with a slash at its end, without components"`
	Components    []string          `json:"components,omitempty" doc:"apt: components, such as main"`
	Types         []string          `json:"types,omitempty" doc:"apt: deb, deb-src; default: deb"`
	Architectures []string          `json:"architectures,omitempty" doc:"apt: architectures, such as amd64; default: the host's"`
	Mirrorlist    string            `json:"mirrorlist,omitempty" doc:"dnf, zypper: URL of a mirror list, in place of uris"`
	Metalink      string            `json:"metalink,omitempty" doc:"dnf: URL of a metalink, in place of uris"`
	SignedBy      string            `json:"signed_by,omitempty" doc:"public key: armoured text, https:// URL (with checksum), or absolute path on the host; default: any key that the package manager trusts"`
	Checksum      string            `json:"checksum,omitempty" doc:"SHA-256 of a downloaded key"`
	Fetch         string            `json:"fetch,omitempty" enum:"controller,host" doc:"where to download the key; default: controller"`
	Gpgcheck      *bool             `json:"gpgcheck,omitempty" doc:"false: do not check signatures; default: true"`
	Priority      int               `json:"priority,omitempty" doc:"dnf, zypper: 1 to 99, the lowest has precedence; apt: pin priority, usually 500, the highest has precedence"`
	Enabled       *bool             `json:"enabled,omitempty" doc:"false: keep, but do not use; default: true"`
	Options       map[string]string `json:"options,omitempty" doc:"further settings by the names of the package manager, such as exclude or Languages"`
	Refresh       *bool             `json:"refresh,omitempty" doc:"false: do not fetch package lists first; default: true"`
	Path          string            `json:"path,omitempty" looks:"^/" doc:"absolute path of the file; default: /etc/apt/sources.list.d/NAME.sources, /etc/yum.repos.d/NAME.repo or /etc/zypp/repos.d/NAME.repo"`
	// Key is the public key, after Prepare.
	Key modules.Content `json:"key,omitzero" wire:"only"`
	// Restore is set if the resource undoes another one.
	Restore *Restore `json:"restore,omitempty" wire:"only"`

	managers Managers
}

// Managers are the package managers of a host, as far as repositories concern them.
type Managers interface {
	// By returns the host's manager for repositories. If given is not empty, By uses it.
	By(h modules.Host, given string) (string, error)
	// MayFetch returns the error with which Fetch would be refused.
	MayFetch(h modules.Host, provider string) error
	// Fetch fetches the lists of the repositories that the files of a directory define, and of no other. key is the
	// path of a public key to trust for that; empty means none.
	Fetch(ctx context.Context, h modules.Host, provider, dir, key string) error
	// AddPrograms adds the programs of all managers to the watched sources.
	AddPrograms(*modules.Sources)
}

// A Restore is the earlier state of the files.
type Restore struct {
	Definition *edit.Restore `json:"definition,omitempty"`
	Pin        *edit.Restore `json:"pin,omitempty"`
	Key        *KeyBefore    `json:"key,omitempty"`
}

const (
	present = "present"
	absent  = "absent"

	byHost = "host"

	apt = "apt"
)

// Type is the entry of the registry.
func Type(m Managers) modules.Type {
	return modules.Type{
		Name: "repository",
		Doc:  "Adds or removes a package repository of apt, dnf or zypper with its signing key. The package lists are fetched first: if they cannot be read, nothing is changed.",
		New:  func() modules.Resource { return &Repository{managers: m} },
	}
}

// Requires implements [modules.Requirer].
func (r *Repository) Requires() modules.Requirements {
	needs := modules.Requirements{FullProgram: true}
	if r.remote() && r.Fetch != byHost && r.Ensure != absent {
		needs.Downloads = []string{"signed_by", "checksum"}
	}
	return needs
}

// Prepare implements [modules.Preparer]: on the wire, a key is in Key, whatever its source, except one that the host
// has, or fetches.
func (r *Repository) Prepare(ctx context.Context, src modules.Source) (err error) {
	switch {
	case r.Ensure == absent, r.SignedBy == "", r.Validate() != nil:
	case r.armoured():
		r.Key, err = src.Text(ctx, modules.TextContent(strings.TrimSpace(r.SignedBy)+"\n"))
		r.SignedBy = ""
	case r.remote() && r.Fetch != byHost:
		if src.Download == nil {
			return &modules.PropertyError{Path: "signed_by", Msg: "no controller to download the key", Hint: "write fetch: host"}
		}
		r.Key, err = src.Download(ctx, r.download())
		r.SignedBy = ""
	}
	if err != nil {
		return modules.Errorf("signed_by", "%v", err)
	}
	return nil
}

func (r *Repository) armoured() bool {
	return strings.HasPrefix(strings.TrimSpace(r.SignedBy), armourBegins)
}

func (r *Repository) remote() bool { return modules.IsURL(r.SignedBy) }

func (r *Repository) digest() string {
	return strings.ToLower(strings.TrimPrefix(r.Checksum, "sha256:"))
}

func (r *Repository) download() modules.Download {
	return modules.Download{URL: r.SignedBy, SHA256: r.digest(), MaxSize: maxKey}
}

func (r *Repository) checks() bool  { return r.Gpgcheck == nil || *r.Gpgcheck }
func (r *Repository) enabled() bool { return r.Enabled == nil || *r.Enabled }
func (r *Repository) reads() bool {
	return r.Ensure != absent && r.Restore == nil && r.enabled() && (r.Refresh == nil || *r.Refresh)
}

var (
	nameCharacters = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]*$`) })
	optionName     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`) })
	elsewhere      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9+.-]*:/`) })
)

// Validate implements [modules.Resource].
func (r *Repository) Validate() error {
	errs := []error{modules.ValidateLine("description", r.Description), modules.ValidatePath("path", r.Path)}
	if r.Name != "" && !nameCharacters().MatchString(r.Name) {
		errs = append(errs, modules.Errorf("name", "%q may have only letters, digits, dots, dashes, colons and underscores, and must begin with a letter or digit", r.Name))
	}
	if r.Restore != nil || r.Ensure == absent {
		return errors.Join(errs...)
	}
	errs = append(errs, r.validatePlace(), r.validateKey())
	for _, name := range slices.Sorted(maps.Keys(r.Options)) {
		at := "options." + name
		errs = append(errs, modules.ValidateLine(at, r.Options[name]))
		switch property := propertyOf[strings.ToLower(name)]; {
		case !optionName().MatchString(name):
			errs = append(errs, modules.Errorf(at, "%q is not a name of a setting", name))
		case property != "":
			errs = append(errs, &modules.PropertyError{Path: at, Msg: name + " has a property of its own", Hint: "write " + property})
		}
	}
	return errors.Join(errs...)
}

// propertyOf maps a setting of a package manager to its property.
var propertyOf = map[string]string{
	"uris": "uris", "suites": "suites", "components": "components", "types": "types", "architectures": "architectures", "signed-by": "signed_by",
	"trusted": "gpgcheck: false", "baseurl": "uris", "mirrorlist": "mirrorlist", "metalink": "metalink", "gpgkey": "signed_by", "gpgcheck": "gpgcheck",
	"priority": "priority", "enabled": "enabled", "name": "description",
}

// validatePlace reports errors in the properties with the repository's address.
func (r *Repository) validatePlace() error {
	var errs []error
	given := 0
	for _, is := range []bool{len(r.URIs) > 0, r.Mirrorlist != "", r.Metalink != ""} {
		if is {
			given++
		}
	}
	switch {
	case given == 0:
		errs = append(errs, &modules.PropertyError{Path: "uris", Msg: `"uris" cannot be empty`, Hint: `say where the repository is: uris: [https://…], or "mirrorlist", or "metalink"`})
	case given > 1:
		errs = append(errs, modules.Errorf("uris", "'uris', 'mirrorlist' and 'metalink' are mutually exclusive"))
	}
	uri := func(at, text string) {
		if text == "" {
			return
		}
		u, err := url.Parse(strings.ReplaceAll(text, "$", "_")) // $releasever
		switch {
		case strings.ContainsAny(text, " \t\r\n\x00,") || !elsewhere().MatchString(text):
			errs = append(errs, &modules.PropertyError{Path: at, Msg: "this is not a URI", Hint: "write one such as https://deb.example.net/debian or file:/srv/repo"})
		case err == nil && u.User != nil:
			errs = append(errs, &modules.PropertyError{Path: at, Msg: "all users of the host could read a user and a password here", Hint: "apt has /etc/apt/auth.conf.d for them, dnf a file of mode 0600"})
		}
	}
	for i, text := range r.URIs {
		uri(fmt.Sprintf("uris[%d]", i), text)
	}
	uri("mirrorlist", r.Mirrorlist)
	uri("metalink", r.Metalink)
	for _, list := range []struct {
		property string
		words    []string
	}{{"suites", r.Suites}, {"components", r.Components}, {"types", r.Types}, {"architectures", r.Architectures}} {
		for i, word := range list.words {
			at := fmt.Sprintf("%s[%d]", list.property, i)
			switch {
			case word == "" || strings.ContainsAny(word, " \t\r\n\x00,"):
				errs = append(errs, modules.Errorf(at, "%q is not one word", word))
			case list.property == "types" && word != "deb" && word != "deb-src":
				errs = append(errs, modules.Errorf(at, "%q is neither deb nor deb-src", word))
			}
		}
	}
	flat := slices.ContainsFunc(r.Suites, func(suite string) bool { return strings.HasSuffix(suite, "/") })
	switch {
	case len(r.Suites) == 0 && (r.Provider == apt || len(r.Components)+len(r.Types)+len(r.Architectures) > 0):
		errs = append(errs, &modules.PropertyError{Path: "suites", Msg: `for apt, "suites" cannot be empty`, Hint: `write suites: [bookworm] with "components", or suites: [./] for a flat repository`})
	case flat && len(r.Components) > 0:
		errs = append(errs, modules.Errorf("components", `a suite that ends with a slash has no "components"`))
	case len(r.Suites) > 0 && !flat && len(r.Components) == 0:
		errs = append(errs, &modules.PropertyError{Path: "components", Msg: `"components" cannot be empty`, Hint: "write components: [main]"})
	case len(r.Suites) > 0 && r.Provider != "" && r.Provider != apt:
		errs = append(errs, modules.Errorf("suites", `%s has no "suites"`, r.Provider))
	case len(r.Suites) > 0 && len(r.URIs) == 0:
		errs = append(errs, modules.Errorf("uris", `apt has neither "mirrorlist" nor "metalink"`))
	}
	if r.Priority < -32768 || r.Priority > 32767 {
		errs = append(errs, modules.Errorf("priority", `"priority" must be from -32768 to 32767, not %d`, r.Priority))
	}
	return errors.Join(errs...)
}

// validateKey reports errors in the properties about the key.
func (r *Repository) validateKey() error {
	const hint = "write an armoured key, https://…, or an absolute path"
	if !r.checks() && r.SignedBy != "" {
		return modules.Errorf("signed_by", "with 'gpgcheck: false' nothing is held against this key")
	}
	if !r.remote() {
		switch {
		case r.Fetch != "":
			return modules.Errorf("fetch", "'fetch' is about a key that is at a URL")
		case r.Checksum != "" && r.Key.IsZero():
			return modules.Errorf("checksum", "'checksum' is about a key that is at a URL")
		case r.SignedBy == "":
			return nil
		case r.armoured():
			if _, err := dearmour(r.SignedBy); err != nil {
				return modules.Errorf("signed_by", "%v", err)
			}
			return nil
		case path.IsAbs(r.SignedBy):
			return errors.Join(modules.ValidatePath("signed_by", r.SignedBy), modules.ValidateLine("signed_by", r.SignedBy))
		}
		return &modules.PropertyError{Path: "signed_by", Msg: "this is not a public key", Hint: hint}
	}
	u, err := url.Parse(r.SignedBy)
	switch {
	case err != nil || u.Hostname() == "":
		return &modules.PropertyError{Path: "signed_by", Msg: "this is not a valid URL", Hint: hint}
	case u.User != nil:
		return modules.Errorf("signed_by", "the URL of a key may not have a user or a password")
	case r.Checksum == "":
		return &modules.PropertyError{Path: "signed_by", Msg: "a key that is downloaded needs a checksum", Hint: `write checksum: "sha256:…", as sha256sum prints it, once you have compared its fingerprint`}
	case !modules.IsDigest(r.digest()):
		return &modules.PropertyError{Path: "checksum", Msg: `"checksum" is not a SHA-256`, Hint: `write checksum: "sha256:…", with 64 hexadecimal digits`}
	}
	return nil
}
