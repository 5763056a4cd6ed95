package scaffold

import "github.com/ccm-push/ccm-push/modules"

// Notes is the folder of the record and the copies of files.
func (s *Scaffold) Notes(h modules.Host) (string, error) { return s.notes(h) }
