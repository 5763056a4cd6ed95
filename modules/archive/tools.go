package archive

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// tools are functions that only the full host program has. In the lean one they are nil, so the linker omits an HTTP
// client and the unpackers.
type tools struct {
	fetch   func(ctx context.Context, a *Archive, h modules.Host, own *stagingFile) error // download to own
	extract func(ctx context.Context, a *Archive, h modules.Host, own *stagingFile) error // unpack own
}
