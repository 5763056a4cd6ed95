package ini

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestEdits(t *testing.T) {
	modtest.Edits(t, Type(), modtest.Editor{
		Put: `{"name":"$ROOT/f","option":"x","value":"1"}`, Remove: `{"name":"$ROOT/f","option":"x","ensure":"absent"}`,
		Entry: []string{"x=1"}, Drifted: []string{"x=2"}, Off: "#x=1", Other: "y=1",
	})
}
