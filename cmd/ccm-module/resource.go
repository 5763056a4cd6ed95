package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// request is the input of run.
type request struct {
	Type       string          `json:"type"`
	Properties json.RawMessage `json:"properties"`
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
		return entry, nil, fmt.Errorf("type %s works only in manifests: the controller replaces the resource with the resources of the nested manifest", req.Type)
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
