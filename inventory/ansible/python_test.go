package ansible

import (
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// randomTexts puts pieces of text together that mean something in a grammar.
func randomTexts(seed uint64, count int, pieces []string) []string {
	r := rand.New(rand.NewPCG(seed, 1))
	texts := make([]string, count)
	for i := range texts {
		var b strings.Builder
		for range 1 + r.IntN(7) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		texts[i] = b.String()
	}
	return texts
}

// askPython runs program with texts as JSON on its standard input; it prints one
// JSON value for each.
func askPython(t *testing.T, program string, texts []string) []json.RawMessage {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("NOT TESTED: there is no python3 to compare with")
	}
	in, err := json.Marshal(texts)
	require.NoError(t, err)
	cmd := exec.Command(python, "-W", "ignore", "-c", program)
	cmd.Stdin = strings.NewReader(string(in))
	out, err := cmd.Output()
	require.NoError(t, err)
	var answers []json.RawMessage
	require.NoError(t, json.Unmarshal(out, &answers))
	require.Len(t, answers, len(texts))
	return answers
}
