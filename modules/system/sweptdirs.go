package system

import (
	"os"
	"sync"
	"syscall"

	"github.com/ccm-push/ccm-push/modules/rooted"
)

// sweptDirs are the directories that were searched for leftovers of killed runs: each once, before the first write
// there.
type sweptDirs struct {
	mu   sync.Mutex
	seen map[[2]uint64]bool // by device and inode
}

func (s *sweptDirs) sweep(dir *os.Root) {
	info, err := dir.Stat(".")
	if s == nil || err != nil {
		return
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := [2]uint64{uint64(st.Dev), uint64(st.Ino)}
	if s.seen[key] {
		return
	}
	if s.seen == nil {
		s.seen = map[[2]uint64]bool{}
	}
	s.seen[key] = true
	rooted.Sweep(dir)
}
