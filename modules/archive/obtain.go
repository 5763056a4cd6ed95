package archive

import (
	"context"
	"fmt"

	"github.com/ccm-push/ccm-push/modules"
)

// failed is an error of a download, in CCM's words.
func failed(err error) error { return fmt.Errorf("download failed: %w", err) }

func mismatch(want, got string) error {
	return fmt.Errorf("checksum mismatch, expected %q got %q", want, got)
}

// served is the error if the file from the URL does not match the checksum.
func served(url string, err error) error {
	return failed(fmt.Errorf(`%s: %w (if you trust the new file, correct the property "checksum")`, modules.ShownURL(url), err))
}

// copyOwn copies the existing archive, since its owner may change it meanwhile.
func (a *Archive) copyOwn(ctx context.Context, h modules.Host, own *stagingFile) error {
	r, err := h.Files.Open(a.Name)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := own.create(); err != nil {
		return err
	}
	if err := own.fill(ctx, r, a.maxSize()); err != nil {
		return fmt.Errorf("reading %s: %w", a.Name, err)
	}
	return own.verify(ctx, a.digest())
}

// receive receives the archive that the controller has downloaded.
func (a *Archive) receive(ctx context.Context, h modules.Host, own *stagingFile) error {
	r, err := h.Contents.Open(ctx, a.Content)
	if err != nil {
		return failed(err)
	}
	defer r.Close()
	if err := own.create(); err != nil {
		return err
	}
	if err := own.fill(ctx, r, a.maxSize()); err != nil {
		return failed(err)
	}
	if err := own.verify(ctx, a.digest()); err != nil {
		return served(a.URL, err)
	}
	return nil
}
