//go:build full

package file

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/download"
	"github.com/ccm-push/ccm-push/modules/rooted"
)

// fetch downloads to an unlinked file in the directory of the target: there is room, and a killed program leaves
// nothing.
func fetch(ctx context.Context, h modules.Host, d modules.Download, dir string) (io.ReadCloser, error) {
	return fetchWith(ctx, download.Client{}, h, d, dir)
}

func fetchWith(ctx context.Context, c download.Client, h modules.Host, d modules.Download, dir string) (io.ReadCloser, error) {
	in, err := h.Files.OpenDirectory(dir)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	into, temp, err := rooted.CreateTemp(in, "download")
	if err != nil {
		return nil, err
	}
	err = in.Remove(temp)
	if err == nil {
		err = download.OnHost(c.Get(ctx, d, into, &download.Part{}))
	}
	if err == nil {
		err = verify(into, d)
	}
	if err != nil {
		into.Close()
		return nil, fmt.Errorf("download failed: %w", err)
	}
	return into, nil
}

// verify compares the download to the checksum, and seeks to its beginning.
func verify(file *os.File, d modules.Download) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != d.SHA256 {
		return fmt.Errorf(`%s: checksum mismatch, expected %q got %q (if you trust the new file, correct the property "checksum")`, d, d.SHA256, got)
	}
	_, err := file.Seek(0, io.SeekStart)
	return err
}
