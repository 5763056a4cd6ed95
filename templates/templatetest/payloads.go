package templatetest

import (
	"fmt"
	"strings"
)

// Payloads are values in the syntax of many template engines, shells and
// formats, as a hostile host would send them.
func Payloads() []string {
	cores := []string{
		"7*7", "Data.secret", "lookup('data.secret')", `lookup("data.secret")`, "file('/etc/passwd')", `file("secret.txt")`,
		"template('x.templ')", "jet('x.jet')", "Environ.HOME", "$env", "range Data", "end", "include \"x.jet\"", "exec(\"x\")",
		"self.__init__.__globals__", "config.items()", "''.class.mro()[2]", "constructor.constructor('return 1')()",
	}
	wraps := []string{"{{%s}}", "{{ %s }}", "[[%s]]", "[[ %s ]]", "${%s}", "${{%s}}", "{%% %s %%}", "<%%= %s %%>", "#{%s}", "$(%s)", "`%s`"}
	var list []string
	for _, wrap := range wraps {
		for _, core := range cores {
			list = append(list, fmt.Sprintf(wrap, core))
		}
	}
	return append(list,
		"", " ", "{{", "}}", "[[", "]]", "${", "}", "{{{{", "}}}}", "[[[[", "]]]]", "{*", "*}", "{* x *}", "{# x #}", "<%", "%>",
		"{{ '{{ Data.secret }}' }}", "${'${Data.secret}'}", "[[ \"[[ Data.secret ]]\" ]]", "{{ [[ ${ Data.secret } ]] }}",
		"{{\nData.secret\n}}", "{{\r\n7*7\r\n}}", "\n[[ 7*7 ]]\n", "a\x00b{{7*7}}", "\x1b[31m{{7*7}}", "\\{{7*7}}", "\\\\${7*7}",
		"{{ 7*7", "7*7 }}", "[[ if true ]]x", "[[ end ]]", "[[- 7*7 -]]", "{{- 7*7 -}}", "{\u200b{7*7}}", "\uff5b\uff5b7*7\uff5d\uff5d",
		"\u202e{{7*7}}", "é{{ü}}", "\U0001f600${7*7}", "\u2028[[7*7]]\u2029", "'; DROP TABLE x; --", "' || '1'=='1", `" + Data.secret + "`,
		"%s%n%d%v%!", "&lt;&amp;<b>\"'", "../../etc/passwd", "/etc/passwd", "x.templ", "x.jet", "data.secret", "facts.#", "@pretty", "*",
		"!!python/object:os.system", "- a: &x [*x]", "{\"a\": 1}", "[1,2]", "null", "true", "0644", "1e999", "NaN", strings.Repeat("{{", 200),
		strings.Repeat("[[", 200), strings.Repeat("${", 200), strings.Repeat("{{7*7}}", 50),
	)
}
