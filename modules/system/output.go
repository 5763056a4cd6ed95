package system

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/excerpt"
)

// maxLine bounds the part of a line that is passed on: 4 KiB.
const maxLine = 4 << 10

// output keeps an excerpt of a program's output, and passes on the lines.
type output struct {
	kept   excerpt.Writer
	onLine func(line string) // may be nil
	line   excerpt.Writer    // the unfinished one
}

// newOutput keeps most bytes; 0 means [modules.MaxOutput].
func newOutput(most int, onLine func(line string)) *output {
	return &output{kept: excerpt.Writer{Most: cmp.Or(most, modules.MaxOutput)}, onLine: onLine, line: excerpt.Writer{Most: maxLine}}
}

// Write implements io.Writer. It takes everything.
func (o *output) Write(p []byte) (int, error) {
	o.kept.Write(p)
	if o.onLine != nil {
		o.split(p)
	}
	return len(p), nil
}

func (o *output) split(p []byte) {
	for {
		part, rest, complete := bytes.Cut(p, []byte("\n"))
		o.line.Write(part)
		if !complete {
			return
		}
		o.pass()
		p = rest
	}
}

func (o *output) pass() {
	line := o.line.String()
	o.line.Reset()
	o.onLine(strings.TrimSuffix(line, "\r"))
}

// end passes on a last line that has no newline.
func (o *output) end() {
	if o.onLine != nil && o.line.Len() > 0 {
		o.pass()
	}
}

func (o *output) output() modules.Output {
	text, dropped := o.kept.Text()
	return modules.Output{Text: text, Dropped: dropped}
}
