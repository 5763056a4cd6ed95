package modules_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/ccm-push/ccm-push/modules"
)

// bigCatalog is n files with hashed contents, as a play of configuration files
// has them.
func bigCatalog(n int) *modules.Message {
	cat := &modules.Catalog{}
	for i := range n {
		content, err := modules.TextContent(fmt.Sprintf("%1000d", i)).MarshalJSON()
		if err != nil {
			panic(err)
		}
		path := fmt.Sprintf("/etc/service-%d/server-%d.conf", i%7, i)
		properties := fmt.Appendf(nil, `{"name":%q,"ensure":"present","owner":"root","group":"root","mode":"0644","content":%s}`, path, content)
		cat.Entries = append(cat.Entries, modules.Entry{Type: "file", Name: path, Properties: properties})
	}
	return &modules.Message{Catalog: cat}
}

// BenchmarkCatalogWire tells what sending a catalog costs, in time and bytes.
func BenchmarkCatalogWire(b *testing.B) {
	for _, n := range []int{20, 200, 1000} {
		b.Run(fmt.Sprintf("files=%d", n), func(b *testing.B) {
			m := bigCatalog(n)
			var wire bytes.Buffer
			c := modules.NewConn(bufio.NewReader(&wire), &wire, modules.MaxFromController)
			b.ReportAllocs()
			for b.Loop() {
				wire.Reset()
				if err := c.Send(m); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(wire.Len()), "wire-B")
			b.ReportMetric(float64(plainSize(b, &wire)), "plain-B")
		})
	}
}

// plainSize is how long the same messages are without compression.
func plainSize(b *testing.B, wire *bytes.Buffer) int {
	m, err := modules.NewConn(bufio.NewReader(wire), io.Discard, modules.MaxFromController).Receive()
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for _, e := range m.Catalog.Entries {
		n += len(e.Properties) + len(e.Name) + len(`{"type":"file","name":"","properties":},`)
	}
	return n
}

// BenchmarkResultWire tells what a stable result costs on its way.
func BenchmarkResultWire(b *testing.B) {
	var wire bytes.Buffer
	c := modules.NewConn(bufio.NewReader(&wire), &wire, modules.MaxFromHost)
	for b.Loop() {
		wire.Reset()
		if err := c.Send(&modules.Message{Result: &modules.Result{Index: 123, Duration: 4567}}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(wire.Len()), "wire-B")
}
