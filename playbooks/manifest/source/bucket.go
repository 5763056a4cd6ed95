package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Objects reads objects and keys of NATS buckets.
type Objects interface {
	// Object copies an object of a bucket, of so many bytes at most.
	Object(ctx context.Context, bucket, name string, most int64, w io.Writer) error
	// Protected reports whether the connection protects the copied data from changes.
	Protected(ctx context.Context) (bool, error)
}

// A BucketKey is an address in NATS: kv://BUCKET/KEY, or obj://BUCKET/KEY.
type BucketKey struct{ Scheme, Bucket, Key string }

// ParseBucketKey takes such a URL apart. The error shows nothing of one that may hold a password.
func ParseBucketKey(text string) (BucketKey, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	bucket, key, _ := strings.Cut(rest, "/")
	scheme = strings.ToLower(scheme)
	switch {
	case strings.Contains(bucket, "@"):
		return BucketKey{}, fmt.Errorf("the URL of a bucket cannot contain a user: write %s://BUCKET/KEY, and log in to NATS with --nats-creds or --nats-nkey", scheme)
	case bucket == "" || key == "":
		return BucketKey{}, fmt.Errorf("%q names no bucket and key of NATS: write %s://BUCKET/KEY", text, scheme)
	}
	return BucketKey{scheme, bucket, key}, nil
}

// String implements [fmt.Stringer].
func (b BucketKey) String() string { return b.Scheme + "://" + b.Bucket + "/" + b.Key }

// copyTo copies an object whose checksum is known or not.
func (b BucketKey) copyTo(ctx context.Context, objects Objects, pinned bool, most int64, w io.Writer) error {
	if objects == nil {
		return errors.New("objects of NATS are not read here")
	}
	if safe, err := objects.Protected(ctx); err != nil {
		return fmt.Errorf("%s: %w", b, err)
	} else if !safe && !pinned {
		return fmt.Errorf("%s: the connection is not encrypted, so others could change the manifest: connect to NATS with tls://, or append a checksum: %s…", b, pin)
	}
	if err := objects.Object(ctx, b.Bucket, b.Key, most, w); err != nil {
		return fmt.Errorf("%s: %w", b, err)
	}
	return nil
}

// unpinned returns the warning about data that was read without a checksum; sum is its actual checksum.
func (b BucketKey) unpinned(sum string) string {
	return fmt.Sprintf("%s has no checksum, so every NATS user with write access to this bucket can change your hosts\n  hint: %[1]s%s%s", b, pin, sum)
}

// ParsePinned splits the URL of a bucket, which may end in the checksum of the data: #sha256=HEX.
func ParsePinned(text string) (at BucketKey, sum string, err error) {
	address, sum, pinned := strings.Cut(text, pin)
	if at, err = ParseBucketKey(address); err != nil {
		return at, "", err
	}
	if sum = strings.ToLower(sum); pinned && !checksum().MatchString(sum) {
		return at, "", fmt.Errorf("%s: the text after %s is not a checksum: write 64 hexadecimal digits, as sha256sum prints them", at, pin)
	}
	return at, sum, nil
}

// Verify compares data with the checksum that is required. Without one it is reported.
func (b BucketKey) Verify(data []byte, want string, warn func(string)) error {
	sum := sha256.Sum256(data)
	switch got := hex.EncodeToString(sum[:]); {
	case want == "":
		warn(b.unpinned(got))
	case got != want:
		return &ChecksumError{Name: b.String(), Got: got, Want: want}
	}
	return nil
}
