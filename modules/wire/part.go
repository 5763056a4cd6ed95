package wire

import "errors"

// A Part is the header of a part of the file that an entry with [Entry.Fetch] sends to the controller; N raw bytes
// follow it. Parts come in order. A part with offset 0 restarts the file.
type Part struct {
	Index  int   `json:"i"`
	Offset int64 `json:"offset"`
	N      int   `json:"n"`              // at most [MaxChunk]
	Last   bool  `json:"last,omitempty"` // the file ends with it

	Data []byte `json:"-"` // the raw bytes
}

var errPart = errors.New("part of a file out of bounds")

func (p *Part) validate() error {
	if p != nil && (p.Offset < 0 || p.N < 0 || p.N > MaxChunk || p.N == 0 && !p.Last) {
		return errPart
	}
	return nil
}

// raw returns the number of raw bytes after a message, and where they are stored, or nil.
func (m *Message) raw() (n *int, data *[]byte) {
	switch {
	case m.Blob != nil:
		return &m.Blob.N, &m.Blob.Data
	case m.Part != nil:
		return &m.Part.N, &m.Part.Data
	}
	return nil, nil
}
