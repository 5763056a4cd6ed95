package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/system"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// BenchmarkConverged checks a catalog of 1,000 files of 2 KB without changes, on this machine: "ns/resource" is the
// cost of one of them on a host.
func BenchmarkConverged(b *testing.B) {
	const n = 1000
	dir := b.TempDir()
	text := strings.Repeat("some configuration\n", 108)
	hash := modules.TextContent(text).SHA256()
	c := wire.Catalog{Lock: &wire.Lock{Run: "benchmark"}}
	long := time.Now().Add(-time.Hour)
	for i := range n {
		path := filepath.Join(dir, fmt.Sprintf("f%d", i))
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
		if err := os.Chtimes(path, long, long); err != nil { // otherwise its digest could not be cached
			b.Fatal(err)
		}
		properties, _ := json.Marshal(map[string]any{
			"name": path, "ensure": "present", "content": map[string]any{"sha256": hash, "size": len(text)},
			"owner": fmt.Sprint(os.Getuid()), "group": fmt.Sprint(os.Getgid()), "mode": "0644",
		})
		c.Entries = append(c.Entries, wire.Entry{Type: "file", Name: path, Properties: properties})
	}
	e := &engine.Engine{
		Decode: func(e *wire.Entry) (modules.Resource, error) { return builtin.Types().Decode(e.Type, e.Properties) },
		Host:   system.New(),
		Now:    time.Now,

		Applied: noteFile(filepath.Join(dir, "applied.jsonl")),
	}
	for b.Loop() {
		_, err := e.Run(context.Background(), &c, func(r *wire.Result) error {
			if r.Status != "" {
				b.Fatalf("%s: %+v", c.Entries[r.Index].Name, r)
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/resource")
}

// noteFile keeps notes in a file.
type noteFile string

func (f noteFile) Read() ([]byte, error) {
	text, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return text, err
}
func (f noteFile) MayWrite() error           { return nil }
func (f noteFile) Replace(text []byte) error { return os.WriteFile(string(f), text, 0o600) }
func (f noteFile) SetAside() (string, error) { return "", nil }
