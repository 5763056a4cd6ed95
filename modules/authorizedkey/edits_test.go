package authorizedkey

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestEdits(t *testing.T) {
	const (
		one = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMfpQb4L8YB70ZH90xHu4goo3u+EhiCsuSuGqVGvaqFq"
		two = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAED7nlnqWY7VFewQlPSkKNqF2RB0Z+15k3zEaojud33"
	)
	properties := `"name":"ann","user":"$UID","path":"$ROOT/f","key":"` + one + ` ann"`
	modtest.Edits(t, Type(), modtest.Editor{
		Put: `{` + properties + `}`, Remove: `{` + properties + `,"ensure":"absent"}`,
		Entry: []string{one + " ann"}, Drifted: []string{"restrict " + one + " bob"}, Off: "#" + one + " ann", Other: two + " eve", Unix: true,
	})
}
