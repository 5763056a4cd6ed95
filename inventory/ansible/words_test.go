package ansible

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

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
