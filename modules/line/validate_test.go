package line

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestValidate(t *testing.T) {
	modtest.Validates(t, []modtest.Verdict[Line]{
		// where
		{Name: "the name is the path", Of: Line{Name: "/etc/hosts", Line: "x"}},
		{Name: "a name and a path", Of: Line{Name: "web server", Path: "/etc/hosts", Line: "x"}},
		{Name: "a path and another", Of: Line{Name: "/etc/motd", Path: "/etc/hosts", Line: "x"}},
		{Name: "no path", Of: Line{Name: "web server", Line: "x"}, Err: `path: "path" is missing, and the name of the resource is not the path of a file (write the path of the file, such as path: /etc/hosts)`},
		{Name: "relative path", Of: Line{Name: "x", Path: "etc/hosts", Line: "x"}, Err: "path: file path must be absolute (write a path that begins with /)"},
		{Name: "dots", Of: Line{Name: "/etc/../hosts", Line: "x"}, Err: "name: file path must be canonical (write /hosts)"},
		// what
		{Name: "regexp", Of: Line{Name: "/a", Line: "x", Regexp: "^x"}},
		{Name: "regexp that does not match the line", Of: Line{Name: "/a", Line: "x", Regexp: "^#x"}},
		{Name: "block", Of: Line{Name: "/a", Block: "x\ny\n"}},
		{Name: "block with a marker", Of: Line{Name: "/a", Block: "x", Marker: "// {mark}"}},
		{Name: "absent by line", Of: Line{Name: "/a", Ensure: absent, Line: "x"}},
		{Name: "absent by regexp", Of: Line{Name: "/a", Ensure: absent, Regexp: "x"}},
		{Name: "absent by marker", Of: Line{Name: "/a", Ensure: absent, Marker: "{mark}"}},
		{Name: "nothing", Of: Line{Name: "/a"}, Err: `line: "line" cannot be empty (write the line, or a block; ensure: absent removes what "regexp" matches)`},
		{Name: "regexp only", Of: Line{Name: "/a", Regexp: "x"}, Err: `line: "line" cannot be empty (write the line, or a block; ensure: absent removes what "regexp" matches)`},
		{Name: "marker only", Of: Line{Name: "/a", Marker: "{mark}"}, Err: `block: "block" cannot be empty (ensure: absent removes a block)`},
		{Name: "nothing is absent", Of: Line{Name: "/a", Ensure: absent}, Err: `line: nothing to remove is given (write "line", "regexp", "block" or "marker")`},
		{Name: "line and block", Of: Line{Name: "/a", Line: "x", Block: "x"}, Err: "block: 'line' and 'block' are mutually exclusive, with 'regexp' and 'marker'"},
		// texts
		{Name: "two lines", Of: Line{Name: "/a", Line: "x\ny"}, Err: `line: "line" must be one line, without NUL bytes`},
		{Name: "line with \\r", Of: Line{Name: "/a", Line: "x\r"}, Err: `line: "line" must be one line, without NUL bytes`},
		{Name: "block with \\r", Of: Line{Name: "/a", Block: "x\r\ny"}, Err: `block: "block" has a NUL byte or a carriage return (end its lines with \n; in a file with \r\n they get that)`},
		{Name: "name of two lines for a marker", Of: Line{Name: "a\nb", Path: "/a", Block: "x"}, Err: `name: "name" must be one line, without NUL bytes`},
		{Name: "name of two lines for nothing", Of: Line{Name: "a\nb", Path: "/a", Line: "x"}},
		{Name: "marker without mark", Of: Line{Name: "/a", Block: "x", Marker: "# here"}, Err: `marker: "marker" has no {mark} (write a marker such as "# {mark} my block")`},
		{Name: "marker of two lines", Of: Line{Name: "/a", Block: "x", Marker: "{mark}\n"}, Err: `marker: "marker" must be one line, without NUL bytes`},
		{Name: "marker in block", Of: Line{Name: "/a", Block: "x\n# END ccm-push /a\n"}, Err: `block: "block" has a line that is one of its markers, "# BEGIN ccm-push /a" and "# END ccm-push /a"`},
		// regular expressions
		{Name: "EOF", Of: Line{Name: "/a", Line: "x", After: "EOF"}},
		{Name: "after and before", Of: Line{Name: "/a", Line: "x", After: "a", Before: "b"}, Err: "before: 'after' and 'before' are mutually exclusive"},
		{Name: "look-ahead", Of: Line{Name: "/a", Line: "x", Regexp: "(?=x)"}, Err: "regexp: invalid regular expression: invalid or unsupported Perl syntax in \"(?=\" (use the syntax of RE2, which has no look-around and no back-references)"},
		{Name: "parentheses", Of: Line{Name: "/a", Line: "x", After: "(", Regexp: "["}, Err: "regexp: invalid regular expression: missing closing ] in \"[\" (use the syntax of RE2, which has no look-around and no back-references)\n" +
			"after: invalid regular expression: missing closing ) in \"(\" (use the syntax of RE2, which has no look-around and no back-references)"},
		{Name: "before", Of: Line{Name: "/a", Line: "x", Before: "*"}, Err: "before: invalid regular expression: missing argument to repetition operator in \"*\" (use the syntax of RE2, which has no look-around and no back-references)"},
		// create
		{Name: "create", Of: Line{Name: "/a", Line: "x", Create: true, Owner: "root", Group: "0", Mode: "0644"}},
		{Name: "create, absent", Of: Line{Name: "/a", Line: "x", Create: true, Ensure: absent}},
		{Name: "create what", Of: Line{Name: "/a", Line: "x", Create: true}},
		{Name: "no create", Of: Line{Name: "/a", Line: "x", Mode: "0644"}, Err: "mode: mode is only valid with 'create: true' (a file that is there keeps its own; a file resource changes it)"},
		{Name: "mode", Of: Line{Name: "/a", Line: "x", Create: true, Owner: "root", Group: "0", Mode: "0844"}, Err: `mode: mode "0844" has a digit outside 0-7 (write an octal string such as mode: "0644")`},
	})
}
