package report_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/report"
)

func TestJUnit(t *testing.T) {
	golden(t, "mixed.xml", []byte(written(t, collect(mixed()...), (*report.Run).JUnit)))
}

// TestHostileJUnit: the report is valid XML whatever a host sends, and its texts are only texts.
func TestHostileJUnit(t *testing.T) {
	text := written(t, collect(hostile()...), (*report.Run).JUnit)
	d := xml.NewDecoder(strings.NewReader(text))
	elements := map[string]int{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			elements[token.Name.Local]++
		case xml.Comment, xml.Directive:
			t.Fatalf("%T in %s", token, text)
		}
	}
	require.Equal(t, map[string]int{"testsuites": 1, "testsuite": 2, "testcase": 8, "failure": 1, "skipped": 2, "error": 4, "system-out": 2}, elements)
	for _, r := range text {
		require.True(t, r == '\n' || !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r), "%q", r)
	}
}

// TestFiles are written whole, and a file that was there keeps its mode.
func TestFiles(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "run.xml")
	require.NoError(t, os.WriteFile(path, []byte("before"), 0o640))
	require.NoError(t, os.Symlink("run.xml", filepath.Join(folder, "link.xml")))
	files := &report.Files{Files: []report.File{{Path: filepath.Join(folder, "link.xml"), Format: (*report.Run).JUnit}}}
	require.NoError(t, files.Check())
	for _, e := range mixed()[:2] {
		files.Report(e)
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "before", string(got))
	files.Report(events.Summary{})
	require.NoError(t, files.Err())
	got, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(got), "<testsuites")
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode())
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 2, "nothing is left beside it")
}

// TestUnwritable has files that cannot be written: faults that can be found before the run are reported then.
func TestUnwritable(t *testing.T) {
	folder := t.TempDir()
	for _, path := range []string{filepath.Join(folder, "missing", "run.xml"), folder} {
		files := &report.Files{Files: []report.File{{Path: path, Format: (*report.Run).JUnit}}}
		require.ErrorContains(t, files.Check(), path+" cannot be written: ")
		files.Report(events.Summary{})
		require.ErrorContains(t, files.Err(), "writing "+path+": ")
	}
	fails := func(*report.Run, io.Writer) error { return errors.New("the disk is full") }
	files := &report.Files{Files: []report.File{{Path: filepath.Join(folder, "run.xml"), Format: fails}}}
	files.Report(events.Summary{})
	require.ErrorContains(t, files.Err(), "run.xml: the disk is full")
	require.NotContains(t, (&report.Files{Files: []report.File{{Path: filepath.Join(folder, "missing", "run.xml")}}}).Check().Error(), ".new")

	// The reason is reported once, for any amount of data.
	if _, err := os.Stat("/dev/full"); err == nil {
		long := func(_ *report.Run, w io.Writer) error {
			_, err := w.Write(make([]byte, 1<<20))
			return err
		}
		files = &report.Files{Files: []report.File{{Path: "/dev/full", Format: long}}}
		files.Report(events.Summary{})
		require.EqualError(t, files.Err(), "writing /dev/full: no space left on device")
	}
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, entries, "half a file is no report")
}
