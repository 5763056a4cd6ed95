package user

import (
	"regexp"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
)

// hashes are the patterns of hashed passphrases in crypt(5), without DES hashes, which look like any word of 13
// letters.
//
// They are compiled when the first user has a password: that takes longer than the rest of the host program's start.
var hashes = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`^\$1\$[./0-9A-Za-z]{0,8}\$[./0-9A-Za-z]{22}$`),
		regexp.MustCompile(`^\$2[abxy]\$[0-9]{2}\$[./0-9A-Za-z]{53}$`),
		regexp.MustCompile(`^\$5\$(rounds=[0-9]{1,9}\$)?[^$:;*!\\\s]{0,16}\$[./0-9A-Za-z]{43}$`),
		regexp.MustCompile(`^\$6\$(rounds=[0-9]{1,9}\$)?[^$:;*!\\\s]{0,16}\$[./0-9A-Za-z]{86}$`),
		regexp.MustCompile(`^\$(y|gy)\$[./0-9A-Za-z]{1,32}\$[./0-9A-Za-z]{0,86}\$[./0-9A-Za-z]{43}$`),
		regexp.MustCompile(`^\$7\$[./0-9A-Za-z]{11,97}\$[./0-9A-Za-z]{43}$`),
		regexp.MustCompile(`^\$sha1\$[0-9]{1,10}\$[./0-9A-Za-z]{0,64}\$[./0-9A-Za-z]{28}$`),
	}
})

const hashHint = "create a hash with: openssl passwd -6"

// checkHash accepts a hash, also a locked one, and the marks of shadow(5) for no password. Its error never quotes the
// text, which may be a password.
func checkHash(text string) error {
	if text == "" || mark(text) {
		return nil
	}
	bare := strings.TrimPrefix(text, "!")
	for _, shape := range hashes() {
		if len(bare) <= 256 && shape.MatchString(bare) {
			return nil
		}
	}
	return &modules.PropertyError{Path: "password_hash", Msg: "the value is not a crypt(3) password hash; a plain password is not accepted", Hint: hashHint}
}

// mark reports whether a field of shadow(5) means "no password": "!", "*", or two of these characters, as some tools
// write them.
func mark(field string) bool {
	return field != "" && len(field) <= 2 && strings.Trim(field, "!*") == ""
}

// describeHash describes a field of shadow(5) without its content.
func describeHash(field string) string {
	switch {
	case field == "":
		return "none"
	case mark(field):
		return field
	}
	return "[hash]"
}

func locked(field string) bool { return strings.HasPrefix(field, "!") }

// unlocked is a field of shadow(5) without its locks.
func unlocked(field string) string { return strings.TrimLeft(field, "!") }

// wantHash is the desired field of shadow(5); have is the current one. Without password_lock, a password keeps its lock
// when it changes.
func (u *User) wantHash(have string) string {
	want := have
	switch {
	case u.PasswordHash == "":
	case !mark(u.PasswordHash) && !locked(u.PasswordHash) && locked(have) && !mark(have):
		want = "!" + u.PasswordHash
	default:
		want = u.PasswordHash
	}
	switch {
	case u.PasswordLock == nil:
		return want
	case !*u.PasswordLock:
		return unlocked(want)
	case locked(want):
		return want
	}
	return "!" + want
}
