package line

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		name string
		line Line
		err  string
	}{
		// where
		{"the name is the path", Line{Name: "/etc/hosts", Line: "x"}, ""},
		{"a name and a path", Line{Name: "web server", Path: "/etc/hosts", Line: "x"}, ""},
		{"a path and another", Line{Name: "/etc/motd", Path: "/etc/hosts", Line: "x"}, ""},
		{"no path", Line{Name: "web server", Line: "x"}, "path: path cannot be empty where the name is not the path of the file (write path: /etc/hosts)"},
		{"relative path", Line{Name: "x", Path: "etc/hosts", Line: "x"}, "path: file path must be absolute"},
		{"dots", Line{Name: "/etc/../hosts", Line: "x"}, "name: file path must be canonical (write /hosts)"},
		// what
		{"regexp", Line{Name: "/a", Line: "x", Regexp: "^x"}, ""},
		{"regexp that does not match the line", Line{Name: "/a", Line: "x", Regexp: "^#x"}, ""},
		{"block", Line{Name: "/a", Block: "x\ny\n"}, ""},
		{"block with a marker", Line{Name: "/a", Block: "x", Marker: "// {mark}"}, ""},
		{"absent by line", Line{Name: "/a", Ensure: absent, Line: "x"}, ""},
		{"absent by regexp", Line{Name: "/a", Ensure: absent, Regexp: "x"}, ""},
		{"absent by marker", Line{Name: "/a", Ensure: absent, Marker: "{mark}"}, ""},
		{"nothing", Line{Name: "/a"}, "line: line cannot be empty (write the line, or a block; ensure: absent removes what regexp matches)"},
		{"regexp only", Line{Name: "/a", Regexp: "x"}, "line: line cannot be empty (write the line, or a block; ensure: absent removes what regexp matches)"},
		{"marker only", Line{Name: "/a", Marker: "{mark}"}, "block: block cannot be empty (ensure: absent removes a block)"},
		{"nothing is absent", Line{Name: "/a", Ensure: absent}, "line: nothing to remove is given (write line, regexp, block or marker)"},
		{"line and block", Line{Name: "/a", Line: "x", Block: "x"}, "block: 'line' and 'block' are mutually exclusive, with 'regexp' and 'marker'"},
		// texts
		{"two lines", Line{Name: "/a", Line: "x\ny"}, "line: line must be one line, without NUL bytes"},
		{"line with \\r", Line{Name: "/a", Line: "x\r"}, "line: line must be one line, without NUL bytes"},
		{"block with \\r", Line{Name: "/a", Block: "x\r\ny"}, `block: block has a NUL byte or a carriage return (end its lines with \n; in a file with \r\n they get that)`},
		{"name of two lines for a marker", Line{Name: "a\nb", Path: "/a", Block: "x"}, "name: name must be one line, without NUL bytes"},
		{"name of two lines for nothing", Line{Name: "a\nb", Path: "/a", Line: "x"}, ""},
		{"marker without mark", Line{Name: "/a", Block: "x", Marker: "# here"}, `marker: marker has no {mark} (write a marker such as "# {mark} my block")`},
		{"marker of two lines", Line{Name: "/a", Block: "x", Marker: "{mark}\n"}, "marker: marker must be one line, without NUL bytes"},
		{"marker in block", Line{Name: "/a", Block: "x\n# END ccm-push /a\n"}, `block: block has a line that is one of its markers, "# BEGIN ccm-push /a" and "# END ccm-push /a"`},
		// regular expressions
		{"EOF", Line{Name: "/a", Line: "x", After: "EOF"}, ""},
		{"after and before", Line{Name: "/a", Line: "x", After: "a", Before: "b"}, "before: 'after' and 'before' are mutually exclusive"},
		{"look-ahead", Line{Name: "/a", Line: "x", Regexp: "(?=x)"}, "regexp: invalid regular expression: invalid or unsupported Perl syntax: (?= (use RE2 syntax, without look-around and back-references)"},
		{"parentheses", Line{Name: "/a", Line: "x", After: "(", Regexp: "["}, "regexp: invalid regular expression: missing closing ]: [ (use RE2 syntax, without look-around and back-references)\n" +
			"after: invalid regular expression: missing closing ): ( (use RE2 syntax, without look-around and back-references)"},
		{"before", Line{Name: "/a", Line: "x", Before: "*"}, "before: invalid regular expression: missing argument to repetition operator: * (use RE2 syntax, without look-around and back-references)"},
		// create
		{"create", Line{Name: "/a", Line: "x", Create: true, Owner: "root", Group: "0", Mode: "0644"}, ""},
		{"create, absent", Line{Name: "/a", Line: "x", Create: true, Ensure: absent}, ""},
		{"create what", Line{Name: "/a", Line: "x", Create: true}, ""},
		{"no create", Line{Name: "/a", Line: "x", Mode: "0644"}, "mode: mode is only valid with 'create: true' (a file that is there keeps its own; a file resource changes it)"},
		{"mode", Line{Name: "/a", Line: "x", Create: true, Owner: "root", Group: "0", Mode: "0844"}, `mode: mode "0844" has a digit outside 0-7 (write an octal string such as mode: "0644")`},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.line.Validate()
			if test.err == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.err)
		})
	}
}
