package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"unicode/utf8"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/excerpt"
)

// maxDiffInput is the size in bytes above which a text is not compared.
const maxDiffInput = 1 << 20

// maxDiff bounds the diffs of one resource, in bytes.
const maxDiff = 128 << 10

// unifiedDiffs shows changes of texts, one after the other.
func unifiedDiffs(ctx context.Context, h modules.Host, texts []modules.TextChange) string {
	var all strings.Builder
	for _, t := range texts {
		diff := unifiedDiff(ctx, h, t)
		if room := maxDiff - all.Len(); len(diff) > room {
			all.WriteString(excerpt.Of(diff, room))
			break
		}
		all.WriteString(diff)
	}
	return all.String()
}

// unifiedDiff returns the diff of a text, or one line that explains why there is none: the content is binary or too
// large.
func unifiedDiff(ctx context.Context, h modules.Host, t modules.TextChange) string {
	name := strings.Trim(strconv.Quote(t.Path), `"`) // one line, whatever the name
	have, err := readText(func() (io.ReadCloser, error) {
		if t.Path == "" {
			return io.NopCloser(bytes.NewReader(nil)), nil
		}
		return h.Files.Open(t.Path)
	})
	if why, is := errors.AsType[noText](err); is {
		return inWords(h, name, t, why)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("no diff: the current text is %v\n", err)
	}
	want, err := readText(func() (io.ReadCloser, error) {
		if t.Want.IsZero() {
			return io.NopCloser(bytes.NewReader(nil)), nil
		}
		return h.Contents.Open(ctx, t.Want)
	})
	if why, is := errors.AsType[noText](err); is {
		return inWords(h, name, t, why)
	}
	if err != nil {
		return fmt.Sprintf("no diff: the new text is %v\n", err)
	}
	return udiff.Unified(name, name, have, want)
}

// inWords is "/usr/bin/x: binary, 12.0 KiB -> 14.0 KiB, sha256 2c26b46b68ff… -> fcde2b2edba5…".
func inWords(h modules.Host, name string, t modules.TextChange, why noText) string {
	const nothing = "nothing"
	short := func(digest string) string { return digest[:min(12, len(digest))] + "…" }
	haveSize, haveSum, wantSize, wantSum := nothing, nothing, nothing, nothing
	if info, err := modules.Follow(h.Files, t.Path); err == nil {
		haveSize, haveSum = modules.FormatSize(info.Size), "unknown"
		if digest, err := h.Files.Digest(t.Path); err == nil {
			haveSum = short(digest)
		}
	}
	if !t.Want.IsZero() {
		wantSize, wantSum = modules.FormatSize(t.Want.Size()), short(t.Want.SHA256())
	}
	return fmt.Sprintf("%s: %s, %s -> %s, sha256 %s -> %s\n", name, why, haveSize, wantSize, haveSum, wantSum)
}

// noText is why something is not compared line by line.
type noText string

func (n noText) Error() string { return string(n) }

const errBinary = noText("binary")

var errTooLarge = noText("larger than " + modules.FormatSize(maxDiffInput))

func readText(open func() (io.ReadCloser, error)) (string, error) {
	r, err := open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, maxDiffInput+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("unreadable: %w", err)
	case len(b) > maxDiffInput:
		return "", errTooLarge
	case !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0:
		return "", errBinary
	}
	return string(b), nil
}
