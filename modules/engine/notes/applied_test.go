package notes

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// shelf is a store in memory that counts operations.
type shelf struct {
	text   []byte
	reads  int
	writes int
	err    error
}

func (s *shelf) Read() ([]byte, error)     { s.reads++; return s.text, s.err }
func (s *shelf) MayWrite() error           { return nil }
func (s *shelf) SetAside() (string, error) { return "", nil }
func (s *shelf) Replace(text []byte) error { s.writes++; s.text = text; return nil }

// asking returns a catalog of files: each text is a name and a desired value, such as "a=1".
func asking(texts ...string) *wire.Catalog {
	cat := &wire.Catalog{Lock: &wire.Lock{}}
	for _, text := range texts {
		name, with, _ := strings.Cut(text, "=")
		cat.Entries = append(cat.Entries, wire.Entry{Type: "file", Name: name, Properties: json.RawMessage(`{"is":"` + with + `"}`)})
	}
	return cat
}

// leave runs a catalog that leaves all resources in their desired states. With change it changes resources that are not
// recorded.
func leave(t *testing.T, s *shelf, cat *wire.Catalog, change bool) (drifted []bool) {
	t.Helper()
	a := NewApplied(s, cat)
	require.NoError(t, a.Open())
	for i := range cat.Entries {
		e := &cat.Entries[i]
		known := a.LeftSo(e, e.Properties)
		drifted = append(drifted, known)
		if change && !known {
			require.NoError(t, a.Supersede(e, e.Properties))
		}
		a.Left(i, e.Properties)
	}
	require.NoError(t, a.Close())
	return drifted
}

// knows returns the findings of a check run.
func knows(t *testing.T, s *shelf, cat *wire.Catalog) (all []bool) {
	t.Helper()
	writes := s.writes
	cat.Check = true
	all = leave(t, s, cat, true)
	require.Equal(t, writes, s.writes, "a check run writes nothing")
	return all
}

func TestAppliedKnowsWhatWasLeft(t *testing.T) {
	s := &shelf{}
	require.Equal(t, []bool{false, false}, leave(t, s, asking("a=1", "b=1"), true))
	require.Equal(t, []bool{true, true, false}, knows(t, s, asking("a=1", "b=1", "c=1")))
	require.Equal(t, []bool{false, true}, knows(t, s, asking("a=2", "b=1")))
	require.NotContains(t, string(s.text), `"is"`)

	// A resource that was changed for other properties has lost its earlier record.
	leave(t, s, asking("a=2", "b=1"), true)
	require.Equal(t, []bool{false, true}, knows(t, s, asking("a=1", "b=1")))
	require.Equal(t, []bool{true}, knows(t, s, asking("a=2")))
}

// Where nothing is new, nothing is written, and nothing but the first line is parsed.
func TestAppliedWritesWhatIsNew(t *testing.T) {
	s := &shelf{}
	cat := asking("a=1", "b=1")
	leave(t, s, cat, true)
	require.Equal(t, 1, s.writes)
	for range 2 {
		a := NewApplied(s, cat)
		require.NoError(t, a.Open())
		for i := range cat.Entries {
			a.Left(i, cat.Entries[i].Properties)
		}
		require.NoError(t, a.Close())
		require.Nil(t, a.left)
	}
	require.Equal(t, 1, s.writes)

	// One that fails keeps its catalog from being noted as a whole, and is written once.
	more := asking("a=1", "b=1", "fails=1")
	for range 3 {
		a := NewApplied(s, more)
		require.NoError(t, a.Open())
		a.Left(0, more.Entries[0].Properties)
		a.Left(1, more.Entries[1].Properties)
		require.NoError(t, a.Close())
	}
	require.Equal(t, 1, s.writes)
}

// Plays with different desired states of one resource keep each other's records.
func TestAppliedOfSeveralPlays(t *testing.T) {
	s := &shelf{}
	leave(t, s, asking("a=enabled"), true)
	leave(t, s, asking("a=running"), false) // it is so
	writes := s.writes
	for range 2 {
		leave(t, s, asking("a=enabled"), false)
		leave(t, s, asking("a=running"), false)
	}
	require.Equal(t, writes, s.writes)
	require.Equal(t, []bool{true}, knows(t, s, asking("a=enabled")))

	// As do entries of one catalog.
	var lines []string
	for i := range 20 {
		lines = append(lines, fmt.Sprint("hosts=", i))
	}
	leave(t, s, asking(lines...), true)
	writes = s.writes
	require.NotContains(t, leave(t, s, asking(lines...), true), false)
	require.Equal(t, writes, s.writes)
}

// A change of the manifest is recorded before it is made, so that a run that dies leaves no false drift.
func TestAppliedSupersedesBefore(t *testing.T) {
	s := &shelf{}
	leave(t, s, asking("a=1", "b=1", "c=1"), true)
	cat := asking("a=2", "b=2", "c=1")
	a := NewApplied(s, cat)
	require.NoError(t, a.Open())
	require.NoError(t, a.Supersede(&cat.Entries[0], cat.Entries[0].Properties))
	require.NoError(t, a.Supersede(&cat.Entries[1], cat.Entries[1].Properties))
	require.Equal(t, 2, s.writes, "at once for all of the catalog")
	require.Equal(t, []bool{false, false, true}, knows(t, s, asking("a=1", "b=1", "c=1"))) // the run has died

	// A restored resource that is not an entry of the catalog has a record of its own.
	left := wire.Entry{Type: "file", Name: "c", Reversal: true}
	require.NoError(t, a.Supersede(&left, json.RawMessage(`{"is":"0"}`)))
	require.Equal(t, 2, s.writes, "the catalog has it")
	cat = asking("d=1")
	leave(t, s, cat, true)
	a = NewApplied(s, cat)
	require.NoError(t, a.Open())
	require.NoError(t, a.Supersede(&left, json.RawMessage(`{"is":"0"}`)))
	require.Equal(t, []bool{false}, knows(t, s, asking("c=1")))
}

func TestAppliedForgets(t *testing.T) {
	s := &shelf{}
	leave(t, s, asking("first=1"), true)
	var many []string
	for i := range maxLeft - 1 {
		many = append(many, fmt.Sprint(i, "=1"))
	}
	leave(t, s, asking(many...), true)
	require.Equal(t, []bool{true}, knows(t, s, asking("first=1")))
	leave(t, s, asking("last=1"), true)
	require.Equal(t, []bool{false, true, true}, knows(t, s, asking("first=1", "5=1", "last=1")))
	require.Less(t, len(s.text), maxText)
}

// Without the host's lock, nothing is written: other runs may be active.
func TestAppliedWithoutLock(t *testing.T) {
	s := &shelf{}
	cat := asking("a=1")
	cat.Lock = nil
	leave(t, s, cat, true)
	require.Zero(t, s.writes)
	cat.Monitor = true
	leave(t, s, cat, true)
	require.Equal(t, 1, s.reads, "health checks have no use for them")
}

func TestAppliedThatCannotBeRead(t *testing.T) {
	newer := &shelf{text: []byte(`{"format":2,"other":[]}` + "\n")}
	a := NewApplied(newer, asking("a=1"))
	require.EqualError(t, a.Open(), "the records of earlier runs cannot be read, so drift is not reported: a newer ccm-push has written it in format 2, so it is not changed")
	require.NoError(t, a.Open(), "it is said once")
	require.False(t, a.Known())
	a.Left(0, nil)
	require.NoError(t, a.Close())
	require.Zero(t, newer.writes)

	strange := &shelf{err: errors.New("others can write to it")}
	require.ErrorContains(t, NewApplied(strange, asking()).Open(), "others can write to it")

	s := &shelf{}
	leave(t, s, asking("a=1"), true)
	whole := s.text
	for n := range whole {
		cut := &shelf{text: whole[:n]}
		leave(t, cut, asking("a=1"), true)
		require.Equal(t, []bool{true}, knows(t, cut, asking("a=1")), "cut at %d", n)
	}
	for _, text := range []string{"garbage", "{}\n{}\n", `{"format":1,"key":"AA=="}` + "\n", "null\nnull\n"} {
		broken := &shelf{text: []byte(text)}
		require.Equal(t, []bool{false}, leave(t, broken, asking("a=1"), true))
		require.Equal(t, []bool{true}, knows(t, broken, asking("a=1")))
	}
}

// A download has another token in each run.
func TestAppliedLeavesTokensOut(t *testing.T) {
	with := func(token string) *wire.Catalog {
		cat := asking("a=1")
		cat.Entries[0].Properties = json.RawMessage(`{"name":"a","archive":{"promised":"` + strings.Repeat(token, 64) + `"},"is":"1"}`)
		return cat
	}
	s := &shelf{}
	leave(t, s, with("0"), true)
	require.Equal(t, []bool{true}, leave(t, s, with("f"), true))
	require.Equal(t, 1, s.writes)
}

// Received values are known only in the turn of the entry.
func TestAppliedOfReceivers(t *testing.T) {
	s := &shelf{}
	cat := asking("a=", "b=1")
	cat.Entries[0].Receive = []wire.Receive{{Property: "is", From: 1}}
	run := func(value string) (known bool) {
		a := NewApplied(s, cat)
		require.NoError(t, a.Open())
		known = a.LeftSo(&cat.Entries[0], json.RawMessage(value))
		a.Left(0, json.RawMessage(value))
		a.Left(1, cat.Entries[1].Properties)
		require.NoError(t, a.Close())
		return known
	}
	require.False(t, run(`{"is":"x"}`))
	require.True(t, run(`{"is":"x"}`))
	require.Equal(t, 1, s.writes)
	require.False(t, run(`{"is":"y"}`))
	require.True(t, run(`{"is":"y"}`))
}

// BenchmarkApplied measures the notes in a run of 1,000 files without changes.
func BenchmarkApplied(b *testing.B) {
	var texts []string
	for i := range 1000 {
		texts = append(texts, fmt.Sprintf("/etc/service/file%d=%s", i, strings.Repeat("x", 200)))
	}
	cat := asking(texts...)
	s := &shelf{}
	run := func(whole bool) {
		a := NewApplied(s, cat)
		require.NoError(b, a.Open())
		a.whole = a.whole && whole
		for i := range cat.Entries {
			a.Left(i, cat.Entries[i].Properties)
		}
		require.NoError(b, a.Close())
	}
	run(true)
	for _, whole := range []bool{true, false} {
		b.Run(fmt.Sprint("whole=", whole), func(b *testing.B) {
			for b.Loop() {
				run(whole)
			}
		})
	}
	require.Equal(b, 1, s.writes)
}
