package watch

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// same reports whether two results of an entry say the same of the host. How long it took, how
// often it was tried and what else was said in passing does not count, nor that what is as it
// should be may become another one by what is to be done about others.
func same(a, b *wire.Result) bool {
	return status(a) == status(b) && a.Cause == b.Cause && (a.Uncertain == b.Uncertain || status(a) == wire.Stable) &&
		a.Message == b.Message && a.Error == b.Error && slices.Equal(a.Changes, b.Changes) &&
		slices.EqualFunc(a.Health, b.Health, func(a, b wire.HealthVerdict) bool { return a.Status == b.Status })
}

func status(r *wire.Result) wire.Status { return cmp.Or(r.Status, wire.Stable) }

// outgoing is a result as it is told: without what only whoever runs a catalog waits for.
func outgoing(r *wire.Result) *wire.Result {
	told := *r
	told.Sent, told.Registered, told.Kept = nil, nil, false
	return &told
}

// maxPiece is how many bytes of results are sent in one piece, if one alone is not more.
const maxPiece = 256 << 10

// pieces are the messages that tell results, with who wrote what they are about.
func pieces(play int, results []*wire.Result, writers map[int]wire.Writer) (all []*wire.Watched) {
	var w *wire.Watched
	room := 0
	for _, r := range results {
		size := wire.MaxFromHost
		if text, err := json.Marshal(r); err == nil {
			size = len(text)
		}
		if w == nil || size > room || len(w.Results) == wire.MaxWatched {
			w, room = &wire.Watched{Play: play}, maxPiece
			all = append(all, w)
		}
		room -= size
		w.Results = append(w.Results, r)
		if writer, ok := writers[r.Index]; ok {
			w.Writers = append(w.Writers, writer)
		}
	}
	return all
}

// polledPieces are the messages that tell of which entries nothing is heard: the first one begins
// the list anew, the others go on with it.
func polledPieces(play int, list []wire.Polled) (all []*wire.Watched) {
	heard := true
	for heard || len(list) > 0 {
		n := min(len(list), wire.MaxWatched)
		all = append(all, &wire.Watched{Play: play, Polled: list[:n:n], Heard: heard})
		list, heard = list[n:], false
	}
	return all
}
