package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/system"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// request is what run reads.
type request struct {
	Type       string          `json:"type"`
	Properties json.RawMessage `json:"properties"`
}

// answer is what run prints: the result of a session in its own words.
type answer struct {
	Type         string      `json:"type"`
	Name         string      `json:"name"`
	Status       wire.Status `json:"status"`
	Check        bool        `json:"check"`
	*wire.Result             // its own status is hidden by the one above, which is never left out
}

// maxRequest bounds what run reads, in bytes.
const maxRequest = 64 << 20

// run takes one resource from in and prints one result. The exit status is 2 if
// the resource failed. A request of CCM's ensure API gets an answer of that API,
// and the exit status 0 whatever it says.
func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	check := len(args) == 1 && (args[0] == "--check" || args[0] == "--noop")
	if len(args) > 0 && !check {
		return usageError("usage: ccm-module run [--check] < resource.json")
	}
	input, err := io.ReadAll(io.LimitReader(in, maxRequest+1))
	switch {
	case err != nil:
		return err
	case len(input) > maxRequest:
		return usageError(fmt.Sprintf("the resource is larger than %d MiB", maxRequest>>20))
	case isCCM(input):
		return ensure(ctx, input, check, out)
	}
	entry, res, err := readResource(ctx, input)
	if err != nil {
		return usageError(err.Error())
	}
	host := system.New()
	host.Contents = modules.LocalContents{}
	r, err := runOne(ctx, host, entry, res, check)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(answer{entry.Type, entry.Name, r.Status, check, r}); err != nil {
		return err
	}
	if r.Status == wire.Failed {
		return exitError(2)
	}
	return nil
}

// runOne works on a catalog of one resource.
func runOne(ctx context.Context, host modules.Host, entry wire.Entry, res modules.Resource, check bool) (*wire.Result, error) {
	e := &engine.Engine{
		Decode: func(*wire.Entry) (modules.Resource, error) { return res, nil },
		Host:   host,
		Now:    time.Now,
	}
	var result *wire.Result
	_, err := e.Run(ctx, &wire.Catalog{Check: check, Entries: []wire.Entry{entry}}, func(r *wire.Result) error {
		result = r
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case result == nil: // it was interrupted before it began
		return nil, context.Cause(ctx)
	case result.Status == "":
		result.Status = wire.Stable
	}
	return result, nil
}

// readResource reads a resource and prepares it as a controller would, with
// files from the working directory.
func readResource(ctx context.Context, input []byte) (wire.Entry, modules.Resource, error) {
	var req request
	d := json.NewDecoder(bytes.NewReader(input))
	d.DisallowUnknownFields()
	if err := d.Decode(&req); err != nil {
		return wire.Entry{}, nil, fmt.Errorf(`reading the resource: %w (it looks like {"type":"file","properties":{"name":"/etc/motd",…}})`, err)
	}
	entry := wire.Entry{Type: req.Type}
	res, err := builtin.Types().Decode(req.Type, req.Properties)
	if err != nil {
		return entry, nil, err
	}
	if _, nested := res.(modules.Nester); nested {
		return entry, nil, fmt.Errorf("a resource of type %s is for manifests: a controller puts what it applies in its place", req.Type)
	}
	entry.Name = modules.Name(res)
	if p, ok := res.(modules.Preparer); ok {
		if err := p.Prepare(ctx, localSource()); err != nil {
			return entry, nil, err
		}
	}
	return entry, res, res.Validate()
}

// localSource reads the files that a resource mentions from the working
// directory.
func localSource() modules.Source {
	return modules.Source{
		File: func(_ context.Context, path string) (modules.Content, error) {
			b, err := os.ReadFile(path)
			return modules.BytesContent(b), err
		},
		Text: func(_ context.Context, text modules.Content) (modules.Content, error) { return text, nil },
	}
}
