package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/ccm-push/ccm-push/modules"
)

// A Fetch copies a file of the host to the record of a run. It changes nothing on the host, so it is stable whenever it
// succeeds.
type Fetch struct {
	Name     string `json:"name" required:"true" looks:"^/" doc:"absolute path of the file, links followed"`
	Optional bool   `json:"optional,omitempty" doc:"true: a missing file is not a failure"`
	MaxSize  int64  `json:"max_size,omitempty" doc:"how many bytes it may have, up to 1 GiB; default: 16 MiB"`

	found *modules.FileInfo // file that Check has found; nil means none
}

const (
	defaultSize = 16 << 20
	mostSize    = 1 << 30
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "fetch",
		Doc: "Brings a file of the host into the record of the run on the controller: fetched/HOST/PATH in its folder, " +
			"for the own user alone; of a sensitive resource below fetched-sensitive. A check run reports what would be fetched.",
		New: func() modules.Resource { return new(Fetch) },
	}
}

// Requires implements [modules.Requirer].
func (f *Fetch) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

// Validate implements [modules.Resource].
func (f *Fetch) Validate() error {
	errs := []error{modules.ValidatePath("name", f.Name)}
	if f.Name == "/" {
		errs = append(errs, modules.Errorf("name", "this is a directory, and no file"))
	}
	if f.MaxSize < 0 || f.MaxSize > mostSize {
		errs = append(errs, modules.Errorf("max_size", "%d is outside 1-%d", f.MaxSize, mostSize))
	}
	return errors.Join(errs...)
}

// Check implements [modules.Resource]: the file must exist, and not be too large.
func (f *Fetch) Check(_ context.Context, h modules.Host) (modules.Plan, error) {
	f.found = nil
	at, err := modules.Follow(h.Files, f.Name)
	switch {
	case modules.NotThere(err) && f.Optional:
		return modules.Plan{}, nil
	case modules.NotThere(err):
		return modules.Plan{}, modules.Refuse("%s is not there (set 'optional: true' if it need not be)", f.Name)
	case err != nil:
		return modules.Plan{}, modules.PermissionRefusal(err)
	case at.Kind == modules.Directory:
		return modules.Plan{}, modules.Refuse("the path %s is a directory, not a file; fetch its files one by one, or pack the directory with an exec resource first", f.Name)
	case at.Kind != modules.Regular:
		return modules.Plan{}, modules.Refuse("%s is a device, socket or pipe, and no file", f.Name)
	case at.Size > f.MostFetched():
		return modules.Plan{}, modules.Refuse("%s has %d bytes, more than %d (max_size)", f.Name, at.Size, f.MostFetched())
	}
	f.found = &at
	return modules.Plan{}, nil
}

// Apply implements [modules.Resource]: no plan has steps.
func (f *Fetch) Apply(context.Context, modules.Host, modules.Plan) error { return nil }

// MostFetched implements [modules.Fetcher].
func (f *Fetch) MostFetched() int64 {
	if f.MaxSize <= 0 {
		return defaultSize
	}
	return min(f.MaxSize, mostSize)
}

// Fetches implements [modules.Fetcher].
func (f *Fetch) Fetches() string {
	if f.found == nil {
		return ""
	}
	return fmt.Sprintf("%d bytes", f.found.Size)
}

// Fetch implements [modules.Fetcher].
func (f *Fetch) Fetch(h modules.Host) (io.ReadCloser, error) {
	file, err := h.Files.Open(f.Name)
	return file, modules.PermissionRefusal(err)
}
