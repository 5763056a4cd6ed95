package archive

import (
	"context"
	"os"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/archive/unpack"
	"github.com/ccm-push/ccm-push/modules/download"
)

// FullType is the type as the full host program has it, with a client of the
// test's choice.
func FullType(client download.Client) modules.Type {
	get := func(ctx context.Context, d modules.Download, into *os.File, got *part) error {
		return download.OnHost(client.Get(ctx, d, into, (*download.Part)(got)))
	}
	open := func(p packed) unpacker {
		return &unpack.Archive{
			File: p.file, Size: p.size, Format: p.format, MaxSize: p.maxSize, MaxRatio: p.maxRatio,
		}
	}
	return newType(tools{fetch: getter(get).fetch, extract: opener(open).extract})
}

// LeanType is the type as the lean host program has it.
func LeanType() modules.Type { return newType(tools{}) }
