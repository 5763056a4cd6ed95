//go:build !host

package pki

import "github.com/ccm-push/ccm-push/modules"

// Related returns the relations of a resource that makes the file.
func (o *Output) Related() []modules.Relation { return o.file().Related() }
