package modules

import (
	"context"
	"io"
)

// ReadOnly is h as Check sees it: what would change the host fails with
// [ErrReadOnly]. It is put together part by part, so that a part that Host gets
// later is missing here, and not open, until somebody has thought of it.
func ReadOnly(h Host) Host {
	return Host{
		Files:    Files{h.Files.FileReader, h.Files.FileRights, readOnlyFiles{}},
		Accounts: h.Accounts,
		Commands: probeOnly{h.Commands},
		Contents: h.Contents,
		Report:   discard{},
		Forecast: noForecast{},
	}
}

type readOnlyFiles struct{}

func (readOnlyFiles) Write(context.Context, string, io.Reader, Attributes) error { return ErrReadOnly }
func (readOnlyFiles) MakeDir(context.Context, string, Attributes) error          { return ErrReadOnly }
func (readOnlyFiles) SetAttributes(context.Context, string, Attributes) error    { return ErrReadOnly }
func (readOnlyFiles) Remove(context.Context, string, bool) error                 { return ErrReadOnly }

type probeOnly struct{ Commands }

func (probeOnly) Run(context.Context, Command) (Exit, error) { return Exit{}, ErrReadOnly }

type noForecast struct{}

func (noForecast) Lookup(EffectKind, string) (any, bool) { return nil, false }
