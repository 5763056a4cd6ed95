package engine

import (
	"fmt"
	"path"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
)

// spare is how many bytes a file system needs besides the contents of the files of a plan, for names, inodes and temporary files.
const spare = 64 << 10

// rooms counts what the plans of a check run need in each file system, in bytes.
type rooms struct {
	mu     sync.Mutex
	needed map[uint64]int64
}

// lacks returns a warning if a plan may not find enough room, after all plans before it, or "".
func (r *rooms) lacks(files modules.Files, plan modules.Plan) string {
	if files.FileRights == nil {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range plan.Effects {
		state, ok := e.State.(modules.PathState)
		if !ok || e.Kind != modules.PathEffect || state.Kind == modules.Absent {
			continue
		}
		if _, err := files.Stat(e.Key); err == nil && state.Content.IsZero() {
			continue // owner or mode only
		}
		in, free, ok := files.Room(e.Key)
		if !ok {
			continue
		}
		if r.needed == nil {
			r.needed = map[uint64]int64{}
		}
		r.needed[in] += max(state.Content.Size(), state.Size)
		if needed := r.needed[in] + spare; needed > free {
			return fmt.Sprintf("only %d KiB are free in the file system of %s, and the run needs up to %d KiB there", free>>10, path.Dir(e.Key), (needed+1023)>>10)
		}
	}
	return ""
}
