package exec

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/modules"
)

// Sends implements [modules.Sender]. The texts are as the command wrote them; output is standard output followed by
// standard error, since the order of lines of two streams is unknown. stdout_trimmed has no newlines at its end, as in
// a shell's command substitution.
func (e *Exec) Sends() []string {
	return []string{"stdout", "stdout_trimmed", "stderr", "output", "exit_code"}
}

// Sent implements [modules.Sender]. A truncated output, or one that JSON cannot represent, is omitted.
func (e *Exec) Sent(_ context.Context, h modules.Host) (map[string]json.RawMessage, error) {
	if e.ran == nil {
		return nil, nil
	}
	values := map[string]json.RawMessage{"exit_code": fmt.Append(nil, e.ran.Code)}
	out, err := e.ran.Stdout, e.ran.Stderr
	for key, out := range map[string]modules.Output{
		"stdout":         out,
		"stdout_trimmed": {Text: strings.TrimRight(out.Text, "\n"), Dropped: out.Dropped},
		"stderr":         err,
		"output":         {Text: out.Text + err.Text, Dropped: out.Dropped + err.Dropped},
	} {
		if out.Dropped > 0 || !utf8.ValidString(out.Text) {
			continue
		}
		text, err := json.Marshal(out.Text)
		if err != nil {
			return nil, err
		}
		values[key] = text
	}
	return values, nil
}
