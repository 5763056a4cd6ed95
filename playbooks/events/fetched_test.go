package events

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFetchedFiles(t *testing.T) {
	for _, test := range []struct {
		files []string
		count int
		below string
	}{
		{nil, 0, ""},
		{[]string{"/r/fetched/a/etc/x"}, 1, "/r/fetched/a/etc/x"},
		{[]string{"/r/fetched/a/etc/x", "/r/fetched/a/etc/x"}, 2, "/r/fetched/a/etc/x"},
		{[]string{"/r/fetched/a/etc/x", "/r/fetched/ab/etc/x"}, 2, "/r/fetched"},
		{[]string{"/r/fetched/a/x", "/r/fetched-sensitive/a/x"}, 2, "/r"},
		{[]string{"/a", "/b"}, 2, "/"},
	} {
		var f fetchedFiles
		for _, path := range test.files {
			f.add(Result{Fetched: path})
		}
		f.add(Result{Fetched: "/z", Check: true})
		require.Equal(t, fetchedFiles{test.count, test.below}, f, "%v", test.files)
	}
}
