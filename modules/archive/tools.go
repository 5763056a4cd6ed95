package archive

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// tools are what only the full host program has. Those of the lean one are nil: so
// the linker leaves an HTTP client and the unpackers out of it.
type tools struct {
	fetch   func(ctx context.Context, a *Archive, h modules.Host, own *stagingFile) error // download to own
	extract func(ctx context.Context, a *Archive, h modules.Host, own *stagingFile) error // unpack own
}
