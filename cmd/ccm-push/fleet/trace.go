package fleet

import (
	"context"
	"fmt"
	"io"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/tracing"
)

// traceReporters returns the reporter of a trace, if --trace (path) or the environment enables one. The caller calls closeAll when the
// run has ended; data that a collector has not accepted by then is a warning, not an error.
func traceReporters(ctx context.Context, path string, a *app.App) (to []events.Reporter, closeAll func() error, err error) {
	closeAll = func() error { return nil }
	config, err := tracing.FromEnvironment(a.Getenv)
	if err != nil {
		a.Warn("no trace is sent: " + err.Error())
	}
	if config.Endpoint == "" && path == "" {
		return nil, closeAll, nil
	}
	var w io.Writer
	closeFile := closeAll
	if path != "" {
		file, err := appendTo(path, `{"resourceSpans":`)
		if err != nil {
			return nil, closeAll, fmt.Errorf("--trace cannot be written: %w", err)
		}
		w, closeFile = file, file.Close
	}
	trace := tracing.New(config, a.Version, w)
	trace.Connect(ctx)
	return []events.Reporter{trace}, func() error {
		if err := trace.Close(); err != nil {
			a.Warn(err.Error())
		}
		return closeFile()
	}, nil
}
