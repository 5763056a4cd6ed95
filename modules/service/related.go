//go:build !host

package service

import "github.com/ccm-push/ccm-push/modules"

// Related implements [modules.Related].
func (s *Service) Related() []modules.Relation { return modules.ServiceRelations(s.Name) }
