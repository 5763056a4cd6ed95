package modtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/system"
)

// Host is the machine that the test runs on, with contents that have come
// inline, no forecast, and a reporter that forgets.
func Host() modules.Host {
	h := system.New()
	h.Contents = Inline{}
	h.Report = silent{}
	h.Forecast = nothing{}
	return h
}

// ReadOnly is the Host that Check gets: changing anything fails with
// [modules.ErrReadOnly].
func ReadOnly(h modules.Host) modules.Host {
	h.Files.FileWriter = readOnlyFiles{}
	h.Commands = probeOnly{h.Commands}
	return h
}

// Inline are contents that are all here.
type Inline struct{}

// Open implements [modules.Contents].
func (Inline) Open(_ context.Context, c modules.Content) (io.ReadCloser, error) {
	b, here := c.Bytes()
	if !here {
		return nil, errors.New("the content is not here")
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

type silent struct{}

func (silent) Message(string, string) {}
func (silent) Output(modules.Exit)    {}

type nothing struct{}

func (nothing) Lookup(modules.EffectKind, string) (any, bool) { return nil, false }

type readOnlyFiles struct{}

func (readOnlyFiles) Write(context.Context, string, io.Reader, modules.Attributes) error {
	return modules.ErrReadOnly
}

func (readOnlyFiles) MakeDir(context.Context, string, modules.Attributes) error {
	return modules.ErrReadOnly
}

func (readOnlyFiles) SetAttributes(context.Context, string, modules.Attributes) error {
	return modules.ErrReadOnly
}

func (readOnlyFiles) Remove(context.Context, string, bool) error { return modules.ErrReadOnly }

type probeOnly struct{ modules.Commands }

func (probeOnly) Run(context.Context, modules.Command) (modules.Exit, error) {
	return modules.Exit{}, modules.ErrReadOnly
}

// expand puts values for $ROOT, and for $UID and $GID, which name a user and a
// group that a test may give files to: another one for root, else its own.
func expand(text, root string) string {
	uid, gid := Account()
	return strings.NewReplacer("$ROOT", root, "$UID", strconv.Itoa(uid), "$GID", strconv.Itoa(gid)).Replace(text)
}

// Account gives the ids that $UID and $GID stand for.
func Account() (uid, gid int) {
	if os.Geteuid() == 0 {
		return 1, 1
	}
	return os.Geteuid(), os.Getegid()
}

// Decode makes a resource of a type from properties in JSON, as they come over
// the wire. $ROOT, $UID and $GID are expanded.
func Decode(t testing.TB, types modules.Registry, name, properties, root string) modules.Resource {
	t.Helper()
	res, err := types.Decode(name, []byte(expand(properties, root)))
	if err != nil {
		t.Fatal(fmt.Errorf("decoding %s: %w", properties, err))
	}
	return res
}
