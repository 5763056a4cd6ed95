package line

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// edits are files before and after; action is empty if there is nothing to do.
var edits = []struct {
	name       string
	line       Line
	have, want string
	action     string
}{
	// a line
	{"into nothing", Line{Line: "x"}, "", "x\n", "added the line"},
	{"at the end", Line{Line: "x"}, "a\nb\n", "a\nb\nx\n", "added the line"},
	{"there", Line{Line: "x"}, "a\nx\nb\n", "", ""},
	{"there as a part only", Line{Line: "x"}, "ax\n", "ax\nx\n", "added the line"},
	{"no newline at the end", Line{Line: "x"}, "a", "a\nx", "added the line"},
	{"there, no newline at the end", Line{Line: "x"}, "a\nx", "", ""},
	{"\\r\\n", Line{Line: "x"}, "a\r\nb\r\n", "a\r\nb\r\nx\r\n", "added the line"},
	{"\\r\\n, no newline at the end", Line{Line: "x"}, "a\r\nb", "a\r\nb\r\nx", "added the line"},
	{"\\r at the very end", Line{Line: "x"}, "a\nb\r", "a\nb\r\r\nx", "added the line"},
	{"there with \\r\\n", Line{Line: "x"}, "x\r\na\n", "", ""},
	{"empty lines at the end stay", Line{Line: "x"}, "a\n\n\n", "a\n\n\nx\n", "added the line"},
	// a regular expression
	{"replaced", Line{Line: "Port 22", Regexp: "^#?Port"}, "a\n#Port 2222\nb\n", "a\nPort 22\nb\n", "replaced the line"},
	{"the last match is replaced", Line{Line: "x", Regexp: "^x"}, "x1\nx2\nx3\na\n", "x1\nx2\nx\na\n", "replaced the line"},
	{"the last match is right", Line{Line: "x", Regexp: "^x"}, "x1\nx\na\n", "", ""},
	{"a match above the line", Line{Line: "x", Regexp: "^x"}, "x\nx1\n", "x\nx\n", "replaced the line"},
	{"no match", Line{Line: "x", Regexp: "^x"}, "a\n", "a\nx\n", "added the line"},
	{"each line is matched by itself", Line{Line: "x", Regexp: "(?s)a.b|^$"}, "a\nb\n", "a\nb\nx\n", "added the line"},
	{"the end of a line is not matched", Line{Line: "x", Regexp: "a$"}, "a\r\n", "x\r\n", "replaced the line"},
	{"line ends stay", Line{Line: "x", Regexp: "^x"}, "a\nx1\r\nx2", "a\nx1\r\nx", "replaced the line"},
	{"does not match the line, which is not there", Line{Line: "x", Regexp: "^#x"}, "#x1\n#x2\n", "#x1\nx\n", "replaced the line"},
	{"does not match the line, which is there", Line{Line: "x", Regexp: "^#x"}, "#x1\nx\n", "", ""},
	{"does not match the line, and nothing", Line{Line: "x", Regexp: "^#x"}, "a\n", "a\nx\n", "added the line"},
	{"bytes that are no UTF-8 stay", Line{Line: "x", Regexp: "^n"}, "gr\xfcn\n", "gr\xfcn\nx\n", "added the line"},
	// its place
	{"BOF", Line{Line: "x", Before: "BOF"}, "a\n", "x\na\n", "added the line"},
	{"after BOF", Line{Line: "x", After: "BOF"}, "a\n", "x\na\n", "added the line"},
	{"EOF", Line{Line: "x", After: "EOF"}, "a\n", "a\nx\n", "added the line"},
	{"before EOF", Line{Line: "x", Before: "EOF"}, "a", "a\nx", "added the line"},
	{"after the last match", Line{Line: "x", After: "^a"}, "a\na\nb\n", "a\na\nx\nb\n", "added the line"},
	{"before the last match", Line{Line: "x", Before: "^a"}, "a\na\nb\n", "a\nx\na\nb\n", "added the line"},
	{"after no match", Line{Line: "x", After: "^c"}, "a\nb\n", "a\nb\nx\n", "added the line"},
	{"before no match", Line{Line: "x", Before: "^c"}, "a\nb\n", "a\nb\nx\n", "added the line"},
	{"a line is not moved", Line{Line: "x", After: "^b"}, "x\nb\n", "", ""},
	{"a match is not moved", Line{Line: "x", Regexp: "^x", After: "^b"}, "x1\nb\n", "x\nb\n", "replaced the line"},
	{"after the last line without an end", Line{Line: "x", After: "^b"}, "a\nb", "a\nb\nx", "added the line"},
	// absent
	{"every such line", Line{Ensure: absent, Line: "x"}, "x\na\nx\nxx\n", "a\nxx\n", "removed 2 lines"},
	{"every match", Line{Ensure: absent, Regexp: "x"}, "x\na\nxx\n", "a\n", "removed 2 lines"},
	{"matches and the line", Line{Ensure: absent, Regexp: "^#x", Line: "x"}, "#x1\nx\nx1\n", "x1\n", "removed 2 lines"},
	{"one line", Line{Ensure: absent, Line: "x"}, "a\r\nx\r\n", "a\r\n", "removed the line"},
	{"all lines", Line{Ensure: absent, Line: "x"}, "x", "", "removed the line"},
	{"the last line without an end", Line{Ensure: absent, Line: "x"}, "a\nx", "a", "removed the line"},
	{"an empty line becomes the last", Line{Ensure: absent, Line: "x"}, "a\n\nx", "a\n\n", "removed the line"},
	{"nothing to remove", Line{Ensure: absent, Line: "x", Regexp: "^x$"}, "a\n", "", ""},
	// blocks
	{"new block", Line{Name: "n", Block: "x\ny\n"}, "a\n", "a\n# BEGIN ccm-push n\nx\ny\n# END ccm-push n\n", "added the block"},
	{"no newline at the end of the block", Line{Name: "n", Block: "x"}, "", "# BEGIN ccm-push n\nx\n# END ccm-push n\n", "added the block"},
	{"empty lines in a block", Line{Block: "\nx\n\n", Marker: "{mark}"}, "", "BEGIN\n\nx\n\nEND\n", "added the block"},
	{"own marker", Line{Block: "x", Marker: "<!-- {mark} {mark} -->"}, "", "<!-- BEGIN BEGIN -->\nx\n<!-- END END -->\n", "added the block"},
	{"block with \\r\\n", Line{Block: "x\ny", Marker: "{mark}"}, "a\r\nb", "a\r\nb\r\nBEGIN\r\nx\r\ny\r\nEND", "added the block"},
	{"block above a match", Line{Block: "x", Marker: "{mark}", Before: "^b"}, "a\nb\n", "a\nBEGIN\nx\nEND\nb\n", "added the block"},
	{"block of others", Line{Block: "x", Marker: "{mark}"}, "BEGIN me\nx\nEND me\n", "BEGIN me\nx\nEND me\nBEGIN\nx\nEND\n", "added the block"},
	{"right block", Line{Block: "x\ny\n", Marker: "{mark}", After: "BOF"}, "a\nBEGIN\nx\ny\nEND", "", ""},
	{"right block with \\r\\n", Line{Block: "x\ny\n", Marker: "{mark}"}, "BEGIN\r\nx\r\ny\r\nEND\r\n", "", ""},
	{"other block", Line{Block: "x\ny\n", Marker: "{mark}", After: "BOF"}, "a\nBEGIN\ny\nEND\nb", "a\nBEGIN\nx\ny\nEND\nb", "updated the block"},
	{"empty block", Line{Block: "x", Marker: "{mark}"}, "BEGIN\nEND\n", "BEGIN\nx\nEND\n", "updated the block"},
	{"block to be removed", Line{Ensure: absent, Marker: "{mark}"}, "a\nBEGIN\nx\nEND\nb\n", "a\nb\n", "removed the block"},
	{"block at the end", Line{Ensure: absent, Block: "anything", Marker: "{mark}"}, "a\nBEGIN\nx\nEND", "a", "removed the block"},
	{"no block to be removed", Line{Ensure: absent, Marker: "{mark}"}, "a\n", "", ""},
}

func TestEdit(t *testing.T) {
	for _, test := range edits {
		t.Run(test.name, func(t *testing.T) {
			have := edit.Parse(test.have)
			done, err := test.line.edit(have)
			require.NoError(t, err)
			require.Equal(t, test.action, done.Action)
			if test.action == "" {
				require.Empty(t, done.Changes)
				test.want = test.have
			}
			require.Equal(t, test.want, have.String())
			requireStable(t, test.line, test.want)
		})
	}
}

// requireStable checks that a second run finds nothing to do.
func requireStable(t *testing.T, l Line, file string) {
	t.Helper()
	again := edit.Parse(file)
	done, err := l.edit(again)
	require.NoError(t, err)
	require.Equal(t, edit.Done{}, done, "%+v on %q", l, file)
	require.Equal(t, file, again.String())
}

func TestChanges(t *testing.T) {
	done, err := (&Line{Line: "x", Regexp: "^x"}).edit(edit.Parse("a\nx" + strings.Repeat("é", 200) + "\n"))
	require.NoError(t, err)
	require.Equal(t, []modules.Change{{Property: "line", Have: "x" + strings.Repeat("é", 99) + "\uFFFD…", Want: "x"}}, done.Changes)
	done, err = (&Line{Block: "x\ny\n", Marker: "{mark}"}).edit(edit.Parse("BEGIN\nEND\n"))
	require.NoError(t, err)
	require.Equal(t, []modules.Change{{Property: "block", Have: sum(), Want: sum("x", "y")}}, done.Changes)
}

func TestBrokenBlocks(t *testing.T) {
	for _, test := range []struct{ name, have, err string }{
		{"no end", "a\nB\nx\n", `/f:2: the block that begins here has no end (add the line "END" after its last line)`},
		{"no beginning", "a\nx\nE\n", `/f:3: the block that ends here has no beginning (add the line "BEGIN" before its first line)`},
		{"wrong order", "E\nB\n", `/f:1: the block ends here, before it begins (exchange the marker lines)`},
		{"twice", "B\nE\nB\nE\n", `/f:3: the block begins a second time (remove one of the lines "BEGIN")`},
		{"two ends", "B\nE\nE\n", `/f:3: the block ends a second time (remove one of the lines "END")`},
	} {
		for _, ensure := range []string{present, absent} {
			t.Run(test.name+" "+ensure, func(t *testing.T) {
				_, err := (&Line{Name: "/f", Ensure: ensure, Block: "x", Marker: "{mark}"}).edit(edit.Parse(strings.NewReplacer("B", "BEGIN", "E", "END").Replace(test.have)))
				require.EqualError(t, err, test.err)
			})
		}
	}
}

// sum represents the lines of a block in a change.
func sum(lines ...string) string {
	return "sha256:" + modules.TextContent(strings.Join(lines, "\n")).SHA256()
}
