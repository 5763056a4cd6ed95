package extravars

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHostileFiles reads devices, pipes and bombs as variables, facts and data. None takes more memory than
// a file may have, none waits after the end of the context.
func TestHostileFiles(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	require.NoError(t, syscall.Mkfifo(at("pipe"), 0o600))
	require.NoError(t, os.WriteFile(at("sparse"), nil, 0o600))
	require.NoError(t, os.Truncate(at("sparse"), 1<<40))
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'h'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(c-1)+", ", 10), ", ") + "]\n"
	}
	require.NoError(t, os.WriteFile(at("bomb"), []byte(bomb), 0o600))
	require.NoError(t, os.WriteFile(at("deep"), []byte(strings.Repeat("{a: ", 100_000)), 0o600))
	readers := map[string]func(ctx context.Context, path string) error{
		"-e": func(ctx context.Context, path string) error {
			_, err := Read(ctx, []string{"@" + path}, nil, nil)
			return err
		},
		"--facts": func(ctx context.Context, path string) error { _, err := ReadFacts(ctx, path, nil); return err },
		"--hiera": func(ctx context.Context, path string) error {
			document, err := ReadHiera(ctx, path, "", nil, func(string) {})
			if err == nil {
				_, err = document.Source(nil, func(string) {})
			}
			return err
		},
	}
	for name, want := range map[string]string{
		at("pipe"): context.DeadlineExceeded.Error(), "/dev/zero": "larger than 16 MiB", at("sparse"): "larger than 16 MiB",
		at("bomb"): "the YAML text has more than 1000000 values", at("deep"): "exceeded max depth", folder: "is a directory",
	} {
		for flag, read := range readers {
			t.Run(flag+" "+filepath.Base(name), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				ended := make(chan error, 1)
				go func() { ended <- read(ctx, name) }()
				select {
				case err := <-ended:
					require.ErrorContains(t, err, want)
				case <-time.After(time.Minute):
					require.Fail(t, "it does not end")
				}
			})
		}
	}
}
