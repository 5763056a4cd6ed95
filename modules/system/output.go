package system

import (
	"bytes"
	"cmp"

	"github.com/ccm-push/ccm-push/modules"
)

// maxLine is how many bytes of a line are passed on: 4 KiB.
const maxLine = 4 << 10

// output keeps the beginning of what a program writes, counts the rest, and
// passes on the lines.
type output struct {
	onLine func(line string) // may be nil
	most   int               // bytes to keep; 0 means modules.MaxOutput

	head    []byte
	dropped int64
	line    []byte // of the unfinished line, at most maxLine+1 bytes
}

// Write implements io.Writer. It takes everything.
func (o *output) Write(p []byte) (int, error) {
	keep := min(len(p), cmp.Or(o.most, modules.MaxOutput)-len(o.head))
	o.head = append(o.head, p[:keep]...)
	o.dropped += int64(len(p) - keep)
	if o.onLine != nil {
		o.split(p)
	}
	return len(p), nil
}

func (o *output) split(p []byte) {
	for {
		part, rest, complete := bytes.Cut(p, []byte("\n"))
		o.line = append(o.line, part[:min(len(part), maxLine+1-len(o.line))]...)
		if !complete {
			return
		}
		o.pass()
		p = rest
	}
}

func (o *output) pass() {
	line := string(bytes.TrimSuffix(o.line, []byte("\r")))
	if len(o.line) > maxLine {
		line = string(o.line[:maxLine]) + "…"
	}
	o.line = o.line[:0]
	o.onLine(line)
}

// end passes on a last line that has no newline.
func (o *output) end() {
	if o.onLine != nil && len(o.line) > 0 {
		o.pass()
	}
}

func (o *output) kept() modules.Output {
	return modules.Output{Text: string(o.head), Dropped: o.dropped}
}
