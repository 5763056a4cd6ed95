package source

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// TestHostileManifests reads devices, pipes and huge files. None takes more memory than a manifest may
// have, none waits after the end of the context.
func TestHostileManifests(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	for _, pipe := range []string{"pipe.yaml", "pipe.tar.gz"} {
		require.NoError(t, syscall.Mkfifo(at(pipe), 0o600))
	}
	require.NoError(t, os.Symlink("/dev/zero", at("zero.yaml")))
	require.NoError(t, os.WriteFile(at("sparse.yaml"), nil, 0o600))
	require.NoError(t, os.Truncate(at("sparse.yaml"), 1<<40))
	require.NoError(t, os.Mkdir(at("folder.yaml"), 0o700))

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	within := func(t *testing.T, do func() error) error {
		ended := make(chan error, 1)
		go func() { ended <- do() }()
		select {
		case err := <-ended:
			return err
		case <-time.After(time.Minute):
			require.Fail(t, "it does not end")
			return nil
		}
	}
	named := func(name string) func() error {
		return func() error {
			origin, err := FindManifest(at(name))
			if err != nil {
				return err
			}
			_, data, err := origin.Read(ctx, &Unpacker{Temp: folder})
			if err == nil {
				_, err = yamlpos.Parse(name, data)
			}
			return err
		}
	}
	included := func(name string) func() error { // a file that a manifest names
		return func() error {
			_, err := File{Path: at("site.yaml")}.Documents(ctx, &yamlpos.Node{File: "site.yaml", Line: 1, Column: 1, Text: name}, "manifest")
			return err
		}
	}
	below := func(name string) func() error {
		return func() error {
			_, _, err := File{Path: at("site.yaml")}.DocumentBelow(&yamlpos.Node{File: "site.yaml", Line: 1, Column: 1}, at("site.yaml"), name)
			return err
		}
	}
	for _, test := range []struct {
		name string
		do   func() error
		want string
	}{
		{"a pipe without a writer", named("pipe.yaml"), context.DeadlineExceeded.Error()},
		{"an archive that is a pipe", named("pipe.tar.gz"), "is not a regular file"},
		{"a device", named("zero.yaml"), "larger than 16 MiB"},
		{"a file of 1 TiB", named("sparse.yaml"), "larger than 16 MiB"},
		{"a folder", named("folder.yaml"), "is a directory"},
		{"parameters in a pipe", func() error { _, err := ReadParameters(ctx, at("pipe.yaml")); return err }, context.DeadlineExceeded.Error()},
		{"includes a pipe", included("pipe.yaml"), "is a device, socket or pipe, not a manifest"},
		{"includes a device", included("zero.yaml"), "is a device, socket or pipe, not a manifest"},
		{"includes a file of 1 TiB", included("sparse.yaml"), "larger than 16 MiB"},
		{"a document with a pipe", below("pipe.yaml"), "is not a regular file"},
		{"a document with a device", below("zero.yaml"), "is outside the folder of the document"},
		{"a document with a file of 1 TiB", below("sparse.yaml"), "larger than 16 MiB"},
	} {
		t.Run(test.name, func(t *testing.T) { require.ErrorContains(t, within(t, test.do), test.want) })
	}
}
