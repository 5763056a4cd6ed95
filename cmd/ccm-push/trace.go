package main

import (
	"context"
	"fmt"
	"io"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/tracing"
)

// tracer is the reporter of a trace, if --trace or the environment asks for one. It is closed when
// the run has ended; what a collector has not taken then is a warning, and no error.
func (f reports) tracer(ctx context.Context, a *app) (to []events.Reporter, closeAll func() error, err error) {
	closeAll = func() error { return nil }
	config, err := tracing.FromEnvironment(a.getenv)
	if err != nil {
		a.warn("no trace is sent: " + err.Error())
	}
	if config.Endpoint == "" && f.Trace == "" {
		return nil, closeAll, nil
	}
	var w io.Writer
	closeFile := closeAll
	if f.Trace != "" {
		file, err := appendTo(f.Trace, `{"resourceSpans":`)
		if err != nil {
			return nil, closeAll, fmt.Errorf("--trace cannot be written: %w", err)
		}
		w, closeFile = file, file.Close
	}
	trace := tracing.New(config, version, w)
	trace.Connect(ctx)
	return []events.Reporter{trace}, func() error {
		if err := trace.Close(); err != nil {
			a.warn(err.Error())
		}
		return closeFile()
	}, nil
}
