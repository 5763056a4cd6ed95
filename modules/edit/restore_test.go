package edit

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// becomes is an edit that makes a text of any other.
func becomes(text string) func(*Text) (Done, error) {
	return func(t *Text) (Done, error) {
		*t = *Parse(text)
		return Done{Action: "made it so"}, nil
	}
}

// reversalOf is the reversal of a change from before to after.
func reversalOf(t *testing.T, before, after string, kept *Restore) (*Restore, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, []byte(before), 0o600))
	f := &File{Path: path, Edit: becomes(after)}
	r, err := f.reversal(modules.ReadOnly(modtest.Host()), kept)
	if err != nil {
		err = fmt.Errorf("%s", strings.ReplaceAll(err.Error(), path, "/f"))
	}
	return r, err
}

func TestRestore(t *testing.T) {
	for _, test := range []struct {
		name, before, after string
		now                 string // text after the changes of others
		want                string // or the error
	}{
		{"nothing since", "a\nb\n", "a\nx\nb\n", "a\nx\nb\n", "a\nb\n"},
		{"it is back already", "a\nb\n", "a\nx\nb\n", "a\nb\n", "a\nb\n"},
		{"an added line, in a file that is another one", "a\nb\n", "a\nx\nb\n", "one\ntwo\nx\n", "one\ntwo\n"},
		{"a changed line, likewise", "a\ny\nb\n", "a\nx\nb\n", "one\nx\n", "one\ny\n"},
		{"a removed line comes below the one that was above it", "a\ny\nb\n", "a\nb\n", "a\nc\n", "a\ny\nc\n"},
		{"a removed line of which the neighbours have gone", "a\ny\nb\n", "a\nb\n", "c\n", "the file /f cannot be restored, because the lines that the run changed were changed again later"},
		{"a changed line that has been changed", "a\ny\nb\n", "a\nx\nb\n", "a\nz\nb\n", "the file /f cannot be restored, because the lines that the run changed were changed again later"},
		{"one of several equal lines", "x\na\nx\nb\n", "x\na\nx\nb\nx\n", "x\na\nx\nb\nx\nc\n", "x\na\nx\nb\nc\n"},
		{"in two places", "a\n1\n2\n3\n4\nb\n", "A\n1\n2\n3\n4\nB\n", "A\n1\nhis\n4\nB\n", "a\n1\nhis\n4\nb\n"},
		{"no line end", "a", "a\nx", "a\nx", "a"},
		{"line ends of Windows", "a\r\n", "a\r\nx\r\n", "a\r\nx\r\nhis\r\n", "a\r\nhis\r\n"},
		{"all of it", "a\nb\n", "", "", "a\nb\n"},
		{"all of it, and somebody has written another one", "a\nb\n", "", "his\n", "the file /f cannot be restored, because the lines that the run changed were changed again later"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := reversalOf(t, test.before, test.after, nil)
			require.NoError(t, err)
			got, _, err := r.on("/f", test.now)
			if err != nil {
				got = strings.ReplaceAll(err.Error(), "\n", "")
			}
			require.Equal(t, test.want, got)
		})
	}
}

func TestNoReversal(t *testing.T) {
	large := strings.Repeat("a long line of a file\n", 4000)
	for _, test := range []struct{ name, before, after, err string }{
		{"no UTF-8", "a\xff\n", "b\n", "the changed lines of /f are not UTF-8, so they cannot be kept"},
		{"too much", large, "b\n", "the changed lines of the file /f are larger than 64 KiB, so the host cannot store them"},
		{"in the midst of equal lines", strings.Repeat("x\n", 100) + "y\n" + strings.Repeat("x\n", 100), strings.Repeat("x\n", 200),
			"the file /f has too many equal lines, so the place of the changed lines cannot be recorded"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := reversalOf(t, test.before, test.after, nil)
			require.EqualError(t, err, test.err)
		})
	}
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Chmod(path, 0o644|fs.ModeSetuid))
	_, err := (&File{Path: path}).Reversal(modules.ReadOnly(modtest.Host()), nil)
	require.EqualError(t, err, path+" has mode 4644: a change would keep only the bits 0777")
}

// TestRestoreOfAFileThatWasNotThere removes the file, unless another program has written in it.
func TestRestoreOfAFileThatWasNotThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	h := modtest.Host()
	f := &File{Path: path, Edit: becomes("x\n"), Create: true}
	r, err := f.reversal(modules.ReadOnly(h), nil)
	require.NoError(t, err)
	back := &File{Path: path, Restore: r}
	for _, now := range []string{"x\n", "x\nhis\n"} {
		require.NoError(t, os.WriteFile(path, []byte(now), 0o600))
		plan, err := back.Check(t.Context(), modules.ReadOnly(h))
		require.NoError(t, err)
		require.Equal(t, "put the earlier text back", plan.Action)
		require.NoError(t, back.Apply(t.Context(), h, plan))
		plan, err = back.Check(t.Context(), modules.ReadOnly(h))
		require.NoError(t, err)
		require.Equal(t, modules.Plan{}, plan)
		if now == "x\n" {
			require.NoFileExists(t, path)
		}
	}
	left, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "his\n", string(left))

	gone := &File{Path: path + "2", Restore: &Restore{Patches: r.Patches}}
	_, err = gone.Check(t.Context(), modules.ReadOnly(h))
	require.EqualError(t, err, path+"2 is not there (the removed text cannot be put back)")
}

// TestRestoreAtRandom changes texts several times: the stored restore brings back the first text, from each
// intermediate one, and keeps the changes of others above and below.
func TestRestoreAtRandom(t *testing.T) {
	text := func(g *rand.Rand) string {
		var b strings.Builder
		for range g.IntN(6) {
			b.WriteString([]string{"a", "b", "x", ""}[g.IntN(4)] + "\n")
		}
		if g.IntN(4) == 0 {
			b.WriteString("end")
		}
		return b.String()
	}
	made, mended, seeds := 0, 0, uint64(3000)
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		g := rand.New(rand.NewPCG(seed, 0))
		first := text(g)
		now := first
		var kept *Restore
		for range 3 {
			next := text(g)
			r, err := reversalOf(t, now, next, kept)
			if err != nil {
				kept = nil
				break
			}
			if r != nil {
				kept = r
			}
			back, _, err := kept.on("/f", now)
			require.NoError(t, err, "%d", seed)
			require.Equal(t, first, back, "%d", seed)
			now = next
		}
		if kept == nil {
			continue
		}
		made++
		for _, text := range []string{now, first, "his\nhis\n" + now} {
			back, _, err := kept.on("/f", text)
			if strings.HasPrefix(text, "his") && (err != nil || back == text) { // nothing is guessed
				continue
			}
			require.NoError(t, err, "%d", seed)
			require.Equal(t, first, strings.ReplaceAll(back, "his\n", ""), "%d", seed)
			require.Equal(t, strings.Count(text, "his\n"), strings.Count(back, "his\n"), "%d", seed)
			mended++
		}
	}
	require.Greater(t, made, int(seeds)/2)
	require.Greater(t, mended, int(seeds))
}

// TestRestoreAfterForeignEdits changes a randomly edited text at random. A restored text, or one reported as unchanged,
// contains nothing of the edit; otherwise the rest is reported.
func TestRestoreAfterForeignEdits(t *testing.T) {
	seeds, fits, stable, refused, warned := uint64(20000), 0, 0, 0, 0
	if testing.Short() {
		seeds /= 5
	}
	for seed := range seeds {
		g := rand.New(rand.NewPCG(seed, 1))
		line := func(who string) string {
			words := make([]string, 1+g.IntN(3))
			for i := range words {
				words[i] = fmt.Sprintf("%s%d", who, g.IntN(4))
			}
			if g.IntN(3) == 0 {
				words[0] = "same" // a word that all lines may have
			}
			return strings.Join(words, " ") + "\n"
		}
		text := func(lines []string) string { return strings.Join(lines, "") }
		var before []string
		for range g.IntN(5) {
			before = append(before, line("base"))
		}
		after := slices.Clone(before)
		for range 1 + g.IntN(2) {
			at := g.IntN(len(after) + 1)
			end := min(len(after), at+g.IntN(2))
			var put []string
			for range g.IntN(4) {
				put = append(put, line("ours"))
			}
			after = slices.Replace(after, at, end, put...)
		}
		r, err := reversalOf(t, text(before), text(after), nil)
		if err != nil {
			continue
		}
		now := slices.Clone(after)
		for range g.IntN(5) {
			at, other := g.IntN(len(now)+1), g.IntN(len(now)+1)
			switch what := g.IntN(7); {
			case what == 0:
				now = slices.Insert(now, at, line("his"))
			case at == len(now) || other == len(now):
			case what == 1:
				now = slices.Delete(now, at, at+1)
			case what == 2:
				now[at] = strings.TrimSuffix(now[at], "\n") + "x his\n"
			case what == 3:
				now[at] = "#" + now[at]
			case what == 4:
				now[at], now[other] = now[other], now[at]
			case what == 5:
				now = slices.Insert(now, at, now[other])
			case what == 6:
				now[at] = strings.Replace(now[at], " ", " his ", 1)
			}
		}
		noted, err := json.Marshal(r)
		require.NoError(t, err)
		r = &Restore{}
		require.NoError(t, json.Unmarshal(noted, r))
		left := Parse(text(now))
		done, err := r.edit("/f", left)
		switch {
		case err != nil:
			refused++
			continue
		case done.Warning != "":
			warned++
			continue
		case done.Action == "":
			stable++
		default:
			fits++
		}
		require.NotContains(t, left.String(), "ours", "seed %d: %q -> %q -> %q", seed, text(before), text(after), text(now))
	}
	t.Logf("%d put back, %d as before, %d refused, %d with a warning", fits, stable, refused, warned)
	require.Greater(t, fits, int(seeds)/10)
	require.Greater(t, stable, 10)
	require.Greater(t, refused, int(seeds)/10)
}

// TestRestoreOfInsertions uses changes of others in the inserted lines.
func TestRestoreOfInsertions(t *testing.T) {
	changed := "the file /f cannot be restored, because the lines that the run changed were changed again later"
	for _, test := range []struct{ name, before, after, now, want string }{
		{"a block", "base\n", "base\n# BEGIN h\nx\ny\n# END h\n", "base\n# BEGIN h\nx\ny hand\n# END h\n", changed},
		{"a second line that is the same", "base\n", "base\nadded\n", "added\nbase\nadded\n", changed},
		{"a comment", "", "ssh-ed25519 AAAA bob\n", "ssh-ed25519 AAAA bob@home\n", changed},
		{"a value", "", "[A]\nk = v\n", "[A]\nk = w\n", changed},
		{"removed by hand", "base\n", "base\nadded\n", "base\n", "base\n"},
		{"removed by hand, and another change", "base\n", "base\nadded\n", "his\nbase\n", "his\nbase\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := reversalOf(t, test.before, test.after, nil)
			require.NoError(t, err)
			got, _, err := r.on("/f", test.now)
			if err != nil {
				got = err.Error()
			}
			require.Equal(t, test.want, got)
		})
	}
}
