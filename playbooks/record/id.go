package record

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"regexp"
	"strings"
	"sync"
	"time"
)

// alphabet is the alphabet of ULIDs (https://github.com/ulid/spec): without I, L, O and U.
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

var crockford = base32.NewEncoding(alphabet).WithPadding(base32.NoPadding)

var ulid = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-7][0-9A-HJKMNP-TV-Z]{25}$`) })

// NewID returns a ULID: 26 letters and digits that sort by time, to the millisecond, followed by 80 random bits.
func NewID(now time.Time) string {
	// The 26 digits are 130 bits: two that are 0, 48 of the time, 80 random ones. Bytes
	// have the beginning of a digit at every 40th bit, so 30 zero bits go before, as six
	// digits that are cut off.
	var number [20]byte
	binary.BigEndian.PutUint64(number[2:10], uint64(now.UnixMilli()))
	rand.Read(number[10:]) // it never fails
	return crockford.EncodeToString(number[:])[6:]
}

// timeOfID returns the time that an id begins with, to the millisecond.
func timeOfID(id string) time.Time {
	var ms int64
	for _, c := range id[:10] {
		ms = ms<<5 | int64(strings.IndexRune(alphabet, c))
	}
	return time.UnixMilli(ms)
}

// IsID reports whether a text has the form of a run's id.
func IsID(text string) bool { return ulid().MatchString(text) }
