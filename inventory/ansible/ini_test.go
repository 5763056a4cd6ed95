package ansible

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

const sample = "\ufefflonely  a=1 b='x y' # c\n\n[web:hosts] # d\nw[1:2]:22\n; e\n  h x=p#q\n[db:children]\npg # f\n[db:vars]\n a = [1, 2]\n[pg]\n"

// show writes a line, with positions.
func show(l INILine) string {
	text := fmt.Sprint([]string{"hosts", "children", "vars", "host", "child", "variables"}[l.Kind])
	if l.Name != nil {
		text += fmt.Sprintf(" %s %s", l.Name.Pos(), l.Name.Text)
	}
	if l.Vars != nil {
		for _, p := range l.Vars.Pairs {
			text += fmt.Sprintf(" %s %s=%v", p.Value.Pos(), p.Key.Text, p.Value.Any())
		}
	}
	if l.Cut != nil {
		text += " cut " + l.Cut.Pos()
	}
	return text
}

func TestINILines(t *testing.T) {
	var got []string
	for l, err := range INILines("f", []byte(sample)) {
		require.NoError(t, err)
		got = append(got, show(l))
	}
	require.Equal(t, []string{
		"host f:1:1 lonely f:1:11 a=1 f:1:15 b=x y",
		"hosts f:3:2 web",
		"host f:4:1 w[1:2]:22",
		"host f:6:3 h f:6:7 x=p cut f:6:8",
		"children f:7:2 db",
		"child f:8:1 pg",
		"vars f:9:2 db",
		"variables f:10:6 a=[1 2]",
		"hosts f:11:2 pg",
	}, got)
}

// TestINILinesAfterErrors checks that a section with a bad header is skipped and the next section is read.
func TestINILinesAfterErrors(t *testing.T) {
	var got []string
	for l, err := range INILines("f", []byte("[a b]\nh\n[web;]\nh\n[x:y]\nh\nzz\n[ok]\nh 'x\nh\n")) {
		if err != nil {
			got = append(got, strings.SplitN(err.Error(), "\n", 2)[0])
			continue
		}
		got = append(got, show(l))
	}
	require.Equal(t, []string{
		`f:1:1: "[a b]" is not a section`,
		`f:3:2: "web;" cannot be a group name`,
		`f:5:4: section "y" is unknown`,
		"hosts f:8:2 ok",
		"f:9:1: a quote is opened and not closed",
		"host f:10:1 h",
	}, got)
}

func TestINILinesOfALargeFile(t *testing.T) {
	for _, err := range INILines("f", make([]byte, maxINIBytes+1)) {
		require.EqualError(t, err, "f: larger than 16 MiB")
	}
}

// FuzzINILines checks that each line fits its section, and that positions are within the text.
func FuzzINILines(f *testing.F) {
	f.Add(sample)
	for _, text := range []string{"[a b]\nh\n", "[x:y]\n", "a x='1\n", "a x=\\\n", "h x=\x1b[2J\n", "[a]\n[a:vars]\n = x\n", "[a:children]\nb c\n", "[web\n", "''\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		section := HostsSection
		for l, err := range INILines("f", []byte(text)) {
			if err != nil {
				require.IsType(t, &yamlpos.Error{}, err)
				continue
			}
			at := l.Name
			switch l.Kind {
			case HostsSection, ChildrenSection, VarsSection:
				section = l.Kind
			case HostLine:
				require.Equal(t, HostsSection, section)
			case ChildLine:
				require.Equal(t, ChildrenSection, section)
			case VarLine:
				require.Equal(t, VarsSection, section)
				require.Len(t, l.Vars.Pairs, 1)
				at = l.Vars.Pairs[0].Key
			}
			require.True(t, at.Line >= 1 && at.Line <= len(lines) && at.Column >= 1 && at.Column <= len(lines[at.Line-1])+1, at.Pos())
			require.True(t, at.Text != "" || l.Kind == HostLine, "a name that is empty")
		}
	})
}

const wordsProgram = `
import json, shlex, sys
def answer(s):
    try:
        return shlex.split(s, comments=True)
    except ValueError:
        return None
print(json.dumps([answer(s) for s in json.load(sys.stdin)]))
`

func TestWordsAreThoseOfPython(t *testing.T) {
	texts := randomTexts(2, 20_000, []string{"a", "bc", " ", "\t", "'", `"`, "\\", "#", "=", "x=1", "é", "'q r'", `"s\"t"`, `\ `})
	for i, answer := range askPython(t, wordsProgram, texts) {
		var want []string
		require.NoError(t, json.Unmarshal(answer, &want))
		words, _, problem := SplitWords(texts[i])
		require.Equal(t, string(answer) == "null", problem != "", "%q", texts[i])
		var got []string
		for _, w := range words {
			got = append(got, w.Text)
		}
		require.ElementsMatch(t, want, got, "%q", texts[i])
	}
}
