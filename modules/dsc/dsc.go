package dsc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/dsc/expr"
	"github.com/ccm-push/ccm-push/modules/dsc/manifest"
	"github.com/ccm-push/ccm-push/modules/process"
)

// A DSC is one instance of a DSC resource.
type DSC struct {
	Name       string             `json:"name" required:"true" doc:"name of the instance, for references and reports"`
	TypeName   string             `json:"type" required:"true" doc:"fully qualified name of the DSC resource: Owner/Thing or Owner.Area/Thing"`
	Version    string             `json:"version,omitempty" doc:"accepted versions of the resource: a semantic version range, such as ^1.2"`
	Adapter    string             `json:"adapter,omitempty" doc:"type of the adapter that runs it, if there are several"`
	Timeout    string             `json:"timeout,omitempty" default:"5m" looks:"^[0-9.]+(ns|us|µs|μs|ms|s|m|h)([0-9.]+(ns|us|µs|μs|ms|s|m|h))*$" doc:"timeout of each call of the resource, such as 30s or 1h; then it is killed with its child processes"`
	Retest     *bool              `json:"verify,omitempty" doc:"whether the resource is tested again after a change; false: the report of its set or delete is trusted; default: true"`
	Affects    modules.Affects    `json:"affects,omitzero" doc:"possible changes: paths, service#NAME, package#NAME; []: none"`
	Properties process.Properties `json:"properties,omitempty" doc:"the properties of the instance"`

	// Candidates are the manifests of the play's folder resources/ that the type may
	// be of, the newest version first, and the adapters there.
	Candidates []Candidate `json:"candidates,omitempty" wire:"only"`
	// Rejected lists manifests in that folder that cannot be used.
	Rejected []Reject `json:"rejected,omitempty" wire:"only"`
	// Near is the most similar type in that folder, if none has the name.
	Near string `json:"near,omitempty" wire:"only"`
	// Evaluate is set if the properties hold expressions of a configuration document,
	// which are evaluated on the host.
	Evaluate *expr.Scope `json:"evaluate,omitempty" wire:"only"`
	// Assert only tests: an instance that is not in the desired state is a failure.
	Assert bool `json:"assert,omitempty" wire:"only"`
	// Security is the user that the host program must run as, in the words of documents: elevated is root, restricted
	// is any other user, "" is any user.
	Security string `json:"security,omitempty" wire:"only"`
	// Metadata is passed to resources that take _metadata.
	Metadata process.Properties `json:"metadata,omitempty" wire:"only"`

	// parsed has the YAML that the controller has read for the instances of the host, by the checksum of the text; each
	// instance reads all manifests there. All instances of the type share it.
	parsed   *process.Memo[document]
	discreet bool // the properties must not be shown
}

// A Candidate is a manifest of the play's folder resources/.
type Candidate struct {
	File     string             `json:"file"` // below that folder, with slashes
	Manifest *manifest.Manifest `json:"manifest"`
}

// A Reject is a file that is named like a manifest and cannot be used.
type Reject struct {
	File   string `json:"file"`
	Type   string `json:"type,omitempty"` // as far as it could be read
	Reason string `json:"reason"`
}

// plain converts values from any source to the types that they have after transfer.
func plain(v map[string]any) (map[string]any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	again := process.Properties{}
	err = again.UnmarshalJSON(b)
	if again == nil {
		again = process.Properties{}
	}
	return again, err
}

// Type returns the entry of the registry. The controller reads each file only once for all its instances.
func Type() modules.Type {
	parsed := &process.Memo[document]{}
	return modules.Type{
		Name:   "dsc",
		Doc:    "Keeps an instance of a DSC v3 resource: an executable with a manifest, in the play's folder resources/ or on the host.",
		New:    func() modules.Resource { return &DSC{parsed: parsed} },
		Family: func(r modules.Registry, name string) (modules.Type, bool) { return family(r, name, parsed) },

		ReportsState: true,
		QueryLine:    queryLine,
	}
}

// family returns the type of a DSC resource: the keys below its name in a manifest are the properties of the instance.
// Names with the prefix Ccm/ are types of the registry itself.
func family(r modules.Registry, name string, parsed *process.Memo[document]) (modules.Type, bool) {
	owner, thing, _ := strings.Cut(name, "/")
	if strings.EqualFold(owner, "Ccm") {
		return r.Lookup(strings.ToLower(thing))
	}
	if !manifest.IsTypeName(name) {
		return modules.Type{}, false
	}
	return modules.Type{
		Name:  name,
		Doc:   "An instance of the DSC resource " + name + ".",
		New:   func() modules.Resource { return &DSC{TypeName: name, parsed: parsed} },
		Below: "properties",

		ReportsState: true,
		QueryLine:    queryLine,
	}, true
}

// Inform implements [modules.Informed].
func (d *DSC) Inform(c modules.Circumstances) { d.discreet = c.Sensitive }

// Requires implements [modules.Requirer].
func (d *DSC) Requires() modules.Requirements {
	return modules.Requirements{FullProgram: true, Resources: true}
}

// Validate implements [modules.Resource].
func (d *DSC) Validate() error {
	errs := []error{d.Affects.Validate()}
	bad := func(path, format string, args ...any) {
		errs = append(errs, modules.Errorf(path, format, args...))
	}
	if d.TypeName != "" && !isResourceName(d.TypeName) {
		errs = append(errs, &modules.PropertyError{
			Path: "type", Msg: fmt.Sprintf("type %q is not of the form Owner/Thing", d.TypeName), Hint: "copy the type name from the resource manifest; the type names of *.dscresource.json files have the form Owner.Thing",
		})
	}
	if d.Adapter != "" && !manifest.IsTypeName(d.Adapter) {
		bad("adapter", "adapter %q is not of the form Owner/Thing", d.Adapter)
	}
	if _, err := manifest.ParseRange(d.Version); err != nil {
		bad("version", "version: %v", err)
	}
	if _, err := d.timeout(); err != nil {
		errs = append(errs, err)
	}
	if err := validateValues(map[string]any(d.Properties), "properties", 0); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// isResourceName also takes the names of the first design, which have no slash.
func isResourceName(name string) bool {
	return manifest.IsTypeName(name) || manifest.IsTypeName(strings.Replace(name, ".", "/", 1)) && !strings.Contains(name, "/") ||
		strings.Contains(name, ".") && !strings.Contains(name, "/") && manifest.IsTypeName("x."+name+"/x")
}

const defaultTimeout = 5 * time.Minute

// timeout returns the timeout of each call.
func (d *DSC) timeout() (time.Duration, error) {
	if d.Timeout == "" {
		return defaultTimeout, nil
	}
	t, err := time.ParseDuration(d.Timeout)
	if err != nil || t <= 0 {
		return 0, &modules.PropertyError{Path: "timeout", Msg: fmt.Sprintf("timeout %q is not a duration", d.Timeout), Hint: "write it as 30s, 5m or 1h"}
	}
	return t, nil
}
