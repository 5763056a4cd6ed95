package modules

import (
	"context"
	"io"
	"os"
)

// ReadOnly is h as Check sees it: what would change the host fails with
// [ErrReadOnly]. It is put together part by part, so that a part that Host gets
// later is missing here, and not open, until it is added.
func ReadOnly(h Host) Host {
	return Host{
		Files:    Files{h.Files.FileReader, h.Files.FileRights, readOnlyFiles{}, readOnlyFiles{}, h.Files.Xattrs, h.Files.Room},
		Accounts: h.Accounts,
		Commands: probeOnly{h.Commands},
		Contents: h.Contents,
		Private:  h.Private,
		Stage:    h.Stage,
		CheckRun: h.CheckRun,
		Report:   Discard{},
		Forecast: NoForecast{},

		Resources: h.Resources,
		YAML:      h.YAML,
		State:     h.State,
	}
}

type readOnlyFiles struct{}

func (readOnlyFiles) Write(context.Context, string, io.Reader, Attributes) error { return ErrReadOnly }
func (readOnlyFiles) WriteIf(context.Context, string, io.Reader, Attributes, func(string) error) error {
	return ErrReadOnly
}
func (readOnlyFiles) Copy(context.Context, string, string) error              { return ErrReadOnly }
func (readOnlyFiles) MakeDir(context.Context, string, Attributes) error       { return ErrReadOnly }
func (readOnlyFiles) Symlink(context.Context, string, string) error           { return ErrReadOnly }
func (readOnlyFiles) SetAttributes(context.Context, string, Attributes) error { return ErrReadOnly }
func (readOnlyFiles) Remove(context.Context, string, bool) error              { return ErrReadOnly }

func (readOnlyFiles) OpenDirectory(string) (*os.Root, error) { return nil, ErrReadOnly }
func (readOnlyFiles) Within(string) FileWriter               { return readOnlyFiles{} }
func (readOnlyFiles) Sync(*os.Root) error                    { return ErrReadOnly }

type probeOnly struct{ Commands }

func (probeOnly) Run(context.Context, Command) (Exit, error) { return Exit{}, ErrReadOnly }

// NoForecast is the [Forecast] where nothing is predicted.
type NoForecast struct{}

// Lookup implements [Forecast].
func (NoForecast) Lookup(EffectKind, string) (any, bool) { return nil, false }

// Discard is a [Reporter] that keeps nothing.
type Discard struct{}

// Message implements [Reporter].
func (Discard) Message(string, string) {}

// Output implements [Reporter].
func (Discard) Output(Exit) {}

// State implements [Reporter].
func (Discard) State(State) {}
