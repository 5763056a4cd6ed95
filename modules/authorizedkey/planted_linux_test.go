package authorizedkey_test

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules/authorizedkey"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestPlanted(t *testing.T) {
	modtest.Trapped(t, authorizedkey.Type(), modtest.Trap{
		Name: "authorized_key", Properties: `{"name":"x","user":"root","path":"$ROOT/home/conf/x","key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMfpQb4L8YB70ZH90xHu4goo3u+EhiCsuSuGqVGvaqFq"}`,
		Own: []modtest.Node{{Path: "x", Text: "old\n"}}, Roots: []modtest.Node{modtest.Secret("x")},
	})
}
