package scaffold

import "github.com/ccm-push/ccm-push/modules"

// Notes is where the record and the copies of files are.
func (s *Scaffold) Notes(h modules.Host) (string, error) { return s.notes(h) }
