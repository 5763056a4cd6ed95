package knownhost

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestEdits(t *testing.T) {
	modtest.Edits(t, Type(), modtest.Editor{
		Put: `{"name":"git.example.net","path":"$ROOT/f","keys":["` + one + `"]}`, Remove: `{"name":"git.example.net","path":"$ROOT/f","ensure":"absent"}`,
		Entry: []string{"git.example.net " + one}, Drifted: []string{"git.example.net " + two}, Off: "#git.example.net " + one, Other: "other " + two, Twice: modtest.Right, Unix: true,
	})
}
