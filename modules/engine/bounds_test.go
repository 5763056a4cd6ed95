package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A talker reports as many messages and changes as it can.
type talker struct {
	changes int
	text    string
	fails   error
}

func (t talker) Validate() error { return nil }

func (t talker) Check(_ context.Context, h modules.Host) (modules.Plan, error) {
	for range 2 * modules.MaxParts {
		h.Report.Message("info", "x")
	}
	plan := modules.Plan{Action: "talked"}
	for range t.changes {
		plan.Changes = append(plan.Changes, modules.Change{Property: t.text, Have: t.text, Want: t.text})
	}
	return plan, nil
}

func (t talker) Apply(context.Context, modules.Host, modules.Plan) error { return nil }

func (t talker) Verify(context.Context, modules.Host, modules.Plan) error { return t.fails }

func (t talker) Refresh(_ context.Context, _ modules.Host, p modules.Plan) (modules.Plan, error) {
	return p, nil
}

// TestResultsAreBounded lets types report anything: the controller accepts the result.
func TestResultsAreBounded(t *testing.T) {
	long := strings.Repeat("\x01", 4096) // a path, of which JSON makes six times as much
	for _, test := range []struct {
		name    string
		changes int
		text    string
		check   bool
		kept    int
		others  string // text of the last change
		fails   error  // ends the play, so that the resources that have left it wait
	}{
		{"few", 3, "x", false, 3, "", nil},
		{"many", modules.MaxParts, "x", false, modules.MaxParts, "", nil},
		{"too many", modules.MaxParts + 5, "x", false, modules.MaxParts, "6 more", nil},
		{"too long", 50, long, false, 11, "40 more", nil},
		{"predicted", 50, long, true, 11, "40 more", nil},
		{"one that is far too long", 1, strings.Repeat("x", 1<<20), false, 1, "", nil},
		{"many, and it fails", modules.MaxParts, "x", false, modules.MaxParts, "", errors.New("no")},
	} {
		t.Run(test.name, func(t *testing.T) {
			j := &mortalJournal{m: &mortal{}, text: []byte("{")}
			e := enginetest.New()
			e.Decode = func(*wire.Entry) (modules.Resource, error) {
				return talker{test.changes, test.text, test.fails}, nil
			}
			e.Refreshes = j
			e.Reversals = &mortalJournal{m: &mortal{}, text: []byte(`{"reversals":[{"play":"p","type":"file","name":"/x","properties":{}}]}`)}
			as := &wire.Remember{As: "p", Whole: test.fails != nil}
			cat := wire.Catalog{Check: test.check, FailOnError: true, Remember: as, Entries: []wire.Entry{{Type: "talker"}, {Type: "talker", Subscribe: []int{0}}}}
			results, _ := enginetest.Run(t, e, "", cat)
			result := results[0]
			require.Contains(t, result.Messages[0].Text, "the record of due refreshes cannot be read")
			require.LessOrEqual(t, len(result.Messages), modules.MaxParts)
			require.Contains(t, result.Messages, modules.Note{Level: "warning", Text: "[… 1004 messages left out …]"})
			if last := result.Messages[len(result.Messages)-1]; test.fails != nil {
				require.Equal(t, modules.Note{Level: "info", Text: "resources removed from the manifest (1) are not undone before a complete run, because this failure ends the play"}, last)
			} else {
				require.Equal(t, modules.Note{Level: "info", Text: "x"}, last)
			}
			require.Len(t, result.Changes, test.kept)
			if last := result.Changes[test.kept-1]; test.others != "" {
				require.Equal(t, modules.Change{Property: "others", Have: test.others, Want: "changed"}, last)
			}
			var stream bytes.Buffer
			require.NoError(t, wire.NewConn(bufio.NewReader(&stream), &stream, 0).Send(&wire.Message{Result: &result}))
			got, err := wire.NewConn(bufio.NewReader(&stream), nil, wire.MaxFromHost).Receive()
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(result.Changes), fmt.Sprint(got.Result.Changes))
		})
	}
}
