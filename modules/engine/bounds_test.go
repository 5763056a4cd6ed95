package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/system"
)

// A talker says and changes as much as it can.
type talker struct {
	changes int
	text    string
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

func (t talker) Verify(context.Context, modules.Host, modules.Plan) error { return nil }

func (t talker) Refresh(_ context.Context, _ modules.Host, p modules.Plan) (modules.Plan, error) {
	return p, nil
}

// TestResultsAreBounded has types say what they like: a controller takes the
// result, whatever it is.
func TestResultsAreBounded(t *testing.T) {
	long := strings.Repeat("\x01", 4096) // a path, of which JSON makes six times as much
	for _, test := range []struct {
		name    string
		changes int
		text    string
		check   bool
		kept    int
		others  string // of the last change
	}{
		{"few", 3, "x", false, 3, ""},
		{"many", modules.MaxParts, "x", false, modules.MaxParts, ""},
		{"too many", modules.MaxParts + 5, "x", false, modules.MaxParts, "6 more"},
		{"too long", 50, long, false, 11, "40 more"},
		{"predicted", 50, long, true, 11, "40 more"},
		{"one that is far too long", 1, strings.Repeat("x", 1<<20), false, 1, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			j := &mortalJournal{m: &mortal{}, text: []byte("{")}
			e := &engine.Engine{
				Decode:  func(*modules.Entry) (modules.Resource, error) { return talker{test.changes, test.text}, nil },
				Host:    system.New(),
				Now:     time.Now,
				Journal: j,
			}
			var result modules.Result
			cat := modules.Catalog{Check: test.check, Entries: []modules.Entry{{Type: "talker"}, {Type: "talker", Subscribe: []int{0}}}}
			_, err := e.Run(t.Context(), &cat, func(r *modules.Result) error {
				if r.Index == 0 {
					result = *r
				}
				return nil
			})
			require.NoError(t, err)
			require.Len(t, result.Messages, modules.MaxParts)
			require.Contains(t, result.Messages[0].Text, "which refreshes are due cannot be read")
			require.Equal(t, "further messages are left out", result.Messages[modules.MaxParts-1].Text)
			require.Len(t, result.Changes, test.kept)
			if last := result.Changes[test.kept-1]; test.others != "" {
				require.Equal(t, modules.Change{Property: "others", Have: test.others, Want: "changed"}, last)
			}
			var wire bytes.Buffer
			require.NoError(t, modules.NewConn(bufio.NewReader(&wire), &wire, 0).Send(&modules.Message{Result: &result}))
			got, err := modules.NewConn(bufio.NewReader(&wire), nil, modules.MaxFromHost).Receive()
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(result.Changes), fmt.Sprint(got.Result.Changes))
		})
	}
}
