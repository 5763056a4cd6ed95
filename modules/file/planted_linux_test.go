package file_test

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestPlanted(t *testing.T) {
	const theirs = `"owner":"65534","group":"65534",`
	modtest.Trapped(t, file.Type(),
		modtest.Trap{Name: "content", Properties: `{` + theirs + `"name":"$ROOT/home/conf/x","mode":"0644","content":"new\n"}`,
			Own: []modtest.Node{{Path: "x", Text: "old\n"}}, Roots: []modtest.Node{modtest.Secret("x")}},
		modtest.Trap{Name: "new", Properties: `{` + theirs + `"name":"$ROOT/home/conf/x","mode":"0644","content":"new\n"}`},
		modtest.Trap{Name: "attributes", Properties: `{` + theirs + `"name":"$ROOT/home/conf/x","mode":"0600"}`,
			Own: []modtest.Node{{Path: "x", Text: "old\n"}}, Roots: []modtest.Node{modtest.Secret("x")}},
		modtest.Trap{Name: "directory", Properties: `{` + theirs + `"name":"$ROOT/home/conf/a/b","ensure":"directory","mode":"0755"}`},
		modtest.Trap{Name: "directory that is there", Properties: `{` + theirs + `"name":"$ROOT/home/conf/a","ensure":"directory","mode":"0700"}`,
			Own: []modtest.Node{{Path: "a", Dir: true}}, Roots: []modtest.Node{{Path: "a", Dir: true}}},
		modtest.Trap{Name: "attributes of a tree", Properties: `{` + theirs + `"name":"$ROOT/home/conf/a","ensure":"directory","recurse":true,"mode":"u=rwX,go="}`,
			Own: []modtest.Node{{Path: "a", Dir: true}, {Path: "a/x"}, {Path: "a/b", Dir: true}, {Path: "a/b/x"}}, Roots: []modtest.Node{{Path: "a", Dir: true}, {Path: "a/x"}}},
		modtest.Trap{Name: "absent", Properties: `{"name":"$ROOT/home/conf/x","ensure":"absent"}`,
			Own: []modtest.Node{{Path: "x", Text: "old\n"}}, Roots: []modtest.Node{modtest.Secret("x")}},
		modtest.Trap{Name: "tree", Properties: `{"name":"$ROOT/home/conf/a","ensure":"absent","force":true}`,
			Own: []modtest.Node{{Path: "a", Dir: true}, {Path: "a/x"}}, Roots: []modtest.Node{{Path: "a", Dir: true}, {Path: "a/x"}}},
	)
}
