package forecast_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// TestDiffers reads a host on which a plan changes paths without saying how.
func TestDiffers(t *testing.T) {
	const kind modules.EffectKind = "accounts"
	for _, tt := range []struct {
		name, reads string
		doubts      bool
		read        func(files modules.FileReader, path string) error
	}{
		{"its text", "etc/passwd", true, text},
		{"another file of the folder", "etc/hosts", false, text},
		{"its attributes", "etc/passwd", true, stat},
		{"a file that will be new", "etc/new", true, stat},
		{"the names of the folder", "etc", true, names},
		{"the names of a folder without it", "srv", false, names},
		{"below a folder that will be new", "etc/wants/x", true, stat},
		{"through a link", "srv/link", true, text},
		{"written since", "etc/written", false, text},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := modtest.Root(t)
			modtest.Build(t, root, []modtest.Node{
				{Path: "etc", Dir: true}, {Path: "etc/passwd", Text: "x"}, {Path: "etc/hosts", Text: "x"}, {Path: "etc/written", Text: "x"},
				{Path: "srv", Dir: true}, {Path: "srv/link", Link: "../etc/passwd"},
			})
			at := func(name string) string { return root + "/" + name }
			f := forecast.New(modtest.Host())
			record := func(ref string, effects []modules.Effect) {
				f.Record(forecast.Plan{Ref: ref, Effects: f.Settled(effects)})
			}
			record("user#app", modules.Differ(kind, at("etc/passwd"), at("etc/new"), at("etc/wants"), at("etc/written")))
			record("file#written", []modules.Effect{{Kind: modules.PathEffect, Key: at("etc/written"), State: modules.PathState{
				FileInfo: modules.FileInfo{Kind: modules.Regular, Mode: 0o644}, Content: modules.TextContent("y")}}})
			look := func(knows modules.EffectKind) string {
				p := &forecast.Prediction{}
				h := f.Host(t.Context(), f.Everything(), p, modules.Discard{})
				_ = tt.read(h.Files.Knowing(knows), at(tt.reads))
				return p.Because.Ref
			}
			want := map[bool]string{true: "user#app"}[tt.doubts]
			require.Equal(t, want, look(""))
			require.Equal(t, want, look("other"))
			require.Empty(t, look(kind), "of a reader that applies these effects itself")
		})
	}
}

func text(files modules.FileReader, path string) error {
	file, err := files.Open(path)
	if err == nil {
		err = file.Close()
	}
	return err
}

func stat(files modules.FileReader, path string) error {
	_, err := files.Stat(path)
	return err
}

func names(files modules.FileReader, path string) error {
	_, err := files.List(path)
	return err
}
