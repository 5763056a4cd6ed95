package wire

import "errors"

// Output is what a command of an entry has written, while it runs: whole lines of one of its
// streams.
type Output struct {
	Index   int    `json:"i"`
	Stderr  bool   `json:"stderr,omitempty"`
	Text    string `json:"text,omitempty"`
	Dropped int    `json:"dropped,omitempty"` // lines behind Text, of either stream, that were too many
}

// Bounds of the [Output] of one catalog. What is more is dropped on the host.
const (
	MaxOutput  = 64 << 10 // bytes in a second, and of one text
	OutputLine = 64       // what a line counts besides its bytes
)

var errOutput = errors.New("output is out of bounds")

func (o *Output) validate() error {
	if o != nil && (len(o.Text) > MaxOutput || o.Dropped < 0) {
		return errOutput
	}
	return nil
}
