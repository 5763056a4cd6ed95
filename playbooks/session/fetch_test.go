package session

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
)

// taken is a file that a host has handed over.
type taken struct {
	bytes.Buffer
	kept, dropped bool
	full          error
}

func (f *taken) Write(p []byte) (int, error) {
	if f.full != nil {
		return 0, f.full
	}
	return f.Buffer.Write(p)
}
func (f *taken) Keep() error { f.kept = true; return nil }
func (f *taken) Drop()       { f.dropped = true }

// fetching returns a catalog of a file and another resource; the returned list has the started files.
func fetching(check bool, told *[]*wire.Result, full error) (*catalogRun, *[]*taken) {
	var files []*taken
	compiled := &catalog.Compiled{Catalog: wire.Catalog{Check: check, Entries: []wire.Entry{{Type: "fetch", Name: "/a", Fetch: 6, Retry: 1}, {Type: "exec", Name: "b"}}}}
	return newCatalogRun(&Session{}, Task{
		Compiled: compiled, Emit: func(r *wire.Result) { *told = append(*told, r) },
		Fetch: func(*wire.Entry) (File, error) {
			files = append(files, &taken{full: full})
			return files[len(files)-1], nil
		},
	}), &files
}

func part(offset int64, text string, last bool) *wire.Part {
	return &wire.Part{Offset: offset, Data: []byte(text), N: len(text), Last: last}
}

func TestFetch(t *testing.T) {
	var told []*wire.Result
	c, files := fetching(false, &told, nil)
	require.NoError(t, c.part(part(0, "abc", false)))
	require.NoError(t, c.part(part(0, "ab", false)), "it is tried again")
	require.NoError(t, c.part(part(2, "cdef", true)))
	require.NoError(t, c.result(&wire.Result{Fetched: true}))
	require.Equal(t, wire.Stable, told[0].Status)
	require.True(t, (*files)[0].dropped)
	require.True(t, (*files)[1].kept)
	require.Equal(t, "abcdef", (*files)[1].String())

	// An incomplete file is a failure, and leaves nothing on disk.
	c, files = fetching(false, &told, nil)
	require.NoError(t, c.part(part(0, "abc", false)))
	require.NoError(t, c.result(&wire.Result{Fetched: true, Message: "fetched 6 bytes"}))
	require.Equal(t, &wire.Result{Status: wire.Failed, Error: "its connection was lost before all of it was here; run again"}, told[1])
	c.dropFetches()
	require.True(t, (*files)[0].dropped)

	// A full disk is not an error of the host.
	c, files = fetching(false, &told, errors.New("no space left on device"))
	require.NoError(t, c.part(part(0, "abc", false)))
	require.NoError(t, c.part(part(3, "def", true)))
	require.NoError(t, c.result(&wire.Result{Fetched: true}))
	require.Equal(t, "it cannot be kept here: no space left on device", told[2].Error)
	require.True(t, (*files)[0].dropped)

	// In a check run nothing is handed over.
	c, _ = fetching(true, &told, nil)
	require.NoError(t, c.result(&wire.Result{Fetched: true, Message: "Would have fetched 6 bytes"}))
	require.True(t, told[3].Fetched)
}

// TestFetchBreaches has what a host could hand over.
func TestFetchBreaches(t *testing.T) {
	for _, test := range []struct {
		name  string
		check bool
		parts []*wire.Part
		err   string
	}{
		{"no resource", false, []*wire.Part{{Index: 2}}, "the host hands over a file for resource 2 of 2, or after its result"},
		{"below", false, []*wire.Part{{Index: -1}}, "the host hands over a file for resource -1 of 2, or after its result"},
		{"another", false, []*wire.Part{{Index: 1}}, "the host hands over a file for resource 1, of which none is wanted"},
		{"in a check run", true, []*wire.Part{part(0, "a", true)}, "the host hands over a file for resource 0, of which none is wanted"},
		{"too much", false, []*wire.Part{part(0, "abc", false), part(3, "defg", true)}, "the host hands over more than the 6 bytes that the file of resource 0 may have"},
		{"a hole", false, []*wire.Part{part(0, "abc", false), part(4, "d", true)}, "the host hands over the file of resource 0 out of order"},
		{"no beginning", false, []*wire.Part{part(1, "abc", false)}, "the host hands over the file of resource 0 out of order"},
		{"behind its end", false, []*wire.Part{part(0, "abc", true), part(3, "d", true)}, "the host hands over the file of resource 0 out of order"},
		{"too often", false, []*wire.Part{part(0, "a", true), part(0, "a", true), part(0, "a", true)}, "the host begins with the file of resource 0 3 times"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var told []*wire.Result
			c, _ := fetching(test.check, &told, nil)
			var err error
			for _, p := range test.parts {
				require.NoError(t, err)
				err = c.part(p)
			}
			require.EqualError(t, err, test.err)
		})
	}
	var told []*wire.Result
	c, _ := fetching(false, &told, nil)
	require.NoError(t, c.result(&wire.Result{Fetched: true}))
	require.ErrorContains(t, c.part(part(0, "a", true)), "or after its result")
	require.EqualError(t, c.result(&wire.Result{Index: 1, Fetched: true}), "the host reports a fetched file for resource 1, which fetches none")
}
