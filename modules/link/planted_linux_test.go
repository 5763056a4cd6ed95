package link_test

import (
	"testing"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/link"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestPlanted(t *testing.T) {
	modtest.Trapped(t, link.Type(),
		modtest.Trap{Name: "link", Properties: `{"name":"$ROOT/home/conf/x","target":"/nothing"}`},
		modtest.Trap{Name: "in place of a file", Properties: `{"name":"$ROOT/home/conf/x","target":"/nothing","force":true}`,
			Own: []modtest.Node{{Path: "x", Text: "old\n"}}, Roots: []modtest.Node{modtest.Secret("x")}},
	)
}

// TestOwnTrap uses root's own link, which leads root elsewhere, in a directory that should belong to a user.
func TestOwnTrap(t *testing.T) {
	needs.Root(t, "only root acts in the directories of others")
	const theirs = `"owner":"65534","group":"65534",`
	modtest.Predicts(t, modules.Registry{link.Type(), file.Type()}, modtest.Scenario{
		Tree: []modtest.Node{{Path: "etc", Dir: true}},
		Steps: []modtest.Step{
			{Type: "file", Properties: `{` + theirs + `"name":"$ROOT/home","ensure":"directory","mode":"0755"}`},
			{Type: "link", Properties: `{"name":"$ROOT/home/l","target":"$ROOT/etc"}`},
			{Type: "file", Properties: `{` + theirs + `"name":"$ROOT/home/l/x","mode":"0644","content":"new\n"}`},
			{Type: "file", Properties: `{` + theirs + `"name":"$ROOT/home/l/d/x","ensure":"directory","mode":"0755"}`},
		},
		Want: []string{"changed", "changed", "failed", "failed"},
	})
}
