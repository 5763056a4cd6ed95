package watch

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// same reports whether two results of an entry describe the same state of the host. Durations, tries and other messages
// do not count, nor does the uncertainty of a stable entry, which pending changes of other entries may cause.
func same(a, b *wire.Result) bool {
	return status(a) == status(b) && a.Cause == b.Cause && (a.Grade == b.Grade || status(a) == wire.Stable) &&
		a.Message == b.Message && a.Error == b.Error && slices.Equal(a.Changes, b.Changes) &&
		slices.EqualFunc(a.Health, b.Health, func(a, b wire.HealthVerdict) bool { return a.Status == b.Status })
}

func status(r *wire.Result) wire.Status { return cmp.Or(r.Status, wire.Stable) }

// outgoing returns the reported form of a result: without the parts that only a run needs.
func outgoing(r *wire.Result) *wire.Result {
	told := *r
	told.Sent, told.Registered, told.Kept = nil, nil, false
	return &told
}

// maxPiece bounds the results in one message, in bytes, unless one alone is larger.
const maxPiece = 256 << 10

// pieces returns the messages that report results, with the writers of the changes.
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

// polledPieces returns the messages with the entries that cannot be heard: the first one starts a new list, the others
// continue it.
func polledPieces(play int, list []wire.Polled) (all []*wire.Watched) {
	heard := true
	for heard || len(list) > 0 {
		n := min(len(list), wire.MaxWatched)
		all = append(all, &wire.Watched{Play: play, Polled: list[:n:n], Heard: heard})
		list, heard = list[n:], false
	}
	return all
}
