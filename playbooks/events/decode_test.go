package events_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// TestDecode holds that what JSON writes is read back: as JSON and as text it is the same
// again.
func TestDecode(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			var lines, short, text bytes.Buffer
			s.play(events.NewJSON(&lines), events.NewShortJSON(&short), events.NewText(&text, events.TextOptions{Verbose: 2, Diff: true, Timing: true}))
			shortLines := bytes.Split(short.Bytes(), []byte("\n"))
			var linesAgain, textAgain bytes.Buffer
			js := events.NewJSON(&linesAgain)
			page := events.NewText(&textAgain, events.TextOptions{Verbose: 2, Diff: true, Timing: true})
			for line := range bytes.Lines(lines.Bytes()) {
				e, err := events.Decode(line)
				require.NoError(t, err)
				js.Report(e)
				page.Report(e)
				same, err := events.Decode(shortLines[0])
				require.NoError(t, err)
				require.Equal(t, withoutRun(e), withoutRun(same))
				shortLines = shortLines[1:]
			}
			// Invalid UTF-8 is read as the replacement character.
			require.Equal(t, strings.ReplaceAll(lines.String(), `\ufffd`, "\ufffd"), linesAgain.String())
			if !strings.Contains(lines.String(), `\ufffd`) {
				require.Equal(t, text.String(), textAgain.String())
			}
		})
	}
}

// withoutRun returns the event as text for people shows it, which has the run only in the first event.
func withoutRun(e events.Event) string {
	var line bytes.Buffer
	events.NewJSON(&line).Report(e)
	return regexp.MustCompile(`"run":"(?:[^"\\]|\\.)*"`).ReplaceAllString(line.String(), "")
}

func TestDecodeErrors(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{`{`, `reading an event: unexpected end of JSON input`},
		{`{"event":"result"}`, `reading an event: parsing time "" as "2006-01-02T15:04:05.000Z07:00": cannot parse "" as "2006"`},
		{`{"event":"fanfare","time":"2026-01-02T03:04:05.678Z"}`, `reading an event "fanfare": unknown event`},
		{`{"event":"result","time":"2026-01-02T03:04:05.678Z","host":1}`, `reading an event "result": json: cannot unmarshal number into Go struct field resultFields.Result.host of type string`},
	} {
		_, err := events.Decode([]byte(test.line))
		require.EqualError(t, err, test.want)
	}
}

// FuzzDecode holds that what can be read can be written, and is then read as the same.
func FuzzDecode(f *testing.F) {
	for _, s := range scenes() {
		var lines bytes.Buffer
		s.play(events.NewJSON(&lines))
		for line := range bytes.Lines(lines.Bytes()) {
			f.Add(line)
		}
	}
	encode := func(e events.Event) []byte {
		var line bytes.Buffer
		events.NewJSON(&line).Report(e)
		return line.Bytes()
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := events.Decode(line)
		if err != nil {
			return
		}
		once := encode(e)
		again, err := events.Decode(once)
		require.NoError(t, err)
		require.Equal(t, string(once), string(encode(again)))
	})
}
