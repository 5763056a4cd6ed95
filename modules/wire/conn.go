package wire

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/ccm-push/ccm-push/modules/weight"
)

// Limits of one message line, without the bytes of a blob. Messages of a host have much lower limits than messages of
// the controller: a host trusts the controller.
const (
	MaxFromHost       = 4 << 20
	MaxFromController = 64 << 20
)

// ErrTooHeavy is returned for a message of a host that would take too much memory.
var ErrTooHeavy = fmt.Errorf("message needs more than %d MiB of memory", weight.Max>>20)

// compressed reports whether the stream after hello is deflated. For a catalog of 200 files, BenchmarkCatalogWire
// counts a fifth of the bytes, which fits TCP's first window.
const compressed = true

// ErrTooLong is returned for a message line beyond its bound.
var ErrTooLong = errors.New("message is too long")

// A Conn is one end of the message stream. Send may be called from several
// goroutines, Receive from one.
//
// Each Send is one write and, when compressed, one complete deflate stream:
// so an idle connection holds no compressor, of which each takes more memory
// than all the rest of a host.
type Conn struct {
	in      *bufio.Reader
	maxLine int

	mu  sync.Mutex
	out io.Writer
}

// NewConn makes a Conn of a stream whose hello line has been read or written.
// maxLine bounds received lines: [MaxFromHost], which [weight.Max] goes with, or
// [MaxFromController].
func NewConn(in *bufio.Reader, out io.Writer, maxLine int) *Conn {
	c := &Conn{in: in, out: out, maxLine: maxLine}
	if compressed {
		c.in = bufio.NewReader(&inflater{in: in})
	}
	return c
}

// Send writes messages in one piece. The bytes of a Blob or a Part are its Data.
func (c *Conn) Send(messages ...*Message) error {
	var buf bytes.Buffer
	for _, m := range messages {
		n, data := m.raw()
		if n != nil {
			*n = len(*data)
		}
		if err := m.validate(); err != nil {
			return err
		}
		line, err := m.encode()
		if err != nil {
			return err
		}
		buf.Write(line)
		buf.WriteByte('\n')
		if data != nil {
			buf.Write(*data)
		}
	}
	packet := &buf
	if compressed {
		packet = deflate(buf.Bytes())
	}
	return c.SendPacket(packet.Bytes())
}

// SendPacket writes messages that have been made ready for the stream: lines, when
// compressed in a deflate stream of their own.
func (c *Conn) SendPacket(packet []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.out.Write(packet)
	return err
}

// Receive reads one message with the bytes that belong to it. At the end of the
// stream it returns io.EOF.
func (c *Conn) Receive() (*Message, error) {
	line, err := readLine(c.in, c.maxLine)
	if err != nil {
		return nil, err
	}
	if c.maxLine <= MaxFromHost && len(line) > weight.Harmless {
		if heavy, _ := weight.Of(line); heavy > weight.Max {
			return nil, ErrTooHeavy
		}
	}
	m := new(Message)
	if string(line) == pongLine {
		m.Pong = &Empty{}
		return m, nil
	}
	if err := m.decode(line); err != nil {
		return nil, fmt.Errorf("reading a message: %w", err)
	}
	if err := m.validate(); err != nil {
		return nil, err
	}
	if n, data := m.raw(); n != nil && *n > 0 {
		*data = make([]byte, *n)
		if _, err := io.ReadFull(c.in, *data); err != nil {
			return nil, noEOF(err)
		}
	}
	return m, nil
}

func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, ErrTooLong
		}
		if err == nil && line == nil {
			return part, nil
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case err == io.EOF && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		case err != bufio.ErrBufferFull:
			return nil, err
		}
	}
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// ParseHello reads the hello line.
func ParseHello(line []byte) (*Hello, error) {
	var m Message
	if err := m.decode(line); err != nil {
		return nil, fmt.Errorf("reading hello: %w", err)
	}
	if err := m.validate(); err != nil || m.Hello == nil {
		return nil, errors.New("the first line is not a hello message")
	}
	return m.Hello, nil
}

// WriteHello writes the hello line.
func WriteHello(w io.Writer, h *Hello) error {
	line, err := (&Message{Hello: h}).encode()
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

var deflaters = sync.Pool{New: func() any {
	w, err := flate.NewWriter(io.Discard, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

// maxStored is up to which length messages are not compressed but stored, in bytes: a compressor takes more
// memory than all else that a controller has of a host, and would save a few bytes.
const maxStored = 256

// deflate makes one deflate stream of b.
func deflate(b []byte) *bytes.Buffer {
	var buf bytes.Buffer
	if len(b) <= maxStored { // RFC 1951, 3.2.4
		const last = 1
		length := uint16(len(b))
		buf.Write(append(binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16([]byte{last}, length), ^length), b...))
		return &buf
	}
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	w.Reset(&buf)
	w.Write(b) // into memory: cannot fail
	w.Close()
	return &buf
}

// inflater reads deflate streams that follow each other as one. flate reads
// single bytes of a ByteReader, so nothing beyond a stream's end is taken.
type inflater struct {
	in *bufio.Reader
	z  io.ReadCloser // stream that is being read; the input may end only outside of one
}

// inflaters are the readers outside of a stream: each needs more memory than the rest of an idle connection.
var inflaters = sync.Pool{New: func() any { return flate.NewReader(nothing{}) }}

// nothing is an input that has ended. For a nil one, flate would make a buffer.
type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }
func (nothing) ReadByte() (byte, error)  { return 0, io.EOF }

func (f *inflater) Read(p []byte) (int, error) {
	if f.z == nil {
		if _, err := f.in.Peek(1); err != nil {
			return 0, err
		}
		f.z = inflaters.Get().(io.ReadCloser)
		if err := f.z.(flate.Resetter).Reset(f.in, nil); err != nil {
			return 0, err
		}
	}
	n, err := f.z.Read(p)
	if err == io.EOF {
		f.z.(flate.Resetter).Reset(nothing{}, nil) // it must not hold on to the input
		inflaters.Put(f.z)
		f.z, err = nil, nil
	}
	return n, err
}
