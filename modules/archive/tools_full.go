//go:build full

package archive

import (
	"context"
	"os"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/archive/unpack"
	"github.com/ccm-push/ccm-push/modules/download"
)

func ownTools() tools {
	get := func(ctx context.Context, d modules.Download, into *os.File, got *part) error {
		return download.OnHost(download.Client{}.Get(ctx, d, into, (*download.Part)(got)))
	}
	open := func(p packed) unpacker {
		return &unpack.Archive{
			File: p.file, Size: p.size, Format: p.format, MaxSize: p.maxSize, MaxRatio: p.maxRatio,
		}
	}
	return tools{fetch: getter(get).fetch, extract: opener(open).extract}
}
