package archive_test

import (
	"encoding/base64"
	"testing"

	"github.com/ccm-push/ccm-push/modules/archive"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestPlanted(t *testing.T) {
	content := `"url":"http://localhost/a.tar.gz","owner":"0","group":"0","fetch":"controller","content":{"data":"` +
		base64.StdEncoding.EncodeToString(tarball(t, "d/x", "new\n", "d/y", "")) + `"}`
	own := []modtest.Node{{Path: "d", Dir: true}, {Path: "d/x", Text: "old\n"}}
	roots := []modtest.Node{{Path: "d", Dir: true}, modtest.Secret("d/x")}
	modtest.Trapped(t, archive.FullType(quick),
		modtest.Trap{Name: "file", Properties: `{"name":"$ROOT/home/conf/a.tar.gz",` + content + `}`},
		modtest.Trap{Name: "unpacked", Own: own, Roots: roots,
			Properties: `{"name":"$ROOT/a.tar.gz","extract_parent":"$ROOT/home/conf","creates":"$ROOT/home/conf/d/y","cleanup":true,` + content + `}`},
	)
}
