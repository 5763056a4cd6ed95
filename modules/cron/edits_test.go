package cron_test

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestEdits(t *testing.T) {
	properties := `"name":"n","store":"$ROOT"`
	modtest.Edits(t, localType(t), modtest.Editor{
		File: "own", Put: `{` + properties + `,"command":"x","minute":"0","hour":"3"}`, Remove: `{` + properties + `,"ensure":"absent"}`,
		Entry: []string{"#ccm-push: n", "0 3 * * * x"}, Drifted: []string{"#ccm-push: n", "0 4 * * * x"}, Off: "#0 3 * * * x", Other: "1 1 1 1 1 y", Unix: true, LineFeed: true,
	})
}
