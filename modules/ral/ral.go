package ral

import (
	"cmp"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/process"
)

// A Ral is one resource of a provider.
type Ral struct {
	Name       string             `json:"name" required:"true" doc:"name of the resource in the provider"`
	TypeName   string             `json:"type,omitempty" doc:"type in libral, such as service; optional if the provider states it"`
	Provider   string             `json:"provider,omitempty" doc:"name of the provider, or type::name; optional if only one is suitable"`
	Properties process.Properties `json:"properties,omitempty" doc:"the desired attributes"`
	Affects    modules.Affects    `json:"affects,omitzero" doc:"possible changes: paths, service#NAME, package#NAME; []: none"`
	Timeout    string             `json:"timeout,omitempty" default:"10m" doc:"timeout of one call of the provider, such as 30s or 5m; then it is killed with its child processes; 0: no timeout"`
	Verify     *bool              `json:"verify,omitempty" doc:"whether the provider is called again after a change, to verify it; false: its report is trusted; default: true"`
	Play       *play              `json:"play,omitempty" wire:"only"`

	// described has the metadata of the host's providers, by their source. All resources of the type share it.
	described *process.Memo[*metadata]
	done      *applied // result of Apply for the next Check
	discreet  bool     // the properties must not be shown
}

// play has the controller's information about the providers of the play. Paths are below its folder resources/.
type play struct {
	Found       []found  `json:"found,omitempty"`       // matching ones with metadata files
	Undescribed []string `json:"undescribed,omitempty"` // providers without metadata files, which need describe
	Others      []string `json:"others,omitempty"`      // full names of the rest, if none matches
	Lost        []string `json:"lost,omitempty"`        // why others cannot be used, if none is found
}

// A found provider has metadata that are known.
type found struct {
	File string `json:"file"`
	metadata
}

// Type returns the entry of the registry. Its resources share the information about the providers of a host.
func Type() modules.Type {
	described := &process.Memo[*metadata]{}
	return modules.Type{
		Name: "ral",
		Doc:  "Keeps a resource of a libral provider: an executable in the play's folder resources/ or on the host.",
		New:  func() modules.Resource { return &Ral{described: described} },

		ReportsState: true,
		QueryLine:    queryLine,
	}
}

// Inform implements [modules.Informed].
func (r *Ral) Inform(c modules.Circumstances) { r.discreet = c.Sensitive }

// exposed reports a provider that would get secrets where others can see them.
func (r *Ral) exposed(m *metadata) error {
	if !r.discreet || m.Invoke != invokeSimple || len(r.Properties) == 0 {
		return nil
	}
	return modules.Refuse("provider %s passes the values of a sensitive resource as command arguments, which other users can read; use a provider whose metadata has invoke: json", m.full())
}

// Requires implements [modules.Requirer].
func (r *Ral) Requires() modules.Requirements {
	return modules.Requirements{FullProgram: true, Resources: true}
}

// Names allowed in manifests and metadata.
var (
	plainName    = lazily(`^[A-Za-z][A-Za-z0-9_-]*$`)
	providerName = lazily(`^([A-Za-z][A-Za-z0-9_-]*::)?[A-Za-z][A-Za-z0-9_-]*$`)
)

// lazily returns a pattern that is compiled when it is first needed: most runs need few of them, or none.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// Validate implements [modules.Resource].
func (r *Ral) Validate() error {
	errs := []error{r.validateWho(), r.Affects.Validate()}
	if strings.ContainsRune(r.Name, 0) {
		errs = append(errs, modules.Errorf("name", "the name must not contain a NUL byte"))
	}
	if _, err := r.limit(); err != nil {
		errs = append(errs, err)
	}
	for _, key := range slices.Sorted(maps.Keys(r.Properties)) {
		if err := validateShape(property(key), r.Properties[key]); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return r.validateWanted()
}

func (r *Ral) validateWho() error {
	var errs []error
	switch {
	case r.TypeName == "" && r.Provider == "":
		errs = append(errs, &modules.PropertyError{
			Path: "type", Msg: `neither "type" nor "provider" is given`, Hint: "write type: service, or provider: service::systemd",
		})
	case r.TypeName != "" && !plainName().MatchString(r.TypeName):
		errs = append(errs, modules.Errorf("type", "%q is not the name of a type: letters, digits, - and _", r.TypeName))
	}
	of, _, qualified := strings.Cut(r.Provider, "::")
	switch {
	case r.Provider != "" && r.Provider != everyProvider && !providerName().MatchString(r.Provider):
		errs = append(errs, &modules.PropertyError{
			Path: "provider", Msg: quoted(r.Provider) + " is not the name of a provider", Hint: "write systemd or service::systemd",
		})
	case qualified && r.TypeName != "" && r.TypeName != of:
		errs = append(errs, modules.Errorf("provider", "provider %q is not of type %q", r.Provider, r.TypeName))
	}
	return errors.Join(errs...)
}

// validateWanted checks the properties against the metadata of the play's providers, if it is certain that one of them
// will be used: at least one must accept them.
func (r *Ral) validateWanted() error {
	exact := strings.Contains(r.Provider, "::") || r.TypeName != "" && r.Provider != ""
	if r.Play == nil || len(r.Play.Found) == 0 || len(r.Play.Undescribed) > 0 && !exact {
		return nil
	}
	var first error
	for _, f := range r.Play.Found {
		_, err := f.wanted(r.Name, r.Properties)
		if err == nil {
			err = r.exposed(&f.metadata)
		}
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return first
}

// limit returns the timeout of one call; 0 means none.
func (r *Ral) limit() (time.Duration, error) {
	if r.Timeout == "" || r.Timeout == "0" {
		return 0, nil
	}
	d, err := time.ParseDuration(r.Timeout)
	if err != nil || d <= 0 {
		return 0, &modules.PropertyError{
			Path: "timeout", Msg: "invalid duration " + quoted(r.Timeout), Hint: "write a number and a unit, such as 30s, 5m or 2h",
		}
	}
	return d, nil
}

// matches reports whether a provider matches the request of the resource.
func (r *Ral) matches(m *metadata) bool {
	if r.TypeName != "" && r.TypeName != m.Type {
		return false
	}
	switch r.Provider {
	case "", everyProvider, m.Name, m.full():
		return true
	}
	return r.TypeName == "" && r.Provider == m.Type // from the command line, where one word has to do
}

// asked describes the requested provider.
func (r *Ral) asked() string {
	switch {
	case r.Provider == "":
		return "provider of type " + quoted(r.TypeName)
	case r.TypeName == "" || strings.Contains(r.Provider, "::"):
		return "provider " + quoted(r.Provider)
	}
	return "provider " + quoted(r.TypeName+"::"+r.Provider)
}

// property returns the path of an attribute.
func property(attribute string) string { return "properties." + attribute }
