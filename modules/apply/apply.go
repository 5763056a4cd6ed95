package apply

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// An Apply is a nested manifest: its resources run right before it, and it sums
// up how they ended.
type Apply struct {
	Name            string         `json:"name" required:"true" doc:"the manifest, seen from the one that applies it: a file, a folder with a manifest.yaml, a .tar.gz of one, or the http:// or https:// URL of a .tar.gz"`
	Ensure          string         `json:"ensure,omitempty" enum:"present" default:"present" doc:"present is all there is: what a manifest has done is not undone"`
	Checksum        string         `json:"checksum,omitempty" pattern:"^[0-9a-fA-F]{64}$" doc:"the SHA-256 of the .tar.gz, in hex; required for a URL"`
	Data            map[string]any `json:"data,omitempty" doc:"values that are merged over the data of the nested manifest; without it, all data of the manifest that applies it"`
	HealthCheckOnly bool           `json:"health_check_only,omitempty" doc:"change nothing: only run the health checks of its resources"`
	AllowApply      *bool          `json:"allow_apply,omitempty" doc:"whether the nested manifest may apply others itself; by default it may"`
}

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "apply",
		Doc: "Applies another manifest: its resources run in its place, with data of their own, and count " +
			"as one resource that others can require. For manifests only, not for ad-hoc calls.",
		New: func() modules.Resource { return new(Apply) },
	}
}

// Nest implements [modules.Nester].
func (a *Apply) Nest() modules.Nest {
	return modules.Nest{
		Manifest: a.Name, Checksum: strings.ToLower(a.Checksum), Data: a.Data,
		Monitor: a.HealthCheckOnly, Deny: a.AllowApply != nil && !*a.AllowApply,
	}
}

// Validate implements [modules.Resource].
func (a *Apply) Validate() error {
	scheme, rest, isURL := strings.Cut(a.Name, "://")
	where, _, _ := strings.Cut(rest, "?")
	switch archive := isArchive(a.Name); {
	case strings.ContainsRune(a.Name, 0):
		return modules.Errorf("name", `"name" must not contain a NUL byte`)
	case !isURL && a.Checksum != "" && a.Name != "" && !archive:
		return modules.Errorf("checksum", "a checksum is for an archive (.tar.gz), not for other files")
	case !isURL:
		return nil
	case !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https"):
		return &modules.PropertyError{Path: "name", Msg: "the scheme of the URL is neither http nor https", Hint: "write https://… or a path"}
	case !isArchive(where):
		return &modules.PropertyError{Path: "name", Msg: "the URL does not lead to a .tar.gz",
			Hint: "pack the folder of the manifest: tar -C FOLDER -czf x.tar.gz ."}
	case a.Checksum == "":
		return &modules.PropertyError{Path: "checksum", Msg: `"checksum" is required for a manifest that is downloaded`,
			Hint: "write the output of sha256sum: the downloaded manifest runs on your hosts"}
	}
	return nil
}

func isArchive(name string) bool {
	name, _, _ = strings.Cut(name, "#")
	base := path.Base(name)
	return strings.HasSuffix(base, ".tar.gz") || strings.HasSuffix(base, ".tgz")
}

// errNotHere is the error of a nested manifest without a controller.
var errNotHere = errors.New("a nested manifest works only inside a manifest, which the controller applies")

// Check implements [modules.Resource].
func (a *Apply) Check(context.Context, modules.Host) (modules.Plan, error) {
	return modules.Plan{}, errNotHere
}

// Apply implements [modules.Resource].
func (a *Apply) Apply(context.Context, modules.Host, modules.Plan) error { return errNotHere }
