package wire

import "errors"

// Output is output of a running command of an entry: whole lines of one of its streams.
type Output struct {
	Index   int    `json:"i"`
	Stderr  bool   `json:"stderr,omitempty"`
	Text    string `json:"text,omitempty"`
	Dropped int    `json:"dropped,omitempty"` // number of dropped lines after Text, of either stream
}

// Limits of the [Output] of one catalog. The host drops further output.
const (
	MaxOutput  = 64 << 10 // bytes in a second, and of one text
	OutputLine = 64       // cost of a line in addition to its bytes
)

var errOutput = errors.New("output is out of bounds")

func (o *Output) validate() error {
	if o != nil && (len(o.Text) > MaxOutput || o.Dropped < 0) {
		return errOutput
	}
	return nil
}
