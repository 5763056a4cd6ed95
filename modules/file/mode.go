package file

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
)

// operators are characters that only a symbolic mode has.
const operators = "+-="

// symbolicMode is the pattern of a mode of chmod(1), without copies of another class: the result is the same when it is
// applied again.
var symbolicMode = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[ugoa]*([-+=][rwxXst]*)+(,[ugoa]*([-+=][rwxXst]*)+)*$`)
})

// symbolic reports whether a mode is a change of the current one.
func symbolic(mode string) bool { return strings.ContainsAny(mode, operators) }

func validateMode(property, mode string) error {
	switch {
	case symbolic(mode) && !symbolicMode().MatchString(mode):
		return &modules.PropertyError{
			Path: property, Msg: fmt.Sprintf("mode %q is neither octal nor symbolic", mode),
			Hint: `write it as in mode: "0640" or mode: "u=rw,g=r,o=", with the letters u, g, o, a and r, w, x, X, s, t`,
		}
	case mode != "" && !symbolic(mode):
		_, _, err := modules.ParseFullMode(mode)
		if wrong, ok := errors.AsType[*modules.PropertyError](err); ok {
			wrong.Path = property
		}
		return err
	}
	return nil
}

var classes = map[rune]fs.FileMode{
	'u': 0o700 | fs.ModeSetuid, 'g': 0o070 | fs.ModeSetgid, 'o': 0o007 | fs.ModeSticky, 'a': 0o777 | modules.SpecialBits,
}

var letters = map[rune]fs.FileMode{'r': 0o444, 'w': 0o222, 'x': 0o111, 's': fs.ModeSetuid | fs.ModeSetgid, 't': fs.ModeSticky}

// changed returns mode after a valid symbolic mode is applied. Without a class it applies to all, whatever umask is
// set. A directory keeps the bits s and t that are not named.
func changed(mode fs.FileMode, symbolic string, directory bool) fs.FileMode {
	for clause := range strings.SplitSeq(symbolic, ",") {
		at := strings.IndexAny(clause, operators)
		var who fs.FileMode
		for _, c := range clause[:at] {
			who |= classes[c]
		}
		if who == 0 {
			who = classes['a']
		}
		for rest := clause[at:]; rest != ""; {
			end := strings.IndexAny(rest[1:], operators) + 1
			if end == 0 {
				end = len(rest)
			}
			var bits fs.FileMode
			for _, c := range rest[1:end] {
				if c == 'X' && (directory || mode&0o111 != 0) {
					c = 'x'
				}
				bits |= letters[c]
			}
			bits &= who
			switch rest[0] {
			case '+':
				mode |= bits
			case '-':
				mode &^= bits
			case '=':
				cleared := who
				if directory {
					cleared = who.Perm()
				}
				mode = mode&^cleared | bits
			}
			rest = rest[end:]
		}
	}
	return mode
}
