package catalog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// received decodes a packet as a host does.
func received(t testing.TB, packet []byte) wire.Catalog {
	t.Helper()
	c := wire.NewConn(bufio.NewReader(bytes.NewReader(packet)), nil, wire.MaxFromController)
	m, err := c.Receive()
	require.NoError(t, err)
	_, err = c.Receive()
	require.EqualError(t, err, "EOF")
	return *m.Catalog
}

// Every host gets its own catalog, whatever it has in common with others.
func TestPacketsHoldTheCatalog(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var lines []string
	for i, e := range expressions {
		lines = append(lines, fmt.Sprintf("- exec: [{run %d: {command: %q, require: [%q], control: {if: \"Data.a != '%d'\"}, noop: \"{{ Data.other == '1' }}\"}}]",
			i, "echo "+strings.ReplaceAll(e, "Item", "Data.a"), fmt.Sprintf("exec#run %d", max(0, i-1)), i%9))
	}
	lines[0] = "- exec: [run 0: {command: \"true\", health_checks: [{command: /bin/true}]}]"
	c := compiler(t, play(lines...), memoFiles, Options{})
	for i := range 60 {
		compiled, err := c.Compile(t.Context(), randomHost(rng, i))
		require.NoError(t, err)
		compiled.Catalog.Check = i%2 == 0
		compiled.Catalog.Lock = &wire.Lock{Holder: "me <&>", Run: fmt.Sprint(i), Wait: time.Duration(i)}
		packet, err := compiled.Packet()
		require.NoError(t, err)
		require.Equal(t, compiled.Catalog, received(t, packet))
	}
	require.NotEmpty(t, c.parts.done)
}

// full sets everything in v.
func full(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[modules.Content]() {
			v.Set(reflect.ValueOf(modules.BytesContent([]byte("<x>"))))
			return
		}
		for i := range v.NumField() {
			full(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		full(v.Elem())
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"a":["b\n"]}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		full(v.Index(0))
		full(v.Index(1))
	case reflect.String:
		v.SetString("<a> \"b\"\\\n\u2028é")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1<<40 + 7)
	case reflect.Uint32:
		v.SetUint(0o755)
	case reflect.Float64:
		v.SetFloat(0.5)
	default:
		panic("full does not know how to set a " + v.Type().String())
	}
}

// No field of an entry is forgotten, nor one of the catalog.
func TestPacketsHoldEveryField(t *testing.T) {
	c := &Compiled{}
	full(reflect.ValueOf(&c.Catalog).Elem())
	c.Catalog.Confirm = &wire.Confirm{Mode: wire.ConfirmAlways, Within: time.Minute, Boot: true, Login: "<deploy>", Become: "root", Port: 22, Nonce: strings.Repeat("n", 26)}
	packet, err := c.Packet()
	require.NoError(t, err)
	require.Equal(t, c.Catalog, received(t, packet))
}

// Nor does a field of an entry need another one.
func TestPacketsHoldEachFieldAlone(t *testing.T) {
	for i := range reflect.TypeFor[wire.Entry]().NumField() {
		c := &Compiled{Catalog: wire.Catalog{Entries: make([]wire.Entry, 1)}}
		full(reflect.ValueOf(&c.Catalog.Entries[0]).Elem().Field(i))
		packet, err := c.Packet()
		require.NoError(t, err)
		require.Equal(t, c.Catalog, received(t, packet))
	}
}

func TestEmptyPacket(t *testing.T) {
	packet, err := (&Compiled{}).Packet()
	require.NoError(t, err)
	require.Equal(t, wire.Catalog{Entries: []wire.Entry{}}, received(t, packet))
}

func FuzzEntry(f *testing.F) {
	f.Add("file", "/etc/motd", "", `{"mode":"0644"}`, 3, uint8(0))
	f.Add("a\"b", "\xff\x00", "<\u2028>", `[]`, -1, uint8(255))
	f.Fuzz(func(t *testing.T, kind, name, alias, properties string, number int, flags uint8) {
		var compact bytes.Buffer
		if json.Compact(&compact, []byte(properties)) != nil {
			return
		}
		e := wire.Entry{
			Type: kind, Name: name, Alias: alias, Properties: compact.Bytes(),
			Excluded: flags&1 > 0, Check: flags&2 > 0, Sensitive: flags&4 > 0, Monitor: flags&8 > 0,
		}
		if flags&16 > 0 {
			e.Require, e.Subscribe = []int{number}, []int{1, number, 3}
		}
		line, err := appendEntry(nil, &e)
		require.NoError(t, err)
		require.NotContains(t, string(line), "\n")
		general, err := json.Marshal(&e)
		require.NoError(t, err)
		var want, got wire.Entry
		require.NoError(t, json.Unmarshal(general, &want))
		require.NoError(t, json.Unmarshal(line, &got))
		want.Properties, got.Properties = nil, nil // the general one escapes <, > and & in them
		require.Equal(t, want, got)
	})
}

// TestPartsAreBounded checks that common parts are compressed once, and dropped at the size limit.
func TestPartsAreBounded(t *testing.T) {
	var p parts
	text := []byte(strings.Repeat("0123456789abcdef", 1<<10))
	one, err := p.packed(text)
	require.NoError(t, err)
	again, err := p.packed(text)
	require.NoError(t, err)
	require.Same(t, &one[0], &again[0])
	for i := range 2 * maxParts / len(text) {
		_, err := p.packed(fmt.Append(text, i))
		require.NoError(t, err)
		require.LessOrEqual(t, p.size, maxParts)
	}
	require.Less(t, len(p.done), maxParts/len(text)+1)
}

// BenchmarkPacket is a catalog of files of which a host has a tenth for itself; all
// are; or each is common, but no other host has the same ones.
func BenchmarkPacket(b *testing.B) {
	for _, n := range []int{30, 200} {
		for _, of := range []string{"equal", "own", "mixed"} {
			b.Run(fmt.Sprintf("files=%d/%s", n, of), func(b *testing.B) {
				c := &Compiled{parts: &parts{}}
				for i := range n {
					path := fmt.Sprintf("/etc/service-%d/server-%d.conf", i%7, i)
					content, err := modules.TextContent(fmt.Sprintf("%1000d", i)).MarshalJSON()
					require.NoError(b, err)
					c.Catalog.Entries = append(c.Catalog.Entries, wire.Entry{Type: "file", Name: path, Properties: fmt.Appendf(nil,
						`{"name":%q,"ensure":"present","owner":"root","group":"root","mode":"0644","content":%s}`, path, content)})
					c.common = append(c.common, of != "own" && i%30 < 27)
				}
				size, hosts := 0, 0
				b.ReportAllocs()
				for b.Loop() {
					if hosts++; of == "mixed" {
						c.Catalog.Entries[3].Alias = fmt.Sprint(hosts)
					}
					packet, err := c.Packet()
					if err != nil {
						b.Fatal(err)
					}
					size = len(packet)
				}
				b.ReportMetric(float64(size), "wire-B")
			})
		}
	}
}
