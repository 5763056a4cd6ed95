package gotemplate_test

import (
	"testing"

	"github.com/Masterminds/sprig/v3"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/gotemplate"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

// TestSprigIsWhole checks that every function of Sprig is either here or omitted with a reason.
func TestSprigIsWhole(t *testing.T) {
	for name := range sprig.TxtFuncMap() {
		_, here := gotemplate.AllFunctions()[name]
		require.NotEqual(t, here, diag.RefusedFunction(name) != nil, name)
	}
}

func sprigCases() []errorCase { // source, output
	return []errorCase{
		{`{{ hello }}`, "Hello!"},
		{`{{ "  a b " | trim | upper }} {{ lower "AB" }} {{ title "a b" }} {{ untitle "Ab" }} {{ swapcase "aB" }}`, "A B ab A B ab Ab"},
		{`{{ snakecase "aB" }} {{ camelcase "a_b" }} {{ kebabcase "aB" }} {{ initials "ann bob" }} {{ nospace "a b" }}`, "a_b AB a-b ab ab"},
		{`{{ trimAll "$" "$5$" }} {{ trimall "$" "$5" }} {{ trimSuffix "-" "a-" }} {{ trimPrefix "-" "-a" }}`, "5 5 a a"},
		{`{{ trunc 3 "abcdef" }} {{ trunc -2 "abc" }} {{ abbrev 5 "hello world" }} {{ abbrevboth 5 10 "1234 5678 9123" }} {{ substr 1 3 "abcd" }}`,
			"abc bc he... ...5678... bc"},
		{`{{ contains "b" "abc" }} {{ hasPrefix "a" "abc" }} {{ hasSuffix "x" "abc" }} {{ plural "one" "many" 2 }}`, "true true false many"},
		{`{{ repeat 3 "ab" }} {{ replace "a" "b" "aa" }} {{ indent 2 "a\nb" }}{{ nindent 1 "a" }}`, "ababab bb   a\n  b\n a"},
		{`{{ wrap 3 "aa bb" }} {{ wrapWith 2 "|" "aabb" }}`, "aa\nbb aa|bb"},
		{`{{ quote "a\"b" nil "" 3 true }} {{ squote "a" 1.5 }} {{ cat "a" nil "" 2 }}.`, `"a\"b" "" "3" "true" 'a' '1.5' a  2.`},
		{`{{ toString .data.port }} {{ toStrings .data.list | join "-" }} {{ join ", " .data.list }} {{ join "" "x" }}`, "8080 a-b-c a, b, c x"},
		{`{{ (split "," "a,b")._1 }} {{ (splitn "," 2 "a,b,c")._1 }} {{ splitList "," "a,b" | last }}`, "b b,c b"},
		{`{{ sha1sum "a" | trunc 6 }} {{ sha256sum "a" | trunc 6 }} {{ sha512sum "a" | trunc 6 }} {{ adler32sum "a" }}`, "86f7e4 ca9781 1f40fc 6422626"},
		{`{{ b64enc "a" }} {{ b64dec "YQ==" }} {{ b32enc "a" }} {{ b32dec "ME======" }}`, "YQ== a ME====== a"},
		{`{{ atoi "5" }} {{ int "7" }} {{ int64 1.9 }} {{ float64 "1.5" }} {{ toDecimal "755" }} {{ int "x" }}`, "5 7 1 1.5 493 0"},
		{`{{ add 1 2 3 }} {{ add1 .data.port }} {{ sub 5 2 }} {{ mul 2 3 4 }} {{ div 7 2 }} {{ mod 7 2 }} {{ max 1 5 3 }} {{ min 4 2 }} {{ biggest 1 2 }}`,
			"6 8081 3 24 3 1 5 2 2"},
		{`{{ addf 1.5 2 }} {{ add1f 1.5 }} {{ subf 3 0.5 }} {{ mulf 1.5 2 }} {{ divf 1 4 }} {{ maxf 1.5 2 }} {{ minf 1.5 2 }}`, "3.5 2.5 2.5 3 0.25 2 1.5"},
		{`{{ floor 1.7 }} {{ ceil 1.2 }} {{ round 1.2345 2 }} {{ round 3 .data.whole }}`, "1 2 1.23 3"},
		{`{{ range until 3 }}{{ . }}{{ end }} {{ range untilStep 6 0 -3 }}{{ . }}{{ end }} {{ range until -2 }}{{ . }}{{ end }}`, "012 63 0-1"},
		{`{{ seq }}|{{ seq 3 }}|{{ seq 2 4 }}|{{ seq 5 -2 1 }}|{{ seq -2 }}|{{ seq 5 2 1 }}`, "|1 2 3|2 3 4|5 3 1|1 0 -1 -2|"},
		{`{{ empty "" }} {{ empty 0 }} {{ coalesce "" 0 "x" }} {{ all 1 0 }} {{ any 1 0 }} {{ ternary "y" "n" true }} {{ default "d" "" }}`, "true true x false true y d"},
		{`{{ fromJson "{\"a\":[1,2.5]}" | toJson }} {{ toRawJson "<" }} {{ toJson "<" }} {{ list 1 | toPrettyJson }}`,
			"{\"a\":[1,2.5]} \"<\" \"\\u003c\" [\n  1\n]"},
		{`{{ typeOf .data.port }} {{ typeIs "string" "a" }} {{ typeIsLike "string" "a" }} {{ kindOf .data.list }} {{ kindIs "map" .data }} {{ deepEqual .data.list (list "a" "b" "c") }}`,
			"int64 true true slice true true"},
		{`{{ base "a/b.c" }} {{ dir "a/b" }} {{ clean "a/../b" }} {{ ext "a.b" }} {{ isAbs "/a" }} {{ osBase "a/b" }} {{ osDir "a/b" }} {{ osClean "a//b" }} {{ osExt "a.b" }} {{ osIsAbs "a" }}`,
			"b.c a b .b true b a a/b .b false"},
		{`{{ dict "a" 1 "b" | toJson }} {{ get .data "name" }} [{{ get .data "nope" }}] {{ hasKey .data "nope" }} {{ pluck "id" (first .data.users) (last .data.users) | toJson }}`,
			`{"a":1,"b":""} web [] false [1,2]`},
		{`{{ keys .data.nested | join "," }} {{ values .data.nested | join "," }} {{ pick .data "name" | toJson }} {{ omit .data.nested "port" | keys | join "," }}`,
			`a.b,port,with space dotted,80,s {"name":"web"} a.b,with space`},
		{`{{ dig "nested" "port" 1 .data }} {{ dig "nope" "x" "dflt" .data }} {{ .data | dig "nested" "nope" "d" }}`, "80 dflt d"},
		{`{{ first .data.list }}{{ last .data.list }}{{ rest .data.list | join "" }}{{ initial .data.list | join "" }} {{ reverse .data.list | join "" }} {{ append .data.list "d" | join "" }} {{ push .data.list "d" | len }} {{ prepend .data.list "z" | join "" }}`,
			"acbcab cba abcd 4 zabc"},
		{`{{ concat .data.list (list 1) | join "" }} {{ slice .data.list 1 2 | join "" }} {{ slice .data.list 1 | join "" }} {{ chunk 2 .data.list | toJson }} {{ tuple 1 2 | len }} {{ compact (list 0 1 "") | join "" }}`,
			`abc1 b bc [["a","b"],["c"]] 2 1`},
		{`{{ uniq (list 1 1 2) | join "" }} {{ without .data.list "a" "b" | join "" }} {{ has "b" .data.list }} {{ has 1 nil }} {{ sortAlpha (list "b" "a") | join "" }}`, "12 c true false ab"},
		{`{{ mustFirst .data.list }}{{ mustHas "z" .data.list }}{{ mustUniq (list 1 1) | len }}{{ mustToJson 1 }}{{ mustRegexMatch "a" "b" }}`, "afalse11false"},
		{`{{ set (dict "a" 1) "b" 2 | toJson }} {{ unset (dict "a" 1 "b" 2) "a" | toJson }} {{ merge (dict "a" 1) (dict "a" 2 "b" 3) | toJson }} {{ mergeOverwrite (dict "a" 1) (dict "a" 2) | toJson }}`,
			`{"a":1,"b":2} {"b":2} {"a":1,"b":3} {"a":2}`},
		{`{{ $c := deepCopy .data.nested }}{{ $_ := set $c "port" 1 }}{{ $c.port }} {{ .data.nested.port }} {{ lookup "data.nested.port" }}`, "1 80 80"},
		{`{{ $_ := set .data "port" 1 }}{{ .data.port }} {{ .Data.port }} {{ lookup "data.port" }}`, "1 1 8080"},
		{`{{ $x := lookup "data.nested" }}{{ $_ := merge $x (dict "new" 5) }}{{ $x.new }} {{ hasKey .data.nested "new" }}`, "5 false"},
		{`{{ regexMatch "^w" .data.name }} {{ regexFind "[a-b]+" .data.name }} {{ regexFindAll "e|b" .data.name -1 | join "," }} {{ regexSplit "e" .data.name -1 | join "," }}`,
			"true b e,b w,b"},
		{`{{ regexReplaceAll "(w)e" .data.name "<$1>" }} {{ regexReplaceAllLiteral "(w)e" .data.name "$1" }} {{ regexQuoteMeta "a.b" }}`, `<w>b $1b a\.b`},
		{`{{ semver "1.2.3" }} {{ (semver "v1.2.3").Minor }} {{ semverCompare ">=1.2" "1.10.0" }} {{ .facts.host.info.platformVersion | semverCompare "^12" }}`, "1.2.3 2 true true"},
		{`{{ (urlParse "http://u@h:1/p?q#f").host }} {{ urlJoin (dict "scheme" "https" "host" "h" "path" "/p") }}`, "h:1 https://h/p"},
		{`{{ date "2006-01-02 15:04 MST" 0 }} {{ htmlDate 86400 }} {{ dateInZone "15:04" 0 "UTC" }} {{ date_in_zone "15" 3600 "Local" }} {{ htmlDateInZone 0 "UTC" }}`,
			"1970-01-01 00:00 UTC 1970-01-02 00:00 01 1970-01-01"},
		{`{{ toDate "2006-01-02" "2026-03-04" | dateModify "-24h" | date "2006-01-02" }} {{ toDate "2006" "1970" | unixEpoch }} {{ duration 95 }} {{ duration "95" }} {{ durationRound "26h" }} {{ durationRound 7200000000000 }}`,
			"2026-03-03 0 1m35s 1m35s 1d 2h"},
		{`{{ toDate "2006" "2026" }} {{ (toDate "2006" "2026").Year }} {{ (toDate "2006" "2026").Month }}`, "2026-01-01T00:00:00Z 2026 1"},
		{`{{ env "HOME" }} [{{ env "nope" }}] {{ expandenv "$HOME/${LANG}$nope" }}`, "/root [] /root/C"},
		{`{{ decryptAES "key" "M0hQAA5WBa5oR0FOKkeU/ybMcHzVAsiW84FA7WjYUq4=" }} {{ mod (adler32sum "web1") 60 }}`, "text 16"},
		{`{{ if lt 0 (now | unixEpoch | int) }}now{{ end }} {{ ago 0 | hasSuffix "s" }} {{ lt 2020 now.Year }}`, "now true true"},
		{`{{ print 1 "a" }}{{ println "b" }}{{ printf "%05.1f|%-3s|%q" 1.5 "a" "b" }} {{ html "<" }} {{ js "'" }} {{ urlquery "a b" }}`, "1ab\n001.5|a  |\"b\" &lt; \\' a+b"},
		{`{{ printf "%[1]s%[1]s %*d" "a" 3 4 }}`, "aa   4"},
	}
}

func TestSprig(t *testing.T) {
	env := templatetest.Host(nil)
	for _, c := range sprigCases() {
		t.Run(c.source, func(t *testing.T) {
			got, err := templatetest.RenderGo(t, c.source, env)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	require.Equal(t, templatetest.Host(nil).Data, env.Data, "the data of the host is as it was")
}

// TestSprigDefaults checks that keys may be missing only if they have a default.
func TestSprigDefaults(t *testing.T) {
	env := templatetest.Host(nil)
	for _, c := range []errorCase{
		{`{{ .data.x | default "d" }}`, "d"},
		{`{{ .Facts.a.b.c | default "d" }}`, "d"},
		{`{{ .data.name.x | default "d" }}`, "d"},
		{`{{ .data.name | default "d" }} {{ .data.empty | default "d" }}`, "web d"},
		{`{{ default "d" .data.a.b }} {{ default "d" $.data.a.b }}`, "d d"},
		{`{{ .data.a | default .data.b | default "z" }}`, "z"},
		{`{{ coalesce .data.a .data.b "c" }} {{ empty .data.a.b }} {{ or .data.a .data.b "c" }}`, "c true c"},
		{`{{ range .data.users }}{{ .nope | default .name }}{{ end }}`, "annbob"},
		{`{{ (lookup "data.nested").nope | default 3 }} {{ $n := .data.nested }}{{ $n.nope.x | default 4 }}`, "3 4"},
		{`{{ if .data.x | default false }}{{ end }}{{ with .data.x | default "w" }}{{ . }}{{ end }}`, "w"},
		{`{{ $v := .data.x | default "v" }}{{ $v }} {{ printf "%s" (.data.x | default "p") }}`, "v p"},
		{`{{ now.Year | default 1 | lt 2020 }}`, "true"},
	} {
		t.Run(c.source, func(t *testing.T) {
			got, err := templatetest.RenderGo(t, c.source, env)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func sprigErrorCases() []errorCase {
	const at = "motd.tmpl:1:4: "
	long := func(name string) string { return at + name + ": the text grows beyond 16 MiB" }
	return []errorCase{
		{`{{ .dat.x | default "d" }}`, at + "missing key \"dat\" in .dat\n  hint: did you mean \"data\"?"},
		{`{{ .Item.x | default "d" }}`, at + ".Item is not available here"},
		{`{{ or .data.a .data.b }}`, "motd.tmpl:1:20: missing key \"b\" in .data.b\n  hint: give a default: .data.b | default \"…\""},
		{`{{ .data.a | default .data.b }}`, "motd.tmpl:1:27: missing key \"b\" in .data.b\n  hint: give a default: .data.b | default \"…\""},
		{`{{ .data.x | upper | default "d" }}`, "motd.tmpl:1:9: missing key \"x\" in .data.x\n  hint: give a default: .data.x | default \"…\""},
		{`{{ coalesce .data.a .data.b }}`, at + "nil in a text\n  hint: test it with \"if\", or give a default with \"or\""},
		{"a\n{{ \"x\" | repeat }}", `motd.tmpl:2:10: "repeat" takes 2 arguments, not 1`},
		{`{{ upper }}`, at + `"upper" takes 1 argument, not 0`},
		{`{{ default }}`, at + `"default" takes 1 or 2 arguments, not 0`},
		{`{{ mul }}`, at + `"mul" takes 1 argument or more, not 0`},
		{`{{ eq 1 }}`, at + `"eq" takes 2 arguments or more, not 1`},
		{`{{ list upper }}`, `motd.tmpl:1:9: "upper" takes 1 argument, not 0`},
		{`{{ upper .data.list }}`, at + "upper: argument 1 must be a text, not a list"},
		{`{{ upper .data.nothing }}`, at + "upper: argument 1 must be a text, not nil"},
		{`{{ repeat .data.name "x" }}`, at + "repeat: argument 1 must be an integer, not a string"},
		{`{{ first .data.name }}`, at + "first: argument 1 must be a list, not a string"},
		{`{{ keys .data.list }}`, at + "keys: argument 1 must be a map, not a list"},
		{`{{ ternary 1 2 .data.name }}`, at + "ternary: argument 3 must be a boolean, not a string"},
		{`{{ add 1 .data.list }}`, at + "add: argument 2 must be a number, not a list"},
		{`{{ date "2006" .data.secret }}`, at + "date: argument 2 must be a time, or seconds since 1970, not a string"},
		{`{{ join "," (list .data.list) }}`, at + "join: element 0 is a list"},
		{`{{ quote .data.list }}`, at + "quote: argument 1 must be a text, not a list\n  hint: \"toJson\" writes lists and maps"},
		{`{{ has 1 .data.secret }}`, at + "has: argument 2 must be a list, not a string"},
		{`{{ dig "name" "x" "d" .data }}`, at + "dig: key 2 is looked up in a string, not in a map"},
		{`{{ dig .data.list "d" .data }}`, at + "dig: argument 1, a key, must be a text, not a list"},
		{`{{ dict .data.list 1 }}`, at + "dict: argument 1, a key, must be a text, not a list"},
		{`{{ dict "a" 1 }}`, at + "a map in a text\n  hint: use \"range\", \"join\" or \"toJson\""},
		{`{{ substr 5 9 .data.name }}`, at + `"substr" cannot be called with these values`},
		{`{{ chunk 0 .data.list }}`, at + `"chunk" cannot be called with these values`},
		{`{{ semver .data.secret }}`, at + `"semver" cannot be called with these values`},
		{`{{ urlParse (print "http://[" .data.secret) }}`, at + `"urlParse" cannot be called with these values`},
		{`{{ b64dec .data.secret }}`, at + "b64dec: the text is not base64"},
		{`{{ b32dec .data.secret }}`, at + "b32dec: the text is not base32"},
		{`{{ fromJson .data.secret }}`, at + "fromJson: the text is not one JSON value"},
		{`{{ toDate "2006" .data.secret }}`, at + "toDate: the text is not a date of this layout\n  hint: a layout shows 2006-01-02 15:04:05"},
		{`{{ dateModify .data.secret now }}`, at + "dateModify: the text is not a duration\n  hint: write it as in -1h30m"},
		{`{{ dateInZone "2006" now "../../etc/passwd" }}`, at + "dateInZone: unknown time zone\n  hint: write it as in Europe/Paris, or UTC"},
		{`{{ dateInZone "2006" now "No/Where" }}`, at + "dateInZone: unknown time zone\n  hint: write it as in Europe/Paris, or UTC"},
		{`{{ regexMatch "(" .data.name }}`, at + "regexMatch: the pattern is not a regular expression\n  hint: use the RE2 syntax"},
		{`{{ regexMatch (repeat 1025 "x") "x" }}`, at + "regexMatch: a pattern of more than 1024 bytes"},
		{`{{ regexFind (repeat 140 "x{1000}") (repeat 9000 "x") }}`, at + "regexFind: the text is too long for this pattern"},
		{`{{ div 1 0 }}`, at + "div: division by zero"},
		{`{{ mod 1 "x" }}`, at + "mod: division by zero"},
		{`{{ divf 1 0 }}`, at + "divf: division by zero"},
		{`{{ fail "set data.port" }}`, at + "set data.port"},
		{`{{ lookup .data.secret }}`, at + "lookup: the computed path has no value\n  hint: give a default: lookup … \"…\""},
		{`{{ fail .data.secret }}`, at + "the template stopped with \"fail\"\n  hint: ccm-push does not print the text, because it is computed and may contain secrets; write the text as a literal"},
		{`{{ set .data "x" .data }}`, at + "set: a map cannot hold itself\n  hint: set a copy: deepCopy"},
		{`{{ $d := dict }}{{ set $d "x" (list (dict "y" $d)) }}`, "motd.tmpl:1:20: set: a map cannot hold itself\n  hint: set a copy: deepCopy"},
		{`{{ repeat 99999999999 "ab" }}`, long("repeat")},
		{`{{ repeat -1 "ab" }}`, at + "repeat: the number of times must not be negative"},
		{`{{ indent 9999999999 "a" }}`, long("indent")},
		{`{{ nindent 9000000 "a\nb" }}`, long("nindent")},
		{`{{ replace "" (repeat 9000000 "x") "abc" }}`, long("replace")},
		{`{{ wrapWith 1 (repeat 9000000 "x") "abc" }}`, long("wrapWith")},
		{`{{ join (repeat 9000000 "x") (list 1 2 3) }}`, long("join")},
		{`{{ $x := repeat 9000000 "x" }}{{ cat $x $x }}`, "motd.tmpl:1:34: cat: the text grows beyond 16 MiB"},
		{`{{ $x := repeat 9000000 "x" }}{{ print $x $x }}`, "motd.tmpl:1:34: print: the text grows beyond 16 MiB"},
		{`{{ $x := repeat 9000000 "x" }}{{ list $x $x | toJson }}`, "motd.tmpl:1:47: toJson: the text grows beyond 16 MiB"},
		{`{{ b64enc (repeat 16000000 "x") }}`, long("b64enc")},
		{`{{ printf "%99999999d" 1 }}`, long("printf")},
		{`{{ printf "%*d" 99999999 1 }}`, long("printf")},
		{`{{ printf "%[1]s%[1]s" (repeat 9000000 "x") }}`, long("printf")},
		{`{{ regexReplaceAll "x" (repeat 100000 "x") (repeat 1000 "y") }}`, long("regexReplaceAll")},
		{`{{ regexReplaceAll "(.*)" (repeat 100000 "x") (repeat 1000 "$1") }}`, long("regexReplaceAll")},
		{`{{ until 99999999 }}`, at + "until: more than 1048576 elements"},
		{`{{ untilStep -9999999999 9999999999 1 }}`, at + "untilStep: more than 1048576 elements"},
		{`{{ untilStep 0 9223372036854775807 9223372036854775806 }}`, at + "untilStep: a number is beyond 2305843009213693951"},
		{`{{ seq 9999999 }}`, at + "seq: more than 1048576 elements"},
		{`{{ seq 1 2 3 4 }}`, at + `"seq" takes at most 3 arguments, not 4`},
		{`{{ splitList "" (repeat 2000000 "x") }}`, at + "splitList: more than 1048576 elements"},
		{`{{ regexFindAll "x" (repeat 2000000 "x") -1 }}`, at + "regexFindAll: more than 1048576 elements"},
		{`{{ semverCompare (repeat 2000 "1") "1" }}`, at + "semverCompare: argument 1 is longer than 1024 bytes"},
		{`{{ $x := "x" }}{{ range 40 }}{{ $x = print $x $x }}{{ end }}`, "motd.tmpl:1:38: print: the text grows beyond 16 MiB"},
		{`{{ $l := list 1 }}{{ range 40 }}{{ $l = concat $l $l }}{{ end }}`, "motd.tmpl:1:41: rendering did not end within 20000000 steps\n  hint: look for a loop that does not end"},
		{`{{ $l := list 1 }}{{ range 60 }}{{ $l = list $l $l }}{{ end }}{{ toJson $l }}`, "motd.tmpl:1:66: toJson: the text grows beyond 16 MiB"},
		{`{{ $l := list 1 }}{{ range 2000 }}{{ $l = list $l }}{{ end }}{{ print $l }}`, "motd.tmpl:1:65: print: the value is nested more than 1000 levels deep"},
		{`{{ $l := until 9000 }}{{ uniq $l }}`, "motd.tmpl:1:26: rendering did not end within 20000000 steps\n  hint: look for a loop that does not end"},
		{`{{ file (get .facts "os") }}`, at + "file: data from a host cannot choose which file ccm-push reads\n  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""},
		{`{{ print (file (dig "a" "b" "c" .facts)) }}`, "motd.tmpl:1:11: file: data from a host cannot choose which file ccm-push reads\n  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""},
	}
}

func TestSprigErrors(t *testing.T) {
	env := templatetest.Host(nil)
	for _, c := range sprigErrorCases() {
		t.Run(c.source[:min(len(c.source), 60)], func(t *testing.T) {
			got, err := templatetest.RenderGo(t, c.source, env)
			require.Equal(t, c.want, templatetest.ErrorText(err))
			require.Empty(t, got)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}
