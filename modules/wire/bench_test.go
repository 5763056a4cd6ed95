package wire_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// bigCatalog is n files with hashed contents, as a play of configuration files
// has them.
func bigCatalog(n int) *wire.Message {
	cat := &wire.Catalog{}
	for i := range n {
		content, err := modules.TextContent(fmt.Sprintf("%1000d", i)).MarshalJSON()
		if err != nil {
			panic(err)
		}
		path := fmt.Sprintf("/etc/service-%d/server-%d.conf", i%7, i)
		properties := fmt.Appendf(nil, `{"name":%q,"ensure":"present","owner":"root","group":"root","mode":"0644","content":%s}`, path, content)
		cat.Entries = append(cat.Entries, wire.Entry{Type: "file", Name: path, Properties: properties})
	}
	return &wire.Message{Catalog: cat}
}

// BenchmarkCatalogWire measures the cost of sending a catalog, in time and bytes.
func BenchmarkCatalogWire(b *testing.B) {
	for _, n := range []int{20, 200, 1000} {
		b.Run(fmt.Sprintf("files=%d", n), func(b *testing.B) {
			m := bigCatalog(n)
			var stream bytes.Buffer
			c := wire.NewConn(bufio.NewReader(&stream), &stream, wire.MaxFromController)
			b.ReportAllocs()
			for b.Loop() {
				stream.Reset()
				if err := c.Send(m); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(stream.Len()), "wire-B")
			b.ReportMetric(float64(plainSize(b, &stream)), "plain-B")
		})
	}
}

// plainSize returns the size of the same messages without compression.
func plainSize(b *testing.B, stream *bytes.Buffer) int {
	m, err := wire.NewConn(bufio.NewReader(stream), io.Discard, wire.MaxFromController).Receive()
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for _, e := range m.Catalog.Entries {
		n += len(e.Properties) + len(e.Name) + len(`{"type":"file","name":"","properties":},`)
	}
	return n
}

// BenchmarkResultWire measures the cost of sending a stable result.
func BenchmarkResultWire(b *testing.B) {
	var stream bytes.Buffer
	c := wire.NewConn(bufio.NewReader(&stream), &stream, wire.MaxFromHost)
	for b.Loop() {
		stream.Reset()
		if err := c.Send(&wire.Message{Result: &wire.Result{Index: 123, Duration: 4567}}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(stream.Len()), "wire-B")
}
