package pkg

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// The package managers of languages. They are for packages that name them, and a host may have any
// number of places that each keeps packages in.
const (
	pipProvider = "pip"
	npmProvider = "npm"
)

// ofLanguage reports whether the package is not one of the operating system.
func (p *Package) ofLanguage() bool { return isLanguage(p.Provider) }

func isLanguage(provider string) bool { return provider == pipProvider || provider == npmProvider }

// A place is where packages of a language are installed, and the way to install them there. A package of the operating system
// has none but its provider.
type place struct {
	provider, virtualenv, python, directory, user, index string
	breakSystem                                          bool
	options                                              []string
}

func (p *Package) place() place {
	return place{p.Provider, p.Virtualenv, p.Python, p.Directory, p.User, p.Index, p.BreakSystemPackages, p.Options}
}

// properties returns the properties of a package that set its place. It omits an index that may
// contain a secret, since these properties are stored and shown for a reversal.
func (l place) properties() map[string]any {
	index := l.index
	if modules.ShownURL(index) != index {
		index = ""
	}
	all := map[string]any{}
	for key, value := range map[string]string{
		"provider": l.provider, "virtualenv": l.virtualenv, "python": l.python, "directory": l.directory, "user": l.user, "index": index,
	} {
		if value != "" {
			all[key] = value
		}
	}
	if l.breakSystem {
		all["break_system_packages"] = true
	}
	if len(l.options) > 0 {
		all["options"] = l.options
	}
	return all
}

// id is the same for packages that one command can query or change together.
func (l place) id() string {
	if !isLanguage(l.provider) {
		return ""
	}
	parts := []string{"", l.virtualenv, l.python, l.directory, l.user, l.index}
	if l.breakSystem {
		parts = append(parts, "break")
	}
	return strings.Join(append(parts, l.options...), "\x00")
}

// key returns a key that differs for packages of the same name in different managers or places.
func (l place) key(name string) string {
	switch l.provider {
	case pipProvider:
		return normalName(name) + " of " + l.pythonOf()
	case npmProvider:
		if l.directory != "" {
			return name + " of " + l.directory
		}
		return name + " of npm"
	}
	return name
}

// pythonOf names the virtualenv, or the Python.
func (l place) pythonOf() string {
	switch {
	case l.virtualenv != "":
		return l.virtualenv
	case l.python != "":
		return l.python
	}
	return defaultPython
}

const defaultPython = "python3"

// normalName is the name of a package of Python as its index has it: lower case, with dashes.
func normalName(name string) string {
	name = strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(name))
	for strings.Contains(name, "--") {
		name = strings.ReplaceAll(name, "--", "-")
	}
	return name
}

// splitExtras cuts the extras in brackets off a name: uvicorn[standard].
func splitExtras(name string) (base, extras string) {
	base, extras, _ = strings.Cut(name, "[")
	return base, strings.TrimSuffix(extras, "]")
}

var (
	pipName  = lazily(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9._-]+( *, *[A-Za-z0-9._-]+)*\])?$`)
	npmName  = lazily(`^(@[A-Za-z0-9~-][A-Za-z0-9._~-]*/)?[A-Za-z0-9~-][A-Za-z0-9._~-]*$`)
	userName = lazily(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
)

func (l place) validateName(name string) error {
	switch {
	case l.provider == pipProvider && !pipName().MatchString(name):
		return &modules.PropertyError{
			Path: "name", Msg: quote(name) + " is not a name of a Python package",
			Hint: `write it as its index does, such as flask or uvicorn[standard], and its version in "ensure"`,
		}
	case l.provider == npmProvider && (!npmName().MatchString(name) || strings.HasPrefix(name, "-")):
		return &modules.PropertyError{
			Path: "name", Msg: quote(name) + " is not a name of an npm package",
			Hint: `write it as its registry does, such as pm2 or @babel/core, and its version in "ensure"`,
		}
	}
	return nil
}

// validateLanguage refuses properties of other providers, and options that are not allowed.
func (p *Package) validateLanguage() error {
	var errs []error
	only := func(set bool, property string, of ...string) {
		if set && !slices.Contains(of, p.Provider) {
			errs = append(errs, &modules.PropertyError{
				Path: property, Msg: "'" + property + "' is only for packages of " + strings.Join(of, " and "),
				Hint: "write provider: " + strings.Join(of, " or provider: ") + ", or remove it",
			})
		}
	}
	only(p.Virtualenv != "", "virtualenv", pipProvider)
	only(p.Python != "", "python", pipProvider)
	only(p.BreakSystemPackages, "break_system_packages", pipProvider)
	only(p.Directory != "", "directory", npmProvider)
	only(p.User != "", "user", pipProvider, npmProvider)
	only(p.Index != "", "index", pipProvider, npmProvider)
	only(len(p.Options) > 0, "options", pipProvider, npmProvider)
	if !p.ofLanguage() {
		return errors.Join(errs...)
	}
	for _, of := range []struct {
		property string
		set      bool
	}{
		{"hold", p.Hold != nil}, {"source", p.Source != ""}, {"path", p.Path != ""}, {"checksum", p.Checksum != ""}, {"cache_valid", p.CacheValid != ""},
	} {
		if of.set {
			errs = append(errs, modules.Errorf(of.property, "'%s' is only for packages of the operating system, not for provider: %s", of.property, p.Provider))
		}
	}
	if p.BreakSystemPackages && p.Virtualenv != "" {
		errs = append(errs, modules.Errorf("break_system_packages", "a virtualenv has packages of its own"))
	}
	if p.Provider == npmProvider && wanted(p.Ensure).version() != "" && !isDigit(p.Ensure[0]) {
		errs = append(errs, &modules.PropertyError{Path: "ensure", Msg: quote(p.Ensure) + " is not a version of an npm package", Hint: "write latest, or a version such as 5.3.0"})
	}
	if p.User != "" && !userName().MatchString(p.User) {
		errs = append(errs, modules.Errorf("user", "%q is not a user name", p.User))
	}
	errs = append(errs, modules.ValidatePath("virtualenv", p.Virtualenv), modules.ValidatePath("directory", p.Directory), p.place().validateIndex(), p.place().validateOptions())
	if p.Python != "" && (strings.HasPrefix(p.Python, "-") || strings.ContainsAny(p.Python, dangerous+" ") || strings.Contains(p.Python, "/") && !strings.HasPrefix(p.Python, "/")) {
		errs = append(errs, &modules.PropertyError{Path: "python", Msg: quote(p.Python) + " is not a program", Hint: "write a name such as python3.11, or an absolute path"})
	}
	return errors.Join(errs...)
}

func (l place) validateIndex() error {
	if l.index == "" {
		return nil
	}
	u, err := url.Parse(l.index)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" || strings.ContainsAny(l.index, " \r\n\t"):
		return &modules.PropertyError{Path: "index", Msg: `"index" is not a valid URL`, Hint: "write https://host/path"} // the text of err has all of it
	case l.provider == npmProvider && (u.User != nil || u.RawQuery != ""):
		return &modules.PropertyError{
			Path: "index", Msg: `a user, a password or a token in "index" would be seen in the arguments of npm`,
			Hint: "remove the user, password or token from the URL, and write //HOST/:_authToken=… into the user's ~/.npmrc with a file resource of mode 0600",
		}
	}
	return nil
}

// placeOptions are options for a place or a wish that has a property of its own.
var placeOptions = map[string]string{
	"-i": "index", "--index-url": "index", "--registry": "index", "--user": "user", "--break-system-packages": "break_system_packages", "--prefix": "directory",
	"-g": "directory", "--global": "directory", "-t": "virtualenv", "--target": "virtualenv", "--root": "virtualenv", "--python": "python",
	"-r": "name", "--requirement": "name", "-e": "name", "--editable": "name", "-U": "ensure", "--upgrade": "ensure",
}

func (l place) validateOptions() error {
	var errs []error
	for i, option := range l.options {
		path := fmt.Sprintf("options[%d]", i)
		name, value, _ := strings.Cut(option, "=")
		switch property := placeOptions[name]; {
		case !strings.HasPrefix(option, "-") || strings.ContainsAny(option, "\x00\r\n"):
			errs = append(errs, &modules.PropertyError{Path: path, Msg: quote(option) + " is not an option", Hint: "write an option and its value as one word, such as --find-links=/srv/wheels"})
		case property != "":
			errs = append(errs, &modules.PropertyError{Path: path, Msg: "the option " + name + " has a property", Hint: "write " + property})
		case strings.Contains(value, "://") && strings.Contains(value, "@"):
			errs = append(errs, &modules.PropertyError{
				Path: path, Msg: "a user or a password in the option " + name + " would be seen in the arguments of " + l.provider,
				Hint: "store the user and the password on the host: in ~/.netrc, pip.conf or .npmrc of the user, with mode 0600",
			})
		}
	}
	return errors.Join(errs...)
}

// A placeMaker is a manager whose place for packages may have to be made first.
type placeMaker interface {
	// makes is the place that carryOut will create; empty if it exists.
	makes() string
}

// An unforeseen error means that only the installation shows what would be installed.
type unforeseen struct{ error }

func (u unforeseen) Unwrap() error { return u.error }

// Redacted implements [modules.Redactor].
func (u unforeseen) Redacted() string { return u.Error() }

// isUnforeseen reports whether an error is only an unforeseen one.
func isUnforeseen(err error) bool {
	_, ok := errors.AsType[unforeseen](err)
	return ok
}
