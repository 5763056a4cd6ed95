package modules

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConnRoundTrip(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	ca, cb := NewConn(bufio.NewReader(a), a, MaxFromHost), NewConn(bufio.NewReader(b), b, MaxFromHost)
	data := bytes.Repeat([]byte("x\n{"), 1000)
	sent := []*Message{
		{Ping: &Empty{}},
		{Result: &Result{Index: 3, Status: Changed, Changes: []Change{{"mode", "0644", "0600"}}}},
		{Blob: &Blob{SHA256: TextContent("a").SHA256(), Size: 3000, Data: data}},
		{Want: &Want{SHA256: []string{"a", "b"}}},
		{Done: &Done{}},
	}
	go func() {
		ca.Send(sent[0])
		ca.Send(sent[1:4]...)
		ca.Send(sent[4])
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
		"no field":        {"{}\n", "a message has exactly one field"},
		"two fields":      {`{"ping":{},"stop":{}}` + "\n", "a message has exactly one field"},
		"unknown field":   {`{"pings":{}}` + "\n", `reading a message: json: unknown field "pings"`},
		"trailing text":   {`{"ping":{}} {}` + "\n", "reading a message: more than one JSON value"},
		"bad digest":      {`{"blob":{"sha256":"../x","size":1,"offset":0,"n":1}}` + "\n", "blob header out of bounds"},
		"chunk too large": {`{"blob":{"sha256":"` + strings.Repeat("a", 64) + `","size":70000,"offset":0,"n":70000}}` + "\n", "blob header out of bounds"},
		"cut in a blob":   {`{"blob":{"sha256":"` + strings.Repeat("a", 64) + `","size":9,"offset":0,"n":9}}` + "\nabc", "unexpected EOF"},
		"cut in a line":   {`{"ping"`, "unexpected EOF"},
		"too long":        {`{"want":{"sha256":["` + strings.Repeat("a", 2000) + `"]}}` + "\n", "message is too long"},
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
	c.Send(&Message{Result: &Result{Index: 1, Exit: &Exit{Code: 3}}})
	f.Add(buf.Bytes(), true)
	f.Add([]byte(`{"ping":{}}`+"\n"), false)
	f.Add([]byte(`{"blob":{"sha256":"`+strings.Repeat("a", 64)+`","size":3,"offset":0,"n":3}}`+"\nabc"), false)
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
