package report

import (
	"cmp"
	"strings"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// reverted returns the outcome of a host's revert: a failure, if this run had made the change.
func reverted(e events.Reverted) outcome {
	results := untold(events.Untold{Results: e.Results, More: e.More})
	if !e.OfThisRun() {
		return outcome{kind: told, play: e.Play, what: "taken back of run " + e.Earlier, notes: e.Why + "\n" + results}
	}
	text := strings.TrimSpace(cmp.Or(e.Because, e.Why) + "\n" + e.Error)
	return outcome{kind: hostFailed, play: e.Play, what: "reverted", text: text, notes: results}
}
