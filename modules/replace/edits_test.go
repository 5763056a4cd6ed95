package replace_test

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/replace"
)

func TestEdits(t *testing.T) {
	modtest.Edits(t, replace.Type(), modtest.Editor{
		Put:   `{"name":"$ROOT/f","regexp":"^x=.*$","replace":"x=1"}`,
		Entry: []string{"x=1"}, Drifted: []string{"x=2"}, Off: "#x=1", Other: "y=1", Twice: modtest.Each, Changes: true,
	})
}
