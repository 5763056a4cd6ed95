package wire

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

func TestConnRoundTrip(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	ca, cb := NewConn(bufio.NewReader(a), a, MaxFromHost), NewConn(bufio.NewReader(b), b, MaxFromHost)
	data := bytes.Repeat([]byte("x\n{"), 1000)
	sent := []*Message{
		{Ping: &Empty{}},
		{Result: &Result{Index: 3, Status: Changed, Changes: []modules.Change{{Property: "mode", Have: "0644", Want: "0600"}}}},
		{Blob: &Blob{SHA256: modules.TextContent("a").SHA256(), Size: 3000, Data: data}},
		{Part: &Part{Index: 2, Offset: 7, N: 3000, Last: true, Data: data}},
		{Want: &Want{SHA256: []string{"a", "b"}}},
		{Done: &Done{}},
		{Pong: &Empty{}},
	}
	go func() {
		ca.Ping()
		ca.Send(sent[1:5]...)
		ca.Send(sent[5:]...)
		a.Close()
	}()
	for _, want := range sent {
		got, err := cb.Receive()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := cb.Receive()
	require.ErrorIs(t, err, io.EOF)
}

func TestConnRefusesBadStreams(t *testing.T) {
	for name, tc := range map[string]struct{ plain, want string }{
		"no field":          {"{}\n", "a message has exactly one field"},
		"two fields":        {`{"ping":{},"stop":{}}` + "\n", "a message has exactly one field"},
		"unknown field":     {`{"pings":{}}` + "\n", `reading a message: json: unknown field "pings"`},
		"trailing text":     {`{"ping":{}} {}` + "\n", "reading a message: more than one JSON value"},
		"bad digest":        {`{"blob":{"sha256":"../x","size":1,"offset":0,"n":1}}` + "\n", "blob header out of bounds"},
		"chunk too large":   {`{"blob":{"sha256":"` + strings.Repeat("a", 64) + `","size":70000,"offset":0,"n":70000}}` + "\n", "blob header out of bounds"},
		"a part of nothing": {`{"part":{"i":0,"offset":0,"n":0}}` + "\n", "part of a file out of bounds"},
		"cut in a part":     {`{"part":{"i":0,"offset":0,"n":9}}` + "\nabc", "unexpected EOF"},
		"cut in a blob":     {`{"blob":{"sha256":"` + strings.Repeat("a", 64) + `","size":9,"offset":0,"n":9}}` + "\nabc", "unexpected EOF"},
		"cut in a line":     {`{"ping"`, "unexpected EOF"},
		"too long":          {`{"want":{"sha256":["` + strings.Repeat("a", 2000) + `"]}}` + "\n", "message is too long"},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewConn(bufio.NewReader(deflate([]byte(tc.plain))), nil, 1000)
			_, err := c.Receive()
			require.EqualError(t, err, tc.want)
		})
	}
}

func TestConnCutAnywhere(t *testing.T) {
	var whole bytes.Buffer
	require.NoError(t, NewConn(bufio.NewReader(&whole), &whole, 1000).Send(&Message{Want: &Want{SHA256: []string{"a", "b"}}}))
	for n := range whole.Len() {
		c := NewConn(bufio.NewReader(bytes.NewReader(whole.Bytes()[:n])), nil, 1000)
		_, err := c.Receive()
		if err == nil { // only the end mark of the deflate stream is missing
			_, err = c.Receive()
		}
		require.Error(t, err)
		require.Equal(t, n == 0, err == io.EOF, "%d bytes: %v", n, err)
	}
}

func FuzzReceive(f *testing.F) {
	var buf bytes.Buffer
	c := NewConn(bufio.NewReader(&buf), &buf, MaxFromHost)
	c.Send(&Message{Result: &Result{Index: 1, Exit: &modules.Exit{Code: 3}}})
	f.Add(buf.Bytes(), true)
	f.Add([]byte(`{"ping":{}}`+"\n"), false)
	f.Add([]byte(`{"blob":{"sha256":"`+strings.Repeat("a", 64)+`","size":3,"offset":0,"n":3}}`+"\nabc"), false)
	f.Add([]byte(`{"part":{"i":0,"offset":0,"n":3,"last":true}}`+"\nabc"), false)
	f.Fuzz(func(t *testing.T, stream []byte, packed bool) {
		if !packed {
			stream = deflate(stream).Bytes()
		}
		c := NewConn(bufio.NewReader(bytes.NewReader(stream)), nil, 1<<16)
		for range 100 {
			m, err := c.Receive()
			if err != nil {
				return
			}
			var again bytes.Buffer
			require.NoError(t, NewConn(bufio.NewReader(&again), &again, 1<<20).Send(m))
			back, err := NewConn(bufio.NewReader(&again), nil, 1<<20).Receive()
			require.NoError(t, err)
			require.Equal(t, m, back)
		}
	})
}

// Messages that the controller reads without encoding/json have the same meaning as with it.
func FuzzReceiveAll(f *testing.F) {
	f.Add([]byte(`{"result":{"i":3,"ns":51000}}` + "\n" + `{"result":{"i":4}}` + "\n" + `{"done":{}}` + "\n"))
	f.Add([]byte(`{"result":{"i":03}}` + "\n"))
	f.Add([]byte(`{"result":{"i":-1,"ns":1e3}}` + "\n"))
	f.Add([]byte(`{"result":{"i":999999999999999999,"ns":9999999999999999999}}` + "\n"))
	f.Add([]byte(`{"pong":{}}` + "\n" + `{"result":{"i":1,"ns":}}` + "\n"))
	f.Fuzz(func(t *testing.T, plain []byte) {
		stream := deflate(plain).Bytes()
		conn := func() *Conn { return NewConn(bufio.NewReader(bytes.NewReader(stream)), nil, 1<<16) }
		one, several := conn(), conn()
		var want, got []*Message
		var wantErr, gotErr error
		for wantErr == nil {
			var m *Message
			if m, wantErr = one.Receive(); m != nil {
				want = append(want, m)
			}
		}
		for gotErr == nil {
			var all []*Message
			all, gotErr = several.ReceiveAll()
			require.LessOrEqual(t, len(all), maxBurst)
			got = append(got, all...)
		}
		require.Equal(t, want, got)
		require.Equal(t, wantErr.Error(), gotErr.Error())
	})
}

func TestReceiveAll(t *testing.T) {
	var wire bytes.Buffer
	out := NewConn(nil, &wire, 0)
	var sent []*Message
	for i := range 2 * maxBurst {
		sent = append(sent, &Message{Result: &Result{Index: i, Duration: time.Duration(i) * time.Microsecond}})
	}
	sent[5] = &Message{Result: &Result{Index: 5, Status: Changed}}
	require.NoError(t, out.Send(sent...))
	in := NewConn(bufio.NewReader(&wire), nil, MaxFromHost)
	var got []*Message
	for len(got) < len(sent) {
		all, err := in.ReceiveAll()
		require.NoError(t, err)
		require.LessOrEqual(t, len(all), maxBurst)
		got = append(got, all...)
	}
	require.Equal(t, sent, got)
	all, err := in.ReceiveAll()
	require.ErrorIs(t, err, io.EOF)
	require.Empty(t, all)
}

// An inflater does not expose data of one host to the next one, and is not reused after it was left in the middle of a
// stream.
func TestInflatersOfHosts(t *testing.T) {
	receive := func(packet []byte) (*Message, error) {
		return NewConn(bufio.NewReader(bytes.NewReader(packet)), nil, MaxFromHost).Receive()
	}
	secret := []byte(`{"result":{"i":1,"message":"the secret of another host"}}` + "\n")
	var stolen bytes.Buffer // refers to data before its beginning
	w, err := flate.NewWriterDict(&stolen, flate.BestCompression, secret)
	require.NoError(t, err)
	_, err = w.Write(secret)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Less(t, stolen.Len(), 20)
	for range 50 {
		m, err := receive(deflate(secret).Bytes())
		require.NoError(t, err)
		require.Equal(t, "the secret of another host", m.Result.Message)
		_, err = receive(stolen.Bytes())
		require.ErrorContains(t, err, "flate: corrupt input")
		_, err = receive(deflate(secret).Bytes()[:30])
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	}
}

// BenchmarkReceiveAll reads what hosts have to say: a burst of stable results each.
func BenchmarkReceiveAll(b *testing.B) {
	var wire bytes.Buffer
	var results []*Message
	for i := range 30 {
		results = append(results, &Message{Result: &Result{Index: i, Duration: time.Duration(i) * time.Microsecond}})
	}
	require.NoError(b, NewConn(nil, &wire, 0).Send(results...))
	source := bytes.NewReader(nil)
	in := bufio.NewReader(source)
	conn := NewConn(in, nil, MaxFromHost)
	b.ReportAllocs()
	for b.Loop() {
		source.Reset(wire.Bytes())
		in.Reset(source)
		if all, err := conn.ReceiveAll(); err != nil || len(all) != len(results) {
			b.Fatal(len(all), err)
		}
	}
}

// Short messages are stored, so that no compressor is made for them; longer ones are compressed.
func TestShortMessagesAreStored(t *testing.T) {
	for name, m := range map[string]*Message{"short": {Ping: &Empty{}}, "long": {Catalog: &Catalog{Entries: []Entry{{Type: "file", Name: strings.Repeat("/a", 1000)}}}}} {
		var sent bytes.Buffer
		require.NoError(t, NewConn(bufio.NewReader(&sent), &sent, MaxFromController).Send(m, m))
		line, err := json.Marshal(m)
		require.NoError(t, err)
		require.Equal(t, name == "short", bytes.Contains(sent.Bytes(), line), name)
		received := NewConn(bufio.NewReader(&sent), io.Discard, MaxFromController)
		for range 2 {
			got, err := received.Receive()
			require.NoError(t, err)
			require.Equal(t, m, got, name)
		}
	}
}
