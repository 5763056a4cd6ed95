package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/klauspost/compress/flate"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// Packet returns the message with the catalog in the form that [wire.Conn] sends: JSON in one deflate stream. A part
// that hosts have in common is compressed once for all of them. This is possible because no match in such a part refers
// to bytes outside of it.
func (c *Compiled) Packet() ([]byte, error) {
	line, common, err := c.line()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	done := 0
	for _, s := range common {
		if s.to-s.from < leastCommon || c.parts == nil {
			continue
		}
		part, err := c.parts.packed(line[s.from:s.to])
		if err == nil {
			err = pack(&out, line, done, s.from, false)
		}
		if err != nil {
			return nil, err
		}
		out.Write(part)
		done = s.to
	}
	err = pack(&out, line, done, len(line), true)
	return out.Bytes(), err
}

// pack compresses line[from:to] for this host alone. The host knows the text before it by then, so matches may refer to
// it.
func pack(out *bytes.Buffer, line []byte, from, to int, last bool) error {
	if from == to && !last {
		return nil
	}
	return flate.StatelessDeflate(out, line[from:to], last, line[max(0, from-reach):from])
}

// A span is a part of a line, in bytes.
type span struct{ from, to int }

const (
	// leastCommon is the minimum length of a span that is compressed separately, and mostCommon is where the next one
	// begins, in bytes.
	leastCommon = 1 << 10
	mostCommon  = 64 << 10
	// reach is how far back into a common part the matches of the rest may refer, in bytes: an entry or two are
	// similar, and searching more costs time.
	reach = 1 << 10
)

// line is the message as JSON, with the spans of it that other hosts have too.
func (c *Compiled) line() (line []byte, common []span, err error) {
	head, err := c.head()
	if err != nil {
		return nil, nil, err
	}
	line = append(make([]byte, 0, len(head)+c.length()), head...)
	for i := range c.Catalog.Entries {
		from := len(line)
		if i > 0 {
			line = append(line, ',')
		}
		e := &c.Catalog.Entries[i]
		if line, err = appendEntry(line, e); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", e.Ref(), err)
		}
		if i >= len(c.common) || !c.common[i] {
			continue
		}
		if n := len(common) - 1; n >= 0 && common[n].to == from && from-common[n].from < mostCommon {
			common[n].to = len(line)
		} else {
			common = append(common, span{from, len(line)})
		}
	}
	return append(append(line, catalogEnd...), '\n'), common, nil
}

// catalogEnd follows the entries in the message.
const catalogEnd = "]}}"

// length is about how long the entries are as JSON, in bytes.
func (c *Compiled) length() int {
	const keys = 64 // bytes, of each entry
	n := 0
	for i := range c.Catalog.Entries {
		e := &c.Catalog.Entries[i]
		n += keys + len(e.Type) + len(e.Name) + len(e.Alias) + len(e.Properties)
	}
	return n
}

// head is the message up to its first entry.
func (c *Compiled) head() ([]byte, error) {
	// An empty array replaces the entries: appendEntry writes them without reflection.
	line, err := json.Marshal(&struct {
		*wire.Catalog
		Entries [0]struct{} `json:"entries"`
	}{Catalog: &c.Catalog})
	if err != nil {
		return nil, err
	}
	return append([]byte(`{"catalog":`), bytes.TrimSuffix(line, []byte("]}"))...), nil
}

// appendEntry appends the JSON of an entry. Its properties are JSON already, and
// the rest is written without reflection.
func appendEntry(b []byte, e *wire.Entry) (line []byte, err error) {
	b = appendText(append(b, `{"type":`...), e.Type)
	b = appendText(append(b, `,"name":`...), e.Name)
	if e.Alias != "" {
		b = appendText(append(b, `,"alias":`...), e.Alias)
	}
	if len(e.Properties) > 0 {
		b = append(append(b, `,"properties":`...), e.Properties...)
	}
	b = appendNumbers(b, `,"require":`, e.Require)
	b = appendNumbers(b, `,"subscribe":`, e.Subscribe)
	b = appendNumbers(b, `,"after":`, e.After)
	b = appendNumbers(b, `,"awaits":`, e.Awaits)
	for _, flag := range []struct {
		set  bool
		text string
	}{
		{e.Excluded, `,"excluded":true`},
		{e.Check, `,"check":true`},
		{e.Sensitive, `,"sensitive":true`},
		{e.Monitor, `,"monitor":true`},
		{e.Reverse, `,"reverse":true`},
		{e.NoHistory, `,"no_history":true`},
		{e.Reversal, `,"reversal":true`},
		{e.Register, `,"register":true`},
	} {
		if flag.set {
			b = append(b, flag.text...)
		}
	}
	if len(e.Health) > 0 {
		if b, err = appendAny(b, `,"health":`, e.Health); err != nil {
			return nil, err
		}
	}
	if e.Scope != nil {
		if b, err = appendAny(b, `,"scope":`, e.Scope); err != nil {
			return nil, err
		}
	}
	if hasMore(e) {
		return appendMore(b, e)
	}
	return append(b, '}'), nil
}

// hasMore reports whether an entry has fields that few have.
func hasMore(e *wire.Entry) bool {
	return e.Query != "" || e.On != "" || e.Once || len(e.Refresh)+len(e.Unmet)+len(e.Receive)+len(e.Export)+len(e.Sema) > 0 ||
		e.Retry != 0 || e.Rerun || e.Delay != 0 || e.Timeout != 0 || e.Limit != 0 || e.Hidden || e.Confirm != "" || e.Watch != nil || e.Fetch != 0 || e.Ran != "" || e.Unselected != "" || e.Action != "" || e.Written != ""
}

// appendMore appends those fields, and ends the entry.
func appendMore(b []byte, e *wire.Entry) ([]byte, error) {
	more, err := json.Marshal(&wire.Entry{
		On: e.On, Once: e.Once, Refresh: e.Refresh, Unmet: e.Unmet, Query: e.Query, Receive: e.Receive, Export: e.Export, Sema: e.Sema, Retry: e.Retry,
		Rerun: e.Rerun, Delay: e.Delay, Timeout: e.Timeout, Limit: e.Limit, Hidden: e.Hidden, Confirm: e.Confirm, Watch: e.Watch, Fetch: e.Fetch, Ran: e.Ran, Unselected: e.Unselected, Action: e.Action, Written: e.Written,
	})
	return append(b, bytes.TrimPrefix(more, []byte(`{"type":"","name":""`))...), err
}

func appendAny(b []byte, key string, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return append(append(b, key...), text...), err
}

func appendNumbers(b []byte, key string, list []int) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(b, key...)
	for i, n := range list {
		b = append(b, "[,"[min(i, 1)])
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, ']')
}

// appendText appends a text as JSON.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c > 0x7e || c == '"' || c == '\\' {
			quoted, err := json.Marshal(s)
			if err != nil {
				panic(err) // a string cannot fail
			}
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// parts remembers what hosts have in common, compressed. The zero value is ready
// for use by many goroutines at once.
type parts struct {
	mu   sync.Mutex
	done map[string][]byte // compressed blocks by text
	size int               // size of texts and blocks, in bytes

	idle sync.Pool // of *flate.Writer
}

// maxParts bounds the remembered parts, in bytes.
const maxParts = 8 << 20

// packed returns text as blocks of a deflate stream that end at a byte boundary. The caller must not change them.
func (p *parts) packed(text []byte) ([]byte, error) {
	p.mu.Lock()
	known := p.done[string(text)]
	p.mu.Unlock()
	if known != nil {
		return known, nil
	}
	out, err := p.compress(text)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	size := len(text) + len(out)
	if p.size += size; p.done == nil || p.size > maxParts {
		p.done, p.size = map[string][]byte{}, size
	}
	p.done[string(text)] = out
	return out, nil
}

// compress returns the compressed text, with a flush that ends the stream at a byte boundary.
func (p *parts) compress(text []byte) ([]byte, error) {
	// Hosts may have each of their entries in common with others and still no two of
	// them all: then this is done for each, and to make a writer takes much longer.
	const level = 6 // level of 9; higher ones take four times as long for the same size
	var out bytes.Buffer
	w, _ := p.idle.Get().(*flate.Writer)
	if w == nil {
		var err error
		if w, err = flate.NewWriter(nil, level); err != nil {
			return nil, err
		}
	}
	w.Reset(&out)
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Flush(); err != nil {
		return nil, err
	}
	w.Reset(nil) // it must not hold on to the output
	p.idle.Put(w)
	return out.Bytes(), nil
}
