package catalog

import "sync"

// remembered is [modules.Source].Memo.
func (s *site) remembered(key string, make func() any) any {
	once, _ := s.memos.LoadOrStore(key, sync.OnceValue(make))
	return once.(func() any)()
}
