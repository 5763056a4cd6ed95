package line

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/edit"
)

func pick(g *rand.Rand, from ...string) string { return from[g.IntN(len(from))] }

func randomFile(g *rand.Rand) string {
	var b strings.Builder
	ending := pick(g, "\n", "\n", "\r\n")
	for range g.IntN(8) {
		b.WriteString(pick(g, "", "a", "b", "x", "x1", "#x", "#x", " x", "a\r", "BEGIN", "END"))
		if g.IntN(10) == 0 {
			ending = pick(g, "\n", "\r\n")
		}
		b.WriteString(ending)
	}
	file := b.String()
	return strings.TrimSuffix(file, pick(g, "", "", "\n", "\r\n"))
}

func expression(g *rand.Rand) string {
	return pick(g, "", "", "^x", "^#?x", "^#x", "x$", "^$", ".", "\\r", "^a?$", "EOF", "BOF", "nowhere", "BEGIN|^a")
}

func randomLine(g *rand.Rand) Line {
	l := Line{Ensure: pick(g, present, present, absent), After: expression(g)}
	if g.IntN(3) == 0 {
		l.After, l.Before = "", expression(g)
	}
	if g.IntN(3) == 0 {
		l.Block, l.Marker = pick(g, "x", "\n", "a\n\nb\n", "#x\n"), "{mark}"
		return l
	}
	l.Line, l.Regexp = pick(g, "x", "a", "#x", " x", "BEGIN"), expression(g)
	return l
}

// TestStable uses random lines in random files: a second run never has anything to do, and a run removes no more than
// it reports.
func TestStable(t *testing.T) {
	changed := 0
	seeds := uint64(50_000)
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		g := rand.New(rand.NewPCG(seed, 0))
		l, file := randomLine(g), randomFile(g)
		after := edit.Parse(file)
		require.Equal(t, file, after.String(), "nothing has been done yet")
		done, err := l.edit(after)
		if err != nil {
			require.True(t, l.hasBlock(), err)
			continue
		}
		if done.Action == "" {
			require.Equal(t, file, after.String(), "%+v on %q", l, file)
			continue
		}
		changed++
		requireKept(t, l, done, file, after.String())
		requireStable(t, l, after.String())
	}
	require.Greater(t, changed, int(seeds)/5*2)
}

// requireKept checks that all other lines are unchanged.
func requireKept(t *testing.T, l Line, done edit.Done, before, after string) {
	t.Helper()
	have, want := edit.Parse(before), edit.Parse(after)
	switch {
	case l.Ensure == absent:
		have, want = want, have // the remaining lines existed before
	case done.Action == "replaced the line":
		require.Len(t, want.Lines, len(have.Lines))
		return
	case done.Action == "updated the block":
		return
	}
	i := 0
	for _, line := range want.Lines {
		if i < len(have.Lines) && have.Lines[i].Text == line.Text {
			i++
		}
	}
	require.Equal(t, len(have.Lines), i, "%+v made %q of %q", l, after, before)
}

// FuzzEdit uses any line in any file.
func FuzzEdit(f *testing.F) {
	for _, e := range edits {
		f.Add(e.have, e.line.Ensure, e.line.Line, e.line.Regexp, e.line.Block, e.line.Marker, e.line.After, e.line.Before)
	}
	f.Fuzz(func(t *testing.T, file, ensure, line, regexp, block, marker, after, before string) {
		l := Line{Name: "/f", Ensure: ensure, Line: line, Regexp: regexp, Block: block, Marker: marker, After: after, Before: before}
		if l.Validate() != nil || strings.ContainsRune(file, 0) {
			return
		}
		have := edit.Parse(file)
		require.Equal(t, file, have.String())
		if _, err := l.edit(have); err != nil {
			require.True(t, l.hasBlock(), err)
			return
		}
		requireStable(t, l, have.String())
	})
}
